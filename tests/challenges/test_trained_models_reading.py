from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from tests.report.made_up import table_of
from tests.report.made_up_trained_models import MEASURES, NUMBERS, SEEDS, WEIGHTS, Others, trained

from attentest.challenges import CHALLENGES
from attentest.challenges.adversarial_training.presentation import LN2, Reach, farthest, unique_line
from attentest.challenges.guide.presentation import carries_line
from attentest.challenges.seed_variance.presentation import luck_line
from attentest.challenges.trained_models import GUIDES, adversaries, guided, models_table, without_attention, yardstick
from attentest.challenges.trained_uniform.presentation import needed_line
from attentest.presentation.line import Line
from attentest.presentation.presentation import Results
from attentest.presentation.seeds import F1, MACRO, RIGHT, Seeds, scores, with_seeds
from attentest.registry import parameters_of
from attentest.statistics.performance import accuracy, f1_macro
from attentest.store.findings import Findings, Measure

NAMES = ("trained_uniform", "seed_variance", "guide", "adversarial_training")
Four = dict[str, Findings]


def make_four(texts: int = 600, **others: Any) -> Four:
    """The findings of the four tests on texts with nothing in them, a model that is right on 63 % of them."""
    random = np.random.default_rng(0)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
    for number in range(texts):
        label, right = int(random.integers(2)), random.random() < 0.63
        text = {"id": f"text-{number:05d}", "label": label, "predicted": label if right else 1 - label}
        text |= {"tokens": [""] * (1 if number % 50 == 0 else 9), "max_attention": random.random()}
        for name, found in trained(text, 2, Others(**others), 0).items():
            rows[name] += found
    asked = {name: parameters_of(CHALLENGES.parse(name)) for name in NAMES}
    return {name: Findings(name, MEASURES[name], table_of(rows[name], NUMBERS[name]), asked[name]) for name in NAMES}


def test_scores_are_those_of_the_measures_and_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    for classes in (2, 5):
        labels, predicted = random.integers(classes, size=80), random.integers(classes, size=(80, 3))
        found = scores(labels, predicted)
        assert found.shape == (2001, 3, 3)
        for model in range(3):
            given = predicted[:, model]
            assert found[0, model, RIGHT] == pytest.approx(accuracy(labels, given))
            assert found[0, model, MACRO] == pytest.approx(f1_macro(labels, given))
            assert found[0, model, MACRO] == pytest.approx(f1_score(labels, given, average="macro"))
            assert found[0, model, F1] == pytest.approx(f1_score(labels == 1, given == 1, zero_division=0))


def test_resampled_scores_are_those_of_the_texts_drawn_and_the_same_texts_for_every_model() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(3, size=40)
    given = random.integers(3, size=40)
    found = scores(labels, np.stack([given, given], axis=1))
    assert (found[:, 0] == found[:, 1]).all()
    generator = np.random.default_rng(0)  # as the bootstrap draws
    first = generator.integers(40, size=(2000, 40))[0]
    assert found[1, 0, MACRO] == pytest.approx(f1_macro(labels[first], given[first]))


def test_a_class_that_no_resample_holds_is_not_counted_in_macro_f1() -> None:
    labels = np.array([0] * 30 + [1])
    found = scores(labels, labels[:, None])
    assert found[:, 0, MACRO] == pytest.approx(1.0)


def test_two_seeds_lie_as_far_apart_as_student_says() -> None:
    random = np.random.default_rng(0)
    beyond = 0
    for _ in range(2000):
        drawn = random.normal(0.8, 0.01, 10)
        seeds = Seeds(np.repeat(drawn[:8, None], 3, axis=1), *[None] * 4)  # type: ignore[arg-type]
        beyond += abs(drawn[8] - drawn[9]) > seeds.apart()
    assert 0.03 < beyond / 2000 < 0.07


def test_very_few_seeds_are_no_yardstick() -> None:
    seeds = Seeds.of(make_four(40)["seed_variance"])
    assert seeds is not None
    assert seeds.others == SEEDS
    assert math.isnan(dataclasses.replace(seeds, scores=seeds.scores[:2]).apart())
    assert "too few seeds" in yardstick(dataclasses.replace(seeds, scores=seeds.scores[:2]))
    assert "not run" in yardstick(None)


