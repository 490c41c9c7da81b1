"""Agreement is the libraries' own, beside formulas written out; what has no meaning is no number."""

from __future__ import annotations

import math
import sys
from itertools import combinations

import numpy as np
import pytest

from attentest.errors import InputError
from attentest.people.answers import Answer
from attentest.people.results.agreement import agreement, cohen, fleiss, krippendorff_alpha
from attentest.people.results.answered import Answered, answered
from attentest.people.study import PeopleStudy

pytest.importorskip("krippendorff")
pytest.importorskip("statsmodels")


def kappa_by_hand(first: list[int], second: list[int]) -> float:
    """Cohen 1960."""
    n = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    expected = sum(first.count(v) / n * second.count(v) / n for v in set(first) | set(second))
    return (observed - expected) / (1 - expected)


def alpha_by_hand(units: list[list[int]]) -> float:
    """Krippendorff 2011: one less observed over expected disagreement of pairable values."""
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    n = len(values)
    observed = sum(
        sum(a != b for i, a in enumerate(unit) for j, b in enumerate(unit) if i != j) / (len(unit) - 1)
        for unit in units
    )
    expected = sum(a != b for i, a in enumerate(values) for j, b in enumerate(values) if i != j) / (n - 1)
    return 1 - observed / expected


def test_cohen_is_its_definition() -> None:
    random = np.random.default_rng(0)
    first = random.integers(0, 3, 60)
    second = np.where(random.random(60) < 0.7, first, random.integers(0, 3, 60))
    assert cohen(first, second, 3) == pytest.approx(kappa_by_hand(first.tolist(), second.tolist()))
    assert math.isnan(cohen(np.zeros(5, int), np.zeros(5, int), 2))


def test_fleiss_gives_the_textbook_value() -> None:
    """Fleiss 1971, as in the worked example of 14 raters, 10 subjects, 5 categories."""
    counts = np.array(
        [
            *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
            *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
        ]
    )
    assert fleiss(counts) == pytest.approx(0.2099, abs=1e-3)


def test_krippendorff_is_its_definition_with_answers_missing() -> None:
    random = np.random.default_rng(1)
    units = [random.integers(0, 2, random.integers(1, 5)).tolist() for _ in range(30)]
    counts = np.array([[unit.count(v) for v in (0, 1)] for unit in units])
    assert krippendorff_alpha(counts) == pytest.approx(alpha_by_hand(units))


def given(study: PeopleStudy, codes: np.ndarray) -> Answered:
    """Answers [person, item] of 0 no, 1 yes, −1 none to the items that count."""
    items = [item.id for item in study.items.values() if item.hidden.kind == "item"]
    people = tuple(f"p{n}" for n in range(len(codes)))
    answers = tuple(
        Answer(people[p], "person", items[i], ("no", "yes")[codes[p, i]], 1.0, "")
        for p, i in zip(*np.nonzero(codes >= 0), strict=True)
    )
    return Answered(study, "people", people, answers)


def test_pairs_and_all_are_over_the_items_that_they_share(study: PeopleStudy) -> None:
    random = np.random.default_rng(2)
    truth = random.integers(0, 2, 20)
    codes = np.stack([np.where(random.random(20) < 0.85, truth, 1 - truth) for _ in range(3)])
    codes[0, :4] = codes[1, 2:7] = -1
    found = agreement(given(study, codes))
    for pair, (a, b) in zip(found.pairs, combinations(range(3), 2), strict=True):
        both = (codes[a] >= 0) & (codes[b] >= 0)
        assert pair.items == both.sum()
        assert pair.same == pytest.approx((codes[a] == codes[b])[both].mean())
        assert pair.kappa.value == pytest.approx(kappa_by_hand(codes[a][both].tolist(), codes[b][both].tolist()))
        assert pair.kappa.low <= pair.kappa.value <= pair.kappa.high
    assert found.cohen.value == pytest.approx(np.mean([pair.kappa.value for pair in found.pairs]))
    whole = (codes >= 0).sum(0) == 3
    assert (found.fleiss_items, found.fleiss_people) == (whole.sum(), 3)
    units = [[c for c in codes[:, i].tolist() if c >= 0] for i in range(20)]
    assert found.alpha.value == pytest.approx(alpha_by_hand(units))
    assert found.alpha.low < found.alpha.value < found.alpha.high


def test_one_person_or_one_answer_for_all_gives_no_number(study: PeopleStudy) -> None:
    alone = agreement(given(study, np.ones((1, 20), dtype=int)))
    assert alone.pairs == ()
    assert all(math.isnan(each.value) for each in (alone.cohen, alone.fleiss, alone.alpha))
    alike = agreement(given(study, np.ones((2, 20), dtype=int)))
    assert all(math.isnan(each.value) for each in (alike.cohen, alike.fleiss, alike.alpha))
    assert agreement(answered(study)).items == 0


def test_a_missing_library_is_named_with_what_to_install(study: PeopleStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(InputError, match=r"needs krippendorff: pip install 'attentest\[people\]'"):
        agreement(given(study, np.ones((1, 20), dtype=int)))
