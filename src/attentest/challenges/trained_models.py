"""The four tests of Wiegreffe & Pinter (2019) as one table: how every model predicts, and how far from the audited one.

They train other models: one with uniform weights (trained_uniform); the same from other seeds, which is the yardstick
(seed_variance); a simple one of single words whose weights come from elsewhere (guide); and models that should predict
the same and attend elsewhere (adversarial_training).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from attentest.presentation.presentation import Results, Section
from attentest.presentation.seeds import (
    F1,
    MACRO,
    RIGHT,
    Seeds,
    by_seed,
    estimated,
    judged_rows,
    scores,
    with_resamples,
)
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate

__all__ = ["GUIDES", "TESTS", "Scored", "adversaries", "guided", "models_table", "weights_of"]

#: Whose weights guide the simple model, by column, from none to all.
GUIDES = {
    "uniform": "uniform weights",
    "own": "weights of its own",
    "adversary": "the adversary’s weights",
    "model": "the model’s weights",
}
NAMES = ("trained_uniform", "seed_variance", "guide", "adversarial_training")
Cell = tuple[str, str]


@dataclass(frozen=True)
class Scored:
    """One model, or several of a kind: how well it predicts, and what that differs from the one it stands beside."""

    words: str
    #: By RIGHT, MACRO and F1.
    scores: tuple[Estimate, ...]
    #: The same, less those of the model it stands beside, over the same texts; empty for that model itself.
    beside: tuple[Estimate, ...] = ()
    #: Of its predictions and of its attention, from those of the audited model.
    tvd: Estimate | None = None
    jsd: Estimate | None = None


def _scored(words: str, drawn: np.ndarray, base: np.ndarray | None, judged: int, **far: Estimate) -> Scored:
    each = tuple(estimated(drawn[:, i], judged) for i in (RIGHT, MACRO, F1))
    beside = () if base is None else tuple(estimated(drawn[:, i] - base[:, i], judged) for i in (RIGHT, MACRO, F1))
    return Scored(words, each, beside, far.get("tvd"), far.get("jsd"))


def without_attention(trained_uniform: Findings) -> list[Scored]:
    """The model, and one that was trained with uniform weights."""
    rows = judged_rows(trained_uniform.table)
    predicted = np.stack([rows[name].to_numpy() for name in ("predicted", "predicted_uniform")], axis=1)
    drawn = scores(rows["label"].to_numpy(), predicted)
    far = {"tvd": estimate(trained_uniform, "change"), "jsd": estimate(trained_uniform, "attention_jsd")}
    return [
        _scored("the model", drawn[:, 0], None, len(rows)),
        _scored("trained with uniform weights", drawn[:, 1], drawn[:, 0], len(rows), **far),
    ]


def guided(guide: Findings) -> list[Scored]:
    """The simple model under every kind of weights, each beside uniform ones."""
    rows = judged_rows(guide.table)
    predicted = np.stack([rows[f"predicted_{name}"].to_numpy() for name in GUIDES], axis=1)
    drawn = scores(rows["label"].to_numpy(), predicted)
    base = drawn[:, 0]
    kinds = enumerate(GUIDES.values())
    return [_scored(words, drawn[:, i], None if i == 0 else base, len(rows)) for i, words in kinds]


def weights_of(adversarial_training: Findings) -> list[str]:
    """The λ of the findings, from the smallest to the largest."""
    return sorted(pc.unique(adversarial_training.table["weight"]).to_pylist(), key=float)


def adversaries(adversarial_training: Findings) -> list[Scored]:
    """An adversary for every λ, mean over its seeds, beside the model."""
    weights = weights_of(adversarial_training)
    # One text after the other in every λ's rows, judged in all of them or in none.
    tables = [judged_rows(adversarial_training.rows({"weight": weight})) for weight in weights]
    texts, missing = len(tables[0]), len(adversarial_training.table) // len(weights) - len(tables[0])
    if not texts:
        return []
    given = [by_seed(table, "predicted_by_seed") for table in tables]
    own = tables[0]["predicted"].to_numpy()[:, None]
    drawn = scores(tables[0]["label"].to_numpy(), np.concatenate([own, *given], axis=1))
    far = with_resamples(np.stack([table[name].to_numpy() for table in tables for name in ("tvd", "jsd")], axis=1))
    out, seeds = [], given[0].shape[1]
    for place, weight in enumerate(weights):
        mean = drawn[:, 1 + place * seeds : 1 + (place + 1) * seeds].mean(1)
        tvd, jsd = (estimated(far[:, 2 * place + i], texts, missing) for i in (0, 1))
        out.append(_scored(f"λ = {weight}", mean, drawn[:, 0], texts, tvd=tvd, jsd=jsd))
    return out


def models_table(results: Results) -> dict[str, Any] | None:
    """The table as text, group by group, and what the seeds say of the others; None where no test was run."""
    found, names = results.found, results.classes
    there = {name: found[name] for name in NAMES if name in found and len(judged_rows(found[name].table))}
    if not there:
        return None
    seeds = Seeds.of(there.get("seed_variance"))
    labels = [np.unique(findings.table["label"].to_numpy()).max() for findings in there.values()]
    two = len(names) == 2 or (not names and max(labels) <= 1)
    kept = (RIGHT, MACRO, *((F1,) if two else ()))
    return {
        "heads": ["Accuracy", "F1, macro"] + ([f"F1, {names[1] if names else 'class 1'}"] if two else []),
        "groups": [group for group in _groups(there, seeds, kept) if group["rows"]],
        "yardstick": yardstick(seeds),
    }


def _groups(there: Mapping[str, Findings], seeds: Seeds | None, kept: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    if "trained_uniform" in there:
        rows = [_row(one, kept) for one in without_attention(there["trained_uniform"])]
        yield {"title": "1. Is attention needed? Compared with the model", "rows": rows}
    if seeds is not None:
        yield {"title": "2. Seed variance, compared with the model", "rows": [_seeds_row(seeds, kept)]}
    if "guide" in there:
        rows = [_row(one, kept) for one in guided(there["guide"])]
        yield {
            "title": "3. Does it carry information? A simple model of single words, compared with uniform weights",
            "rows": rows,
        }
    if "adversarial_training" in there:
        rows = [_row(one, kept) for one in adversaries(there["adversarial_training"])]
        yield {"title": "4. Could a model attend elsewhere? Adversaries, compared with the model", "rows": rows}


def _row(one: Scored, kept: tuple[int, ...]) -> dict[str, Any]:
    beside = [_cell(one.beside[i], signed=True) for i in (RIGHT, MACRO)] if one.beside else [("–", "")] * 2
    far = [("–", "") if e is None else _cell(e) for e in (one.tvd, one.jsd)]
    cells = [_cell(one.scores[i]) for i in kept] + beside + far
    return {"words": one.words, "cells": cells, "own": one.words == "the model"}


def _seeds_row(seeds: Seeds, kept: tuple[int, ...]) -> dict[str, Any]:
    """Means over the other seeds, with the lowest and the highest of them."""
    others = seeds.scores[1:]
    cells: list[Cell] = [
        (f"{others[:, i].mean():.3f}", f"{others[:, i].min():.3f} to {others[:, i].max():.3f}") for i in kept
    ]
    for score in (RIGHT, MACRO):
        apart = seeds.apart(score)
        cells.append(("–", "") if math.isnan(apart) else (f"within ±{apart:.3f}", "in 95 % of pairs"))
    cells += [_cell(seeds.tvd), _cell(seeds.jsd)]
    plural = "s" if seeds.others != 1 else ""
    return {"words": f"{seeds.others} other seed{plural}, from the lowest to the highest", "cells": cells, "own": False}


def _cell(found: Estimate, *, signed: bool = False) -> Cell:
    if not found.judged:
        return "–", ""
    sign = "+" if signed else ""
    interval = "" if math.isnan(found.low) else f"[{found.low:{sign}.3f}, {found.high:{sign}.3f}]"
    return _minus(f"{found.value:{sign}.3f}"), _minus(interval)


def _minus(text: str) -> str:
    return text.replace("-0.000", "0.000").replace("-", "−")


def yardstick(seeds: Seeds | None) -> str:
    """What the seeds say of the other tests, with numbers."""
    if seeds is None:
        return (
            "The challenge seed_variance was not run, so seed variance is not known: do not read anything into small "
            "differences."
        )
    apart = seeds.apart()
    luck = (
        f"two models that differ only in their seed differ by up to {apart:.3f} in accuracy (95 % of pairs): a smaller "
        "difference in tests 1 and 3 is within seed variance"
        if not math.isnan(apart)
        else "there are too few seeds to say how much accuracy varies over seeds"
    )
    return (
        f"Seed variance is the yardstick: {luck}. Their predictions lie {seeds.tvd} apart (TVD) and their attention "
        f"{seeds.jsd} (JSD, at most 0.693): an adversary of test 4 speaks against this attention only where "
        "its predictions stay as close as another seed’s and it attends farther away."
    )


#: The section of the page on models that were trained to compare this one with.
TESTS = Section("tests", "attentest.challenges/trained_models.html", models_table, place=20, title="Four tests")