def literal_farthest(tvd: list[float], jsd: list[float], within: float) -> float:
    """Walk along the curve in small steps."""
    reached = 0.0
    for a in range(len(tvd)):
        if tvd[a] <= within:
            reached = max(reached, jsd[a])
        if a + 1 < len(tvd):
            for step in np.linspace(0, 1, 2001).tolist():
                if tvd[a] + step * (tvd[a + 1] - tvd[a]) <= within:
                    reached = max(reached, jsd[a] + step * (jsd[a + 1] - jsd[a]))
    return reached


shares = st.integers(0, 69).map(lambda hundredths: hundredths / 100)


@settings(max_examples=60, deadline=None)
@given(points=st.lists(st.tuples(shares, shares), min_size=1, max_size=5), within=shares)
def test_the_farthest_point_of_the_curve_is_what_walking_along_it_finds(
    points: list[tuple[float, float]], within: float
) -> None:
    tvd, jsd = [p[0] for p in points], [p[1] for p in points]
    found = farthest(np.array([tvd]), np.array([jsd]), np.array([within]))[0]
    assert found == pytest.approx(literal_farthest(tvd, jsd, within), abs=1e-3)


def test_reach_lies_between_another_seed_and_the_largest_divergence() -> None:
    found = make_four()
    reach = Reach.of(found["adversarial_training"], found["seed_variance"])
    assert reach is not None
    assert reach.share.low <= reach.share.value <= reach.share.high
    assert reach.share.value == pytest.approx((reach.reached - reach.jsd) / (LN2 - reach.jsd))
    assert Reach.of(found["adversarial_training"], None) is None
    near_the_most = make_four(40, seeds_jsd=0.68)
    assert Reach.of(near_the_most["adversarial_training"], near_the_most["seed_variance"]) is None


@pytest.mark.slow
def test_a_curve_between_two_adversaries_settles_nothing_that_they_do_not() -> None:
    found = make_four(1500, tvd=(0.02, 0.02, 0.02, 0.2, 0.2), jsd=(0.1, 0.1, 0.1, 0.69, 0.69))
    reach = Reach.of(found["adversarial_training"], found["seed_variance"])
    line = unique_line(found["adversarial_training"], found["seed_variance"])
    assert reach is not None
    assert line is not None
    assert reach.point < 0.15 < reach.reached
    assert line.tone == "unsettled"
    assert "A λ between the two would tell" in line.reading


def lines(found: Four) -> dict[str, Line]:
    others = found["seed_variance"]
    seeds = Seeds.of(others)
    unique = unique_line(found["adversarial_training"], others, found["guide"])
    assert unique is not None
    assert seeds is not None
    carries = carries_line(found["guide"], seeds)
    made = (needed_line(found["trained_uniform"], seeds), luck_line(others, seeds), carries, unique)
    return {line.key: line for line in made}


SAME = {"uniform": 0.62, "own": 0.62, "model": 0.62, "adversary": 0.62}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "others", "tone", "words"),
    [
        ("needed", {"uniform": 0.4}, "supports", "the task needs attention"),
        ("needed", {"uniform": 0.75}, "against", "nothing to explain"),
        ("needed", {"uniform": 0.4, "spread": 0.08}, "unsettled", "within seed variance"),
        ("needed", {"uniform": 0.75, "seeds": 0.9}, "unsettled", "Other seeds of the model do better"),
        ("luck", {"top_changed": 0.05}, "supports", "same word first"),
        ("luck", {"top_changed": 0.8}, "against", "more often than not"),
        ("luck", {"top_changed": 0.35}, "mixed", "would often"),
        ("carries", {"guides": SAME | {"uniform": 0.4}}, "supports", "carry information"),
        ("carries", {"guides": SAME | {"uniform": 0.5, "model": 0.3}}, "against", "gains nothing"),
        ("carries", {"guides": SAME | {"uniform": 0.9, "model": 0.85}}, "context", "nothing to gain"),
        ("unique", {"jsd": (0.1, 0.1, 0.1, 0.12, 0.13)}, "supports", "No: adversaries"),
        ("unique", {"tvd": (0.02,) * 5, "guides": SAME}, "against", "Yes: adversaries"),
        ("unique", {"tvd": (0.02,) * 5}, "mixed", "no equal alternative"),
        # The guide's adversary, of λ = .01, is no rival here: its predictions are farther off than another seed's.
        ("unique", {"tvd": (0.02, 0.02, 0.3, 0.02, 0.02)}, "against", "Yes: adversaries"),
        ("unique", {"tvd": (0.3,) * 5}, "unsettled", "Not even the adversary"),
        ("unique", {}, "mixed", "In part"),
    ],
)
def test_each_pattern_of_findings_has_its_tone(key: str, others: dict[str, Any], tone: str, words: str) -> None:
    line = lines(make_four(1500, **others))[key]
    assert line.tone == tone
    assert words in line.reading
    assert line.reading.endswith(".")
    assert line.estimate.low <= line.estimate.value <= line.estimate.high


