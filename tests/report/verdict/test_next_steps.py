"""What to do next: thresholds with numbers, and the explainer that did best."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentest.challenges.importance.presentation import one_line
from attentest.presentation.line import Line, Rival, Settling
from attentest.presentation.thresholds import (
    FEWEST,
    MOST,
    THRESHOLDS,
    about,
    clear_of,
    said,
    settled_by,
    settling_of,
    tone_of,
)
from attentest.report.verdict.argument import ARGUMENT
from attentest.report.verdict.goals import goals_of
from attentest.report.verdict.next_steps import next_steps
from attentest.store.findings import Findings, Measure
from attentest.store.summary import Estimate, summarise

GOOD = {part.key: "supports" for part in ARGUMENT if part.decides}


def line(key: str, tone: str, **about: object) -> Line:
    found = Estimate(0.7, 0.65, 0.78, 0.1, 240, 0, "")
    about |= {"decides": next(part.decides for part in ARGUMENT if part.key == key)}
    return Line(key, "?", "", "", tone, found, "states", f"Is it {key}?", **about)  # type: ignore[arg-type]


def steps(*lines: Line, **fields: object) -> list[str]:
    return list(next_steps(lines, goals_of(lines), fields))


def good(**other: Line) -> list[Line]:
    return [other.get(key) or line(key, tone) for key, tone in GOOD.items()]


@given(st.floats(0, 0.3), st.integers(30, 400), st.sampled_from((0.02, 0.1)))
def test_so_many_counted_decisions_settle_a_share_and_hardly_fewer_do(rate: float, judged: int, mark: float) -> None:
    hits = round(rate * judged)
    values = np.repeat([1.0, 0.0], [hits, judged - hits])
    found = summarise(values, 0, "fraction")
    if not found.low < mark < found.high:
        return
    needed = clear_of([mark], found, counted=True).judged
    if needed is None:
        assert abs(found.value - mark) < (found.high - found.low) / 10
        return
    share = hits / judged

    def crosses(size: int) -> bool:
        # Wilson's interval, from its definition: the shares that a score test does not reject.
        return abs(share - mark) < 1.959964 * math.sqrt(mark * (1 - mark) / size)

    assert not crosses(needed + 1)
    assert needed == FEWEST or crosses(needed - 2)


def test_four_times_as_many_halve_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(0).normal(0.7, 0.4, 200)
    found = summarise(values, 0)
    mark = found.value + (found.high - found.value) / 2
    needed = clear_of([mark], found).judged
    assert needed == pytest.approx(800, abs=2)
    larger = summarise(np.tile(values, 4), 0)
    assert larger.high == pytest.approx(mark, abs=0.003)


@pytest.mark.parametrize("key", THRESHOLDS)
def test_only_what_is_not_settled_has_a_number(key: str) -> None:
    band = THRESHOLDS[key]
    middle = (band.against + band.supports) / 2
    reach = abs(band.against - band.supports)
    settled = Estimate(middle, middle - reach / 4, middle + reach / 4, 0, 100, 0, "")
    assert tone_of(key, settled) == "mixed"
    assert settling_of(key, settled) is None
    wide = replace(settled, low=middle - reach, high=middle + reach)
    found = settling_of(key, wide)
    assert found is not None
    assert found.threshold in (band.against, band.supports)
    assert settling_of(key, replace(wide, low=math.nan, high=math.nan)) is None
    assert settling_of(key, replace(wide, low=math.nan, high=math.nan, judged=3)) == Settling(None, FEWEST, 3)
    assert said({}, key, "unsettled", replace(wide, low=math.nan)) == "These texts give no interval."
    at_the_mark = replace(wide, value=band.supports)
    assert settling_of(key, at_the_mark) == Settling(band.supports, None, at_the_mark.judged)


def test_chance_moves_the_marks() -> None:
    found = Estimate(0.3, 0.15, 0.5, 0, 100, 0, "")
    settling = settling_of("precision", found, chance=0.25)
    assert settling is not None
    assert settling.threshold in (pytest.approx(0.25), pytest.approx(0.4))


def test_the_words_say_threshold_and_numbers() -> None:
    assert settled_by(Settling(0.75, 1234, 240)) == (
        "The interval crosses 0.75: about 1,200 texts in place of 240 would settle it."
    )
    assert settled_by(Settling(0.4, None, 240)).endswith(f"more than {MOST} times as many texts.")
    assert settled_by(Settling(None, FEWEST, 5)) == "5 texts are too few to say; about 30 texts are needed."
    assert (about(7), about(96), about(1251), about(98_765)) == ("7", "96", "1,300", "99,000")


def test_an_open_goal_says_what_would_settle_it() -> None:
    open_line = line("words", "unsettled", settling=Settling(0.75, 734, 240))
    told = steps(*good(words=open_line), corpus={"sizes": {"test": 900}}, split="test", limit=240)
    assert told[0] == "Is it words? The interval crosses 0.75: about 730 texts in place of 240 would settle it."
    assert told[1] == "There are 900 texts to examine: --limit 0 takes all."


def test_a_sample_is_named_where_it_left_texts_out() -> None:
    open_line = line("words", "unsettled", settling=Settling(0.75, 734, 240))
    sampled = replace(open_line, estimate=replace(open_line.estimate, not_judged=40))
    told = steps(*good(words=sampled))
    assert "--challenge 'importance(texts=0)' judges every text that is examined, not a sample." in told


def test_what_keeps_no_goal_open_is_not_asked_for() -> None:
    open_line = line("permutation", "unsettled", settling=Settling(0.15, 734, 240))
    assert not any("would settle" in step for step in steps(*good(permutation=open_line)))


def test_where_attention_fails_the_best_explainer_is_named_with_its_number() -> None:
    best = Rival("lrp", Estimate(0.9, 0.88, 0.92, 0, 100, 0, ""), Estimate(0.5, 0.4, 0.6, 0, 100, 0, ""), ahead=True)
    compared = line("saliency", "against", rival=best)
    told = steps(*good(words=line("words", "against")), compared)
    assert told[:1] == [
        "Show lrp instead: it did best here, 0.900 [0.880, 0.920] of the most that erasing does; attention 0.500 "
        "[0.400, 0.600]."
    ]
    beside = steps(*good(words=line("words", "mixed")), replace(compared, tone="mixed"))
    assert beside[0].startswith("Show lrp beside it")
    assert steps(*good(words=line("words", "against")), replace(compared, rival=None))[:1] == [
        "No explainer was found to beat a random order here: show none."
    ]


def test_a_model_with_nothing_to_explain_is_to_be_replaced_first() -> None:
    accuracy = line("accuracy", "unsettled", settling=Settling(0.9, 2000, 240))
    told = steps(accuracy, *good(words=line("words", "against")))
    assert "about 2,000 texts in place of 240" in told[0]
    assert told[1].startswith("Give a model that predicts better")
    assert len(told) == 2


def test_a_yes_says_where_to_look() -> None:
    assert "attentest explain" in steps(*good())[0]


def test_a_thorough_audit_is_offered_where_it_could_change_the_answer() -> None:
    assert "--thorough" in steps(*good())[-1]
    assert not any("--thorough" in step for step in steps(*good(), challenges=["importance", "adversarial_training"]))
    assert not any("--thorough" in step for step in steps(*good(one=line("one", "against"))))


def test_too_few_in_one_way_are_counted_in_that_way() -> None:
    """Deleted words decide; too few texts could be judged with the unknown word in their place."""
    rows = [
        {"id": str(text), "predicted": 0, "explainer": "attention", "erasure": way}
        | ({"one": value, "not_judged": None} if text < judged else {"one": None, "not_judged": "nothing holds it"})
        for way, value, judged in (("delete", 0.0, 40), ("mask", 0.1, 13))
        for text in range(40)
    ]
    measures = tuple(
        Measure(f"attention.one.{way}", "one", "mean", "", {"explainer": "attention", "erasure": way})
        for way in ("delete", "mask")
    )
    line = one_line(Findings("importance", measures, pa.Table.from_pylist(rows)))
    assert line is not None
    assert line.tone == "unsettled"
    assert line.reading == "13 texts are too few to say; about 30 texts are needed."
    assert line.settling == Settling(None, FEWEST, 13)
