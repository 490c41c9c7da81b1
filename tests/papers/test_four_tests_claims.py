"""Wiegreffe & Pinter: F1 of other models' predictions, the reach of a curve, and what is recalled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.papers.made_up_cells import MadeUpCell, run_folder, write

from attentest.challenges import CHALLENGES
from attentest.cli.claims import reproducible
from attentest.papers.claims import Claim, Direction, load_claims
from attentest.papers.outcomes import RECALLED, Outcome, evaluate, rate
from attentest.statistics.resampling import Sample, interval, means, reach

WIEGREFFE = "wiegreffe_pinter_2019"
TEXTS = 200
BY_TEXT = "adversary(search=False, per_token=False)"
LABEL = np.arange(TEXTS) % 2


def predicted(accuracy: float) -> np.ndarray:
    """Right in this share of the texts, the same share of each class."""
    right = np.arange(TEXTS) < round(accuracy * TEXTS / 2) * 2
    return np.where(right, LABEL, 1 - LABEL).astype(np.int32)


def base(own: float) -> dict[str, Any]:
    ids = [f"t{i:03d}" for i in range(TEXTS)]
    label = pa.array(LABEL, pa.int32())
    return {"id": ids, "predicted": predicted(own), "label": label, "not_judged": pa.nulls(TEXTS, pa.string())}


def cell(
    root: Path,
    *,
    corpus: str = "sst",
    own: float = 0.83,
    uniform: float = 0.82,
    guided: Mapping[str, float] | None = None,
    seeds: tuple[float, float] = (0.1, 0.1),
    curve: Mapping[str, tuple[float, float]] | None = None,
    by_text: float = 0.6,
    without: tuple[str, ...] = (),
    **choices: Any,
) -> MadeUpCell:
    """A run of the four tests: accuracies, (JSD, TVD) between seeds, and of every λ's adversary."""
    folder = run_folder(root, f"{corpus.partition('(')[0]}-{len(list(root.glob('*')))}", corpus)
    noise = np.random.default_rng(0).normal(0, 0.01, TEXTS)
    noise -= noise.mean()
    guides = {"uniform": 0.7, "own": 0.75, "model": 0.9, "adversary": 0.5} | dict(guided or {})
    points = curve or {"0": (0.05, 0.02), "0.1": (0.4, 0.09), "1": (0.6, 0.3)}
    long = [
        base(own) | {"weight": [name] * TEXTS, "jsd": jsd + noise, "tvd": tvd + noise}
        for name, (jsd, tvd) in points.items()
    ]
    tables = {
        "trained_uniform": [base(own) | {"predicted_uniform": predicted(uniform)}],
        "guide": [base(own) | {f"predicted_{name}": predicted(share) for name, share in guides.items()}],
        "seed_variance": [base(own) | {"attention_jsd": seeds[0] + noise, "prediction_tvd": seeds[1] + noise}],
        "adversarial_training": long,
        "adversary": [base(own) | {"lower": by_text + noise}],
    }
    for name, parts in tables.items():
        if name not in without:
            table = pa.concat_tables([pa.table(part) for part in parts])
            asked = BY_TEXT if name == "adversary" else name
            write(folder, name, asked, CHALLENGES.parse(asked).measures, table)
    chosen = {"corpus": corpus, "encoder": "bilstm", "attention": "additive", "seed": 0, "preset": "released"}
    return MadeUpCell({**chosen, **choices}, folder)


def direction(outcomes: list[Outcome], name: str, corpus: str = "SST") -> Outcome:
    return next(
        o for o in outcomes if isinstance(o.claim, Direction) and (o.claim.rule.name, o.claim.corpus) == (name, corpus)
    )


def test_f1_is_that_of_the_named_models_predictions(tmp_path: Path) -> None:
    outcomes = evaluate(WIEGREFFE, [cell(tmp_path)])
    both = {o.claim.measure: o for o in outcomes if isinstance(o.claim, Claim) and o.claim.corpus == "SST"}
    # The same share of each class is right, so F1 is that share.
    assert both["f1_learned"].ours == pytest.approx(0.83)
    assert both["f1_uniform"].ours == pytest.approx(0.82)
    assert both["f1_uniform"].also == "macro F1 0.820"


def test_recalled_claims_are_compared_marked_and_in_no_rate(tmp_path: Path) -> None:
    outcomes = evaluate(WIEGREFFE, [cell(tmp_path)])
    settled = [o for o in outcomes if o.settled]
    recalled = [o for o in settled if o.claim.recalled]
    assert {type(o.claim) for o in recalled} == {Claim, Direction}
    assert all(RECALLED in o.difference and not o.like_for_like for o in recalled)
    assert rate(recalled).compared == rate(recalled, like_for_like=False).compared == 0
    kept = [o for o in settled if not o.claim.recalled]
    assert [o.claim.corpus for o in kept] == ["SST", "SST"]
    assert rate(outcomes).compared + rate(outcomes, like_for_like=False).compared == len(kept)


