from __future__ import annotations

import itertools
import shutil

import pytest
from tests.studies.test_run import small

from attentest.report.judge import judge, weigh
from attentest.report.lines import percent
from attentest.report.thresholds import THRESHOLDS, band_of
from attentest.report.verdict import Line
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate
from attentest.studies.run import execute


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small real run with every challenge."""
    return execute(small(), tmp_path_factory.mktemp("runs"))


def line(key: str, tone: str) -> Line:
    return Line(key, "?", "", "", tone, Estimate(0.5, 0.4, 0.6, 0.1, 10, 0, ""), "states")


def lines(**tones: str) -> tuple[Line, ...]:
    return tuple(line(key, tone) for key, tone in tones.items())


@pytest.mark.parametrize("key", THRESHOLDS)
def test_an_interval_must_lie_wholly_beyond_a_threshold_to_speak(key):
    band = THRESHOLDS[key]
    low, high = sorted((band.against, band.supports))
    middle = (low + high) / 2
    assert band_of(key, middle, middle) == "mixed"
    assert band_of(key, low - 1, high + 1) == "mixed"
    outer = {band_of(key, low - 1, low - 0.5), band_of(key, high + 0.5, high + 1)}
    assert outer == {"supports", "against"}
    assert band.why


def test_dependence_needs_only_one_of_its_two_lines_to_speak_for_it():
    assert weigh(lines(uniform="supports", permutation="against")).depends == "supports"
    assert weigh(lines(uniform="mixed", permutation="against")).depends == "mixed"
    assert weigh(lines(uniform="against", permutation="against")).depends == "against"
    assert weigh(lines(uniform="against")).depends == "against"
    assert weigh(()).depends == "unknown"


def test_what_stands_for_a_token_is_lowered_by_what_lies_beside_it_and_never_raised():
    assert weigh(lines(stands="supports", deletion="supports", gradient="supports")).stands == "supports"
    assert weigh(lines(stands="supports", deletion="against")).stands == "mixed"
    assert weigh(lines(stands="mixed", deletion="against", gradient="against")).stands == "against"
    assert weigh(lines(stands="mixed", deletion="supports", gradient="supports")).stands == "mixed"
    assert weigh(lines(stands="against", deletion="supports")).stands == "against"


def test_plausibility_to_people_is_never_weighed():
    assert weigh(lines(stands="supports", rationale="context")).stands == "supports"


def test_the_answers_follow_from_what_was_weighed(finished):
    verdict = judge(finished)
    weighed = weigh(verdict.lines)
    reason = verdict.goals[0].answer
    said = {weighed.depends, weighed.ranks, weighed.stands}
    if "against" in said:
        assert reason == "no"
    elif said == {"supports"}:
        assert reason == "yes"
    else:
        assert reason == "with care"
    assert len({goal.reader for goal in verdict.goals}) == 3
    assert "builder" in verdict.closing
    assert "provisional" in verdict.limits[-1]


def test_every_line_has_an_interval_a_count_and_plain_words(finished):
    verdict = judge(finished)
    keys = [line.key for line in verdict.lines]
    assert keys == [
        "accuracy", "uniform", "permutation", "states", "adversary", "stands", "gradient", "deletion", "rationale"
    ]  # fmt: skip
    for found in verdict.lines:
        assert found.estimate.judged > 0
        assert found.estimate.low <= found.estimate.value <= found.estimate.high
        assert found.reading.endswith(".")


NAMES = ("agreement", "adversary", "uniform")


@pytest.mark.parametrize("missing", [c for n in (1, 2, 3) for c in itertools.combinations(NAMES, n)])
def test_a_verdict_without_some_challenges_says_what_it_cannot_say(finished, tmp_path, missing):
    shutil.copytree(finished.path, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    for name in missing:
        file = run.named(name)
        run.forget(f"findings/{file}.parquet")
    verdict = judge(run)
    if "agreement" in missing:
        assert verdict.goals[0].answer == "cannot say"
        assert "Too few" in verdict.headline
    if "adversary" in missing:
        assert verdict.goals[2].answer == "cannot say"


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0 %"), (0.001, "under 1 %"), (0.5, "50 %"), (0.996, "over 99 %"), (1, "100 %")],
)
def test_percentages_do_not_round_something_to_nothing_or_nearly_all_to_all(share, said):
    assert percent(share).replace("\u00a0", " ") == said
