"""Tables, checks, sheets, verdict and power of answers that are known, beside counts written out."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from attentest.errors import InputError
from attentest.people import PeopleStudy
from attentest.people.results.page import page
from attentest.people.results.power import items_needed
from attentest.people.results.results import Results, results_of
from attentest.people.results.terminal import shown
from attentest.people.simulated import simulate
from attentest.statistics.crossed import Components

pytest.importorskip("krippendorff")
pytest.importorskip("statsmodels")


def answer_all(study: PeopleStudy, name: str, choose, seconds: float = 2.0) -> None:
    """One person answers everything, ``choose`` saying what."""
    who = study.annotator(study.invite(name))
    study.consent(who, study.documents().version)
    for number, item in enumerate(study.assigned(who)):
        study.answer(who, item.id, choose(item), f"nonce-{number:04d}", seconds)


def by_truth(item) -> str:
    return item.hidden.planted


def against_truth(item) -> str:
    return next(choice.value for choice in item.shown.choices if choice.value != item.hidden.planted)


def careless(item) -> str:
    return item.hidden.planted if item.hidden.kind != "check" else against_truth(item)


@pytest.fixture
def answers(study: PeopleStudy) -> Results:
    answer_all(study, "anna", by_truth)
    answer_all(study, "ben", by_truth, 4.0)
    answer_all(study, "cleo", lambda item: "yes" if item.hidden.kind != "check" else against_truth(item))
    simulate(study, 2, 0.4)
    return results_of(study)


def test_cells_are_counts_over_all_answers_under_a_condition(study: PeopleStudy, answers: Results) -> None:
    items = [item for item in study.items.values() if item.hidden.kind == "item"]
    for cell in answers.kept.cells:
        here = [item for item in items if item.hidden.condition == cell.condition]
        counted = sum(
            item.hidden.planted == cell.outcome and item.hidden.facts["correct"] == cell.correct for item in here
        )
        assert cell.answers == 2 * counted
        assert cell.share.value == pytest.approx(counted / len(here))
        assert cell.share.low <= cell.share.value <= cell.share.high
    for condition in ("original", "permuted"):
        assert sum(c.share.value for c in answers.kept.cells if c.condition == condition) == pytest.approx(1)


def test_whoever_fails_the_checks_is_left_out_and_both_ways_are_shown(answers: Results) -> None:
    assert answers.left_out == ("cleo",)
    assert answers.kept.people == ("anna", "ben")
    assert answers.everybody.people == ("anna", "ben", "cleo")
    yes = answers.kept.share("permuted", "yes").share.value
    assert answers.everybody.share("permuted", "yes").share.value == pytest.approx((2 * yes + 1) / 3)
    assert answers.kept.agreement.cohen.value == 1.0
    assert answers.everybody.agreement.cohen.value < 1.0


def test_sheets_say_what_everybody_did(study: PeopleStudy, answers: Results) -> None:
    anna, ben, cleo = answers.sheets
    assert (anna.answered, anna.assigned, anna.changed) == (len(study.items), len(study.items), 0)
    assert (anna.median_seconds, ben.median_seconds) == (2.0, 4.0)
    assert anna.total_seconds == 2.0 * len(study.items)
    assert (anna.failed, cleo.failed, cleo.checks) == (0, 3, 3)
    assert anna.gold_right == anna.gold == 2
    assert cleo.left_out
    assert cleo.shares["original"] == {"yes": 1.0, "no": 0.0}
    who = study.store.named("anna")
    study.undo(who, "undo-0001")
    assert results_of(study).sheets[0].changed == 2  # the answer and the undo


def test_simulated_annotators_are_in_no_figure_of_people(study: PeopleStudy, answers: Results) -> None:
    assert answers.kinds == {"person": 3}
    simulated = results_of(study, "simulated")
    assert simulated.kinds == {"simulated": 2}
    assert simulated.expected is not None
    assert answers.expected is None
    assert "simulated" in simulated.kept.verdict.line
    assert "people" in answers.kept.verdict.line


def test_gold_items_follow_the_planted_truth(answers: Results) -> None:
    assert answers.gold.value == 1.0


@pytest.mark.slow
def test_the_verdict_is_yes_no_or_cannot_say(make) -> None:
    study = make(items=60, checks=0)
    answer_all(study, "one", lambda item: "yes" if item.hidden.condition in ("original", "gold") else "no")
    assert results_of(study).kept.verdict.answer == "cannot say"
    assert "Only one annotator’s answers count" in results_of(study).kept.verdict.reason
    study = make(items=60, checks=0, name="yes")
    for name in ("anna", "ben"):
        answer_all(study, name, lambda item: "yes" if item.hidden.condition == "original" else "no")
    found = results_of(study).kept.verdict
    assert (found.answer, [one.answer for one in found.met]) == ("yes", ["yes", "yes"])
    study = make(items=60, checks=0, name="no")
    for name in ("anna", "ben"):
        answer_all(study, name, lambda item: "no" if item.hidden.condition == "original" else "yes")
    assert results_of(study).kept.verdict.answer == "no"
    study = make(items=60, checks=0, name="even")
    for name in ("anna", "ben"):
        answer_all(study, name, lambda item: "yes")
    found = results_of(study).kept.verdict
    assert (found.answer, [one.answer for one in found.met]) == ("cannot say", ["yes", "cannot say"])


@pytest.mark.parametrize("design", ["compare", "simulate", "detect"])
def test_every_design_has_shares_and_a_verdict(make, design: str) -> None:
    study = make(design, items=40)
    simulate(study, 3, 0.0)
    found = results_of(study, "simulated")
    for condition in study.design.conditions:
        shares = [one for one in found.kept.shares if one.condition == condition]
        assert sum(one.share.value for one in shares) == pytest.approx(1)
    if design == "simulate":  # by the planted word people know the label, and the model mostly follows it
        items = [i for i in study.items.values() if i.hidden.kind == "item" and i.hidden.condition == "attention"]
        told = [item.hidden.planted == item.hidden.truth for item in items if item.hidden.planted]
        assert found.kept.share("attention", "right").share.value >= sum(told) / len(items)
    assert found.kept.cells == ()
    assert found.kept.verdict.met


def test_nobody_who_passed_the_checks_is_said_and_shown(study: PeopleStudy) -> None:
    answer_all(study, "anna", careless)
    found = results_of(study)
    assert (found.kept.people, found.everybody.people) == ((), ("anna",))
    assert "What was answered" not in page(study, found)
    assert "anna left out" in page(study, found)
    console = Console(width=100, file=io.StringIO())
    for part in shown(found):
        console.print(part)
    assert "left out" in console.file.getvalue()


def test_nobody_yet_is_said_and_not_computed(study: PeopleStudy) -> None:
    found = results_of(study)
    assert found.kept.verdict.reason.startswith("Nobody’s answers count")
    assert "Nobody has answered yet" in page(study, found)
    assert json.loads(json.dumps(found.record()))["verdict"] == "Plausible to people: cannot say"


def test_the_record_is_plain_and_has_no_nan(answers: Results) -> None:
    record = json.loads(json.dumps(answers.record(), allow_nan=False))
    assert record["kept"]["shares"][0]["share"].keys() == {"value", "low", "high"}
    assert record["simulated"] is False


def test_the_terminal_begins_with_the_answer(study: PeopleStudy, answers: Results) -> None:
    console = Console(width=100, file=io.StringIO())
    for part in shown(answers):
        console.print(part)
    text = console.file.getvalue()
    assert text.startswith("Plausible to people: ")
    for words in ("Cohen’s κ 1.00", "cleo left out", "changes none of the audit's three answers", "For ±0.10"):
        assert words in " ".join(text.split())


@pytest.mark.slow
def test_the_page_runs_nothing_and_escapes_names(study: PeopleStudy) -> None:
    answer_all(study, "<script>alert(1)</script>", by_truth)
    answer_all(study, "ben", by_truth)
    text = page(study, results_of(study))
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "default-src 'none'" in text
    assert "Simulated: no person answered" not in text
    simulate(study, 2, 0.1)
    assert "Simulated: no person answered" in page(study, results_of(study, "simulated"))


def brute(found: Components, people: int, half: float, overlap: int | None = None) -> int | None:
    for items in range(1, 5000):
        if 1.959964 * math.sqrt(found.variance(people, items, overlap)) <= half:
            return items
    return None


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize(("items", "people"), [(0.0, 0.0), (0.6, 0.0), (0.5, 0.02), (0.2, 0.1)])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_power_is_the_first_number_of_items_that_is_enough(share, items, people, count) -> None:
    found = Components(share, items, people)
    for overlap in (None, 0, 20):
        needed = items_needed(found, count, 0.1, overlap)
        assert needed.items == brute(found, count, 0.1, overlap)
        if needed.items is None:
            assert items_needed(found, needed.fewest, 0.1, overlap).items is not None
            assert needed.fewest == count + 1 or items_needed(found, needed.fewest - 1, 0.1, overlap).items is None
        else:
            shared = needed.items if overlap is None else min(overlap, needed.items)
            assert needed.answers == shared * count + needed.items - shared


def test_items_that_are_dealt_out_take_fewer_answers_than_shared_ones() -> None:
    found = Components(0.5, 0.6, 0.005)
    shared, mixed, apart = (items_needed(found, 4, 0.1, overlap).answers for overlap in (None, 30, 0))
    assert shared > mixed > apart


def test_independent_answers_need_96_or_97_for_a_tenth() -> None:
    needed = items_needed(Components(0.5, 0.0, 0.0), 1, 0.1)
    assert (needed.items, needed.answers, round(needed.effect, 1)) == (97, 97, 1.0)
    both = items_needed(Components(0.5, 0.8, 0.0), 2, 0.1)
    assert both.effect == pytest.approx(1.8, abs=0.02)  # 1 + (2 − 1) · 0.8


@pytest.mark.parametrize("half", [0, 1, -0.1])
def test_what_power_cannot_be_told_for_is_refused(half: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        items_needed(Components(0.5, 0.1, 0.1), 2, half)


def test_many_resamples_do_not_change_with_the_clock(answers: Results, study: PeopleStudy) -> None:
    again = results_of(study)
    assert np.allclose([c.share for c in again.kept.cells], [c.share for c in answers.kept.cells])