def test_every_figure_of_the_paper_is_recalled() -> None:
    claims = load_claims(WIEGREFFE)
    assert claims.figures
    assert all(claim.recalled and "unverified" in claim.table for claim in claims.figures)
    assert all(d.recalled or d.rule.quote for d in claims.directions)


def test_the_guides_are_compared_text_by_text(tmp_path: Path) -> None:
    outcomes = evaluate(WIEGREFFE, [cell(tmp_path)])
    for name in (
        "the model's weights tell words something",
        "more than words learn by themselves",
        "adversaries guide worse than the model",
    ):
        assert direction(outcomes, name).status == "agrees", name
    turned = evaluate(WIEGREFFE, [cell(tmp_path, guided={"model": 0.5, "adversary": 0.9})])
    assert direction(turned, "adversaries guide worse than the model").status == "differs"


def test_doing_without_attention_is_near_or_not(tmp_path: Path) -> None:
    name = "attention is not needed everywhere"
    near = evaluate(WIEGREFFE, [cell(tmp_path, corpus="20news", own=0.94, uniform=0.94)])
    assert direction(near, name, "20 Newsgroups").status == "agrees"
    far = evaluate(WIEGREFFE, [cell(tmp_path, corpus="20news", own=0.94, uniform=0.7)])
    assert direction(far, name, "20 Newsgroups").status == "differs"


@pytest.mark.parametrize(
    ("seeds", "reached", "status"),
    [
        ((0.1, 0.1), 0.4, "agrees"),  # λ = 1 goes farther, but its predictions are too far
        ((0.1, 0.5), 0.6, "agrees"),
        ((0.45, 0.1), 0.4, "differs"),
        ((0.1, 0.001), math.nan, "unsettled"),  # no λ predicts that much alike
        ((0.4, 0.1), 0.4, "unsettled"),
    ],
)
def test_a_trained_adversary_is_read_against_the_seeds(
    tmp_path: Path, seeds: tuple[float, float], reached: float, status: str
) -> None:
    # The texts' own chances are the same in every column: only what is added tells the sides apart.
    found = direction(
        evaluate(WIEGREFFE, [cell(tmp_path, seeds=seeds)]), "adversarial attention can be trained in some tasks"
    )
    assert found.ours == pytest.approx(reached - seeds[0], abs=1e-9, nan_ok=True)
    assert found.status == status


@pytest.mark.parametrize(("by_text", "status"), [(0.6, "agrees"), (0.2, "differs")])
def test_attention_changed_text_by_text_goes_farther_or_not(tmp_path: Path, by_text: float, status: str) -> None:
    found = direction(evaluate(WIEGREFFE, [cell(tmp_path, by_text=by_text)]), "but is seldom converged to")
    assert found.status == status


def test_a_curve_needs_the_findings_that_bound_it(tmp_path: Path) -> None:
    found = direction(evaluate(WIEGREFFE, [cell(tmp_path, without=("seed_variance",))]), "but is seldom converged to")
    assert (found.status, found.reason) == ("not run", "its runs have no finished seed_variance")


def test_reach_is_the_best_point_within_the_bound_in_every_resample() -> None:
    rng = np.random.default_rng(3)
    ids = tuple(f"t{i:02d}" for i in range(30))

    def sample(values: np.ndarray, count: int) -> Sample:
        return Sample(ids[:count], (0, 1), means(values[:, :count]), 2 * count, 0)

    columns = [rng.random((2, 30)) for _ in range(7)]
    curve = [(sample(columns[i], 30), sample(columns[i + 3], 25)) for i in range(3)]
    bound = sample(columns[6], 28)
    found = reach(curve, bound)
    drawn = rng.integers(0, 3, size=(5, 30)).astype(float)
    for row, weights in zip(found.statistic(drawn), drawn, strict=True):
        for seed in range(2):

            def mean(values: np.ndarray, count: int, seed: int = seed, weights: np.ndarray = weights) -> float:
                return float((values[seed, :count] * weights[:count]).sum() / weights[:count].sum())

            most = mean(columns[6], 28)
            reached = [mean(columns[i], 30) for i in range(3) if mean(columns[i + 3], 25) <= most]
            assert row[seed] == pytest.approx(max(reached, default=math.nan), nan_ok=True)
    assert (found.judged, found.not_judged) == (50, 0)
    whole = interval(reach(curve, 1.0), "all within")
    assert whole.value == pytest.approx(np.mean(np.max([columns[i].mean(1) for i in range(3)], axis=0)))


def test_the_study_asks_the_four_questions_on_the_four_corpora() -> None:
    cells = [cell.choices for cell in reproducible(WIEGREFFE)[0].cells()]
    assert len(cells) == 12
    asked = {text.partition("(")[0] for text in cells[0]["challenges"]}
    assert {"trained_uniform", "seed_variance", "guide", "adversarial_training", "adversary"} <= asked
