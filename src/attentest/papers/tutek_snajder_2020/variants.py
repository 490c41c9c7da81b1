"""The paper's models among finished runs, and their F1 under other weights, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from attentest.papers.claims import load_claims
from attentest.papers.evidence import Cell, Evidence, Group, grouped
from attentest.papers.matching import best
from attentest.statistics.seeds import OverSeeds

__all__ = ["ALTERED", "VARIANTS", "Variant", "imitated", "variants"]

#: The challenges that alter the weights, and what each is called.
ALTERED = {"uniform": "uniform", "permutation": "permuted"}
VARIANTS = ("base", "concat", "residual", "tying", "mlm")


@dataclass(frozen=True)
class Variant:
    """One model of the paper on one corpus: what is lost of its F1, in points, and what the paper prints."""

    corpus: str
    model: str
    attention: str
    weights: str
    change: OverSeeds
    published: float | None


def variants(cells: Sequence[Cell]) -> tuple[Variant, ...]:
    """Every model of Table 1 that there are runs of, and the residual one."""
    claims, evidence, groups = load_claims("tutek_snajder_2020"), Evidence(), grouped(cells)
    printed = {
        (claim.corpus, claim.model, claim.attention, claim.measure): claim.value
        for claim in claims.figures
        if claim.table == "Table 1"
    }
    found = []
    for corpus, about in claims.rules.corpora.items():
        if about.missing:
            continue
        for model in VARIANTS:
            for attention in claims.rules.attentions:
                for challenge, weights in ALTERED.items():
                    match = best(groups, claims.rules, corpus, model, attention, challenge)
                    if match is not None:
                        change = _change(match.group, evidence, challenge)
                        value = printed.get((corpus, model, attention, f"f1_change_{weights}"))
                        found.append(Variant(corpus, model, attention, weights, change, value))
    return tuple(found)


def _change(group: Group, evidence: Evidence, challenge: str) -> OverSeeds:
    """F1 of the positive class under the altered weights, less that under the model's own, in points."""
    values = []
    for cell in group.cells:
        table = evidence.table(cell.folder, challenge, ("label", "predicted", "decided", "not_judged"))
        judged = np.asarray([reason is None for reason in table["not_judged"].to_pylist()])
        label, own, after = (
            np.asarray(table[name].to_pylist(), dtype=object)[judged].astype(int)
            for name in ("label", "predicted", "decided")
        )
        values.append(100 * (f1_score(label, after, zero_division=0) - f1_score(label, own, zero_division=0)))
    return OverSeeds(group.seeds, tuple(map(float, values)), group.run_ids)


def imitated(cells: Sequence[Cell]) -> tuple[dict[str, Any], ...]:
    """Figure 1: for every λ, how far adversaries attend and predict from the model they imitate, mean over seeds."""
    claims, evidence, groups = load_claims("tutek_snajder_2020"), Evidence(), grouped(cells)
    rows: list[dict[str, Any]] = []
    for corpus in claims.rules.corpora:
        for model in ("base", "mlm"):
            match = best(groups, claims.rules, corpus, model, "additive", "adversarial_training")
            if match is None:
                continue
            tables = [
                evidence.table(cell.folder, "adversarial_training", ("weight", "tvd", "jsd", "not_judged"))
                for cell in match.group.cells
            ]
            for weight in dict.fromkeys(tables[0]["weight"].to_pylist()):
                points: dict[str, list[float]] = {"jsd": [], "tvd": []}
                for table in tables:
                    chosen = np.asarray([one == weight for one in table["weight"].to_pylist()])
                    for name, values in points.items():
                        values.append(float(np.nanmean(table[name].to_numpy()[chosen])))
                about: dict[str, Any] = {
                    "corpus": corpus,
                    "model": model,
                    "weight": float(weight),
                    "seeds": len(tables),
                }
                rows.append(about | {name: float(np.mean(values)) for name, values in points.items()})
    return tuple(rows)
