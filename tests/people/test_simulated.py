"""Simulated annotators answer by the planted truth, slip at their rate, and agree as a formula says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.people.made_up_runs import write_planted_run

from attentest.errors import InputError, NotApplicable
from attentest.people import PeopleStudy
from attentest.people.simulated import answer_chances, expected_agreement, expected_kappa, simulate


def items_of(study: PeopleStudy) -> list:
    return [item for item in study.items.values() if item.hidden.kind == "item"]


def test_without_slips_the_answers_are_the_planted_truth(study: PeopleStudy) -> None:
    assert simulate(study, 2, 0.0) == ["simulated-1", "simulated-2"]
    assert simulate(study, 1, 0.0) == ["simulated-3"]
    for answer in study.answers("simulated"):
        assert answer.choice == study.items[answer.item].hidden.planted
    assert study.answers("person") == []


def test_slips_come_at_their_rate_and_checks_are_kept_unless_careless(make) -> None:
    study = make(items=100, checks=10)
    simulate(study, 12, 0.2, careless=1)
    wrong = {"check": [], "item": []}
    for answer in study.answers():
        item = study.items[answer.item]
        if item.hidden.kind in wrong and answer.annotator != "simulated-12":
            wrong[item.hidden.kind].append(answer.choice != item.hidden.planted)
    assert np.mean(wrong["item"]) == pytest.approx(0.2, abs=0.03)
    assert not any(wrong["check"])
    last = [a.choice != study.items[a.item].hidden.truth for a in study.answers() if a.annotator == "simulated-12"]
    assert any(last)


def test_an_item_without_planted_truth_is_guessed(make) -> None:
    study = make("simulate", items=20)
    free = next(item for item in items_of(study) if not item.hidden.planted)
    assert answer_chances(free, 0.1).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("slip", [0.0, 0.05, 0.2, 0.5])
def test_expected_agreement_is_a_sum_over_all_pairs_of_answers(make, slip: float) -> None:
    """By brute force: every pair of answers to every item, by its chance."""
    items = items_of(make(items=20))
    observed, shares = 0.0, {}
    for item in items:
        chances = dict(zip((c.value for c in item.shown.choices), answer_chances(item, slip), strict=True))
        for (a, p), (b, q) in itertools.product(chances.items(), repeat=2):
            observed += p * q * (a == b) / len(items)
        for value, p in chances.items():
            shares[value] = shares.get(value, 0.0) + p / len(items)
    expected = sum(p * p for p in shares.values())
    found = expected_agreement(items, slip)
    assert (found.observed, found.by_chance) == pytest.approx((observed, expected))
    base = np.mean([item.hidden.planted == "yes" for item in items])
    rate = base * (1 - slip) + (1 - base) * slip
    by_formula = base * (1 - base) * (1 - 2 * slip) ** 2 / (rate * (1 - rate))
    assert found.kappa == pytest.approx(by_formula)


def test_the_kappa_that_is_given_is_the_one_expected(make) -> None:
    """Monte Carlo: the mean over many pairs of simulated annotators, by scikit-learn."""
    from sklearn.metrics import cohen_kappa_score

    study = make(items=100, checks=0, gold=0)
    names = simulate(study, 40, 0.1, seed=3)
    by = {name: [] for name in names}
    order = [item.id for item in items_of(study)]
    given = {(a.annotator, a.item): a.choice for a in study.answers()}
    for name in names:
        by[name] = [given[name, item] for item in order]
    kappas = [cohen_kappa_score(by[a], by[b]) for a, b in zip(names[::2], names[1::2], strict=True)]
    expected = expected_kappa(study, names)
    assert expected is not None
    error = np.std(kappas, ddof=1) / np.sqrt(len(kappas))
    assert abs(np.mean(kappas) - expected) < 3 * error + 0.01


def test_two_rates_give_the_kappa_between_them(make) -> None:
    items = items_of(make())
    low, mixed, high = (expected_agreement(items, *pair).kappa for pair in ((0.2, 0.2), (0.05, 0.2), (0.05, 0.05)))
    assert low < mixed < high


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"slip": 1.5}, "--slip 1.5"),
        ({"annotators": 0}, "--annotators 0"),
        ({"annotators": 10**9}, "must be at most 1,000"),
        ({"annotators": 1, "careless": 2}, "--careless 2"),
    ],
)
def test_what_cannot_be_simulated_is_refused(study: PeopleStudy, about: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulate(study, **about)


def test_without_planted_truth_there_is_nothing_to_answer_by(make, tmp_path) -> None:
    study = make(runs=(write_planted_run(tmp_path / "plain", without=("rationale",)),))
    with pytest.raises(NotApplicable, match="no planted truth"):
        simulate(study, 2)
