from __future__ import annotations

import pytest

from attentest.calibration.analysis import literature
from attentest.calibration.analysis.literature import EVIDENCE, TESTS, kept
from attentest.challenges import CHALLENGES


@pytest.mark.parametrize(
    ("measure", "direction"),
    [
        ("agreement.attention~gradient(path='full').tau", 1),
        ("agreement.gradient~leave_one_out.tau", 0),
        ("faithfulness.attention.sufficiency.mask", -1),
        ("faithfulness.attention.normalised_sufficiency", 1),
        ("faithfulness.gradient_norm.comprehensiveness", 0),
        ("flip_sets.attention.counted", -1),
        ("flip_sets.smallest.counted", 0),
        ("adversary.upper", -1),
        ("uniform.accuracy", 0),
        ("importance.attention.held.mask", 1),
        ("importance.sampled.mask", 0),
    ],
)
def test_a_measure_points_where_its_paper_says(measure: str, direction: int) -> None:
    assert literature.test_of(measure)[1] == direction


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.challenge)
def test_every_column_of_a_test_is_a_measure_of_its_challenge(test: literature.Test) -> None:
    if test.challenge == "importance":
        return
    names = [measure.name for measure in CHALLENGES.parse(test.challenge).measures]
    parts = {part for name in names if name.startswith(test.begins) for part in name[len(test.begins) :].split(".")}
    assert {*test.higher, *test.lower} <= parts


def test_what_is_kept_is_about_attention() -> None:
    assert all(kept(measure) for measures in EVIDENCE.values() for measure in measures)
    assert kept("adversary.certified")
    assert not kept("faithfulness.gradient_norm.comprehensiveness")
    assert not kept("certificates.attention.alone_gap")
    assert not kept("instances.accuracy")