def test_few_texts_settle_nothing() -> None:
    assert {line.tone for line in lines(make_four(20, uniform=0.1)).values()} <= {"unsettled", "context"}


def test_an_adversary_without_other_seeds_has_no_yardstick() -> None:
    line = unique_line(make_four(60)["adversarial_training"], None)
    assert line is not None
    assert line.tone == "context"
    assert "no yardstick" in line.reading


def test_models_are_scored_beside_the_one_they_are_compared_with() -> None:
    found = make_four(200)
    own, even = without_attention(found["trained_uniform"])
    assert own.beside == ()
    rows = [row for row in found["trained_uniform"].table.to_pylist() if row["not_judged"] is None]
    assert own.scores[RIGHT].value == pytest.approx(np.mean([row["correct"] for row in rows]))
    assert even.beside[RIGHT].value == pytest.approx(-np.mean([row["lost"] for row in rows]))
    by_kind = {one.words: one for one in guided(found["guide"])}
    assert list(by_kind) == list(GUIDES.values())
    rows = [row for row in found["guide"].table.to_pylist() if row["not_judged"] is None]
    gained = by_kind[GUIDES["model"]].beside[RIGHT].value
    assert gained == pytest.approx(np.mean([row["gained"] for row in rows]))
    assert [one.words for one in adversaries(found["adversarial_training"])] == [f"λ = {w:g}" for w in WEIGHTS]


def test_the_table_has_a_group_for_every_test_that_was_run() -> None:
    found = make_four(60)
    table = models_table(Results(found, {"corpus": {"classes": ["negative", "positive"]}}))
    assert table is not None
    assert [group["title"][0] for group in table["groups"]] == ["1", "2", "3", "4"]
    assert table["heads"] == ["Accuracy", "F1, macro", "F1, positive"]
    for group in table["groups"]:
        for row in group["rows"]:
            assert len(row["cells"]) == len(table["heads"]) + 4
    for name in NAMES:
        alone = models_table(Results({name: found[name]}, {"corpus": {"classes": ["a", "b", "c"]}}))
        assert alone is not None
        assert len(alone["groups"]) == 1
        assert alone["heads"] == ["Accuracy", "F1, macro"]
    assert models_table(Results({}, {})) is None


def test_the_seeds_are_said_with_numbers() -> None:
    found = make_four(100)
    seeds = Seeds.of(found["seed_variance"])
    assert seeds is not None
    said = yardstick(seeds)
    for number in (f"{seeds.apart():.3f}", str(seeds.tvd), str(seeds.jsd)):
        assert number in said


def test_the_interval_of_luck_is_over_seeds_too() -> None:
    random = np.random.default_rng(5)
    shares = np.array([0.1, 0.5, 0.9])
    moved = (random.random((400, 3)) < shares).astype(float)
    columns = {"top_changed": moved.mean(1), "not_judged": pa.nulls(400, pa.string())}
    measure = Measure("top_changed", "top_changed", "mean", "another top")
    alone = Findings("seed_variance", (measure,), pa.table(columns))
    kept = Findings("seed_variance", (measure,), pa.table(columns | {"top_changed_by_seed": moved.tolist()}))
    by_texts, by_both = with_seeds(alone, "top_changed"), with_seeds(kept, "top_changed")
    assert by_both.value == pytest.approx(by_texts.value)
    assert by_both.high - by_both.low > 5 * (by_texts.high - by_texts.low)
