"""A budget of time is turned into a number of texts once, and from then on it is that number."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.conftest import Heard
from tests.runs.test_run import bytes_of, small

from attentest.auditing import describe_audit
from attentest.challenges import CHALLENGES
from attentest.challenges.companions import Companion
from attentest.errors import InputError
from attentest.report.pages.run import page
from attentest.report.verdict.judge import judge
from attentest.runs import execute as executing
from attentest.runs.examination.budget import TRIED, affordable
from attentest.runs.examination.pace import Pace
from attentest.runs.execute import execute

ASKED = tuple(CHALLENGES.parse(text) for text in ("permutation(draws=5)", "uniform"))


def test_as_many_texts_fit_as_their_costs_say_with_some_time_kept_for_the_report():
    assert affordable(np.full(100, 1.0), 60.0) == 33
    assert affordable(np.arange(100.0), 720.0) == 34
    assert affordable(np.full(100, 0.001), 60.0) == 100
    assert affordable(np.full(100, 1.0), -5.0) == 0


@pytest.fixture
def of_400_seconds(monkeypatch):
    """Every text is said to take four hundred seconds."""
    asked: list[int] = []

    def measured(examiner, **_):
        asked.append(len(examiner.encoded))
        return Pace(0.0, 0.0, 400.0, 0.0), 20.0

    monkeypatch.setattr(executing, "measured", measured)
    return asked


@pytest.mark.slow
def test_a_budget_examines_what_a_limit_of_as_many_texts_does_and_says_so(tmp_path, of_400_seconds):
    run, heard = small(challenges=ASKED, time=10_000.0), Heard()
    folder = execute(run, tmp_path / "time", began=time.monotonic(), progress=heard)
    assert of_400_seconds == [TRIED]
    assert folder.record["budget"] == {"seconds": 10_000.0, "texts": 19, "of": 30, "kept": True}
    assert bytes_of(folder) == bytes_of(execute(small(challenges=ASKED, limit=19), tmp_path / "limit"))
    assert any("19 of 30 texts are examined" in line and "2 h 47 min" in line for line in heard.lines)
    verdict = judge(folder)
    assert "19 of 30 texts were examined, drawn at random, to keep within 2 h 47 min (--time)." in verdict.limits
    shown = page(folder, verdict)
    assert "19 of 30 texts were examined" in shown[: shown.index("</header>")]


def test_the_number_is_measured_once_and_kept_when_the_run_resumes(tmp_path, of_400_seconds):
    run = small(challenges=ASKED, time=10_000.0)
    folder = execute(run, tmp_path, began=time.monotonic())
    before = bytes_of(folder)
    (folder.path / "findings" / "uniform.parquet").unlink()
    again = execute(run, tmp_path, began=time.monotonic() - 20_000)
    assert bytes_of(again) == before
    assert len(of_400_seconds) == 1


def test_what_training_took_is_no_longer_left(tmp_path, of_400_seconds):
    folder = execute(small(challenges=ASKED, time=10_000.0), tmp_path, began=time.monotonic() - 9_990)
    assert folder.record["budget"]["texts"] == TRIED
    assert not folder.record["budget"]["kept"]
    assert any("(--time) did not suffice" in limit for limit in judge(folder).limits)


def test_time_decides_the_run_but_not_the_models_beside_it():
    plain, timed = small(challenges=ASKED), small(challenges=ASKED, time=10_000.0)
    assert plain.id != timed.id
    assert plain.model_key == timed.model_key
    assert plain.companion(Companion(seed=1)).id == timed.companion(Companion(seed=1)).id
    assert "time" not in plain.fields


def test_a_few_texts_are_really_measured_and_all_that_fit_are_examined(tmp_path):
    folder = execute(small(challenges=ASKED, time=3600.0), tmp_path, began=time.monotonic())
    assert folder.record["budget"] == {"seconds": 3600.0, "texts": 30, "of": 30, "kept": True}
    assert folder.findings("uniform").table.num_rows == 30
    assert not any("(--time)" in limit for limit in judge(folder).limits)


def test_a_time_that_is_none_is_refused_before_anything_is_read():
    with pytest.raises(InputError, match="time='soon' is not a time"):
        describe_audit(data="there-is-no-such-file.csv", time="soon")
