from __future__ import annotations

import itertools
import math
import re
import shutil
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.runs.test_run import QUICK, small

from attentest.challenges import CHALLENGES
from attentest.challenges.adversary.examine import Adversary
from attentest.challenges.adversary.presentation import adversary_line
from attentest.explainers.perturbation.state_erasure import erasure_effect
from attentest.measures.capture import captured
from attentest.models.subject import AffineReading
from attentest.presentation.line import Line
from attentest.presentation.thresholds import FEWEST, THRESHOLDS, percent, tone_of
from attentest.report.verdict.argument import ARGUMENT
from attentest.report.verdict.judge import judge
from attentest.runs.execute import execute
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small real run with every challenge."""
    return execute(small(challenges=(CHALLENGES.parse("importance"), *QUICK)), tmp_path_factory.mktemp("runs"))


def test_every_line_of_a_run_has_its_part_and_its_thresholds(finished):
    lines = judge(finished).lines
    assert len(lines) > 8
    for line in lines:
        assert line.key in {part.key for part in ARGUMENT}, "give it a Part in report/verdict/argument.py"
        assert not line.scale or line.scale in THRESHOLDS, "give it a Band in presentation/thresholds.py"


def found(low: float, high: float, judged: int = 100) -> Estimate:
    return Estimate((low + high) / 2, low, high, 0.1, judged, 0, "")


@pytest.mark.parametrize("key", THRESHOLDS)
def test_a_tone_needs_the_whole_interval_and_enough_texts(key):
    band = THRESHOLDS[key]
    low, high = sorted((band.against, band.supports))
    gap = (high - low) / 4
    assert tone_of(key, found(low + gap, high - gap)) == "mixed"
    assert tone_of(key, found(low - 1, high + 1)) == "unsettled"
    assert tone_of(key, found(low - gap, low + gap)) == "unsettled"
    assert tone_of(key, found(high - gap, high + gap)) == "unsettled"
    outer = [tone_of(key, found(*interval)) for interval in ((low - 1, low - 0.5), (high + 0.5, high + 1))]
    assert outer == (["against", "supports"] if band.supports > band.against else ["supports", "against"])
    assert tone_of(key, found(low - 1, low - 0.5, judged=FEWEST - 1)) == "unsettled"
    assert tone_of(key, Estimate(0.9, math.nan, math.nan, 0, 100, 0, "")) == "unsettled"
    assert band.why


def test_a_verdict_names_three_readers_and_its_limits(finished):
    verdict = judge(finished)
    assert len({goal.reader for goal in verdict.goals}) == 3
    assert "builder" in verdict.closing
    assert "this seed" in verdict.limits[-1]


@pytest.mark.slow
def test_few_texts_never_give_advice(tmp_path):
    verdict = judge(execute(small(limit=5, challenges=(CHALLENGES.parse("importance"), *QUICK)), tmp_path))
    assert {line.tone for line in verdict.lines} <= {"unsettled", "context"}
    assert verdict.goals[0].answer == verdict.goals[1].answer == "cannot say"


def test_peaked_random_weights_rank_their_own_erasure_effects_but_not_what_states_say():
    generator = torch.Generator().manual_seed(0)
    mask = torch.ones(400, 12, dtype=torch.bool)
    z = torch.randn(400, 12, 2, generator=generator).double()
    weights = (6 * torch.randn(400, 12, generator=generator).double()).softmax(-1)
    reading = AffineReading((weights[:, None] @ z)[:, 0], weights, mask, z, z, z)
    even = mask.double() / 12
    evidence, erasure = erasure_effect(reading, even, mask), erasure_effect(reading, weights, mask)
    assert float(captured(weights, erasure, mask, 3).nanmean()) > 0.8  # the weight is a factor of the effect
    assert abs(float(captured(weights, evidence, mask, 3).nanmean())) < 0.06


@pytest.mark.parametrize(("proved", "tone"), [(True, "supports"), (False, "unsettled")])
def test_a_search_that_finds_little_is_no_proof_that_there_is_little(proved, tone):
    count = 50
    columns = {measure.column: [0.1 + 0.001 * i for i in range(count)] for measure in Adversary().measures}
    columns |= {measure.column: [True] * count for measure in Adversary().measures if measure.statistic == "fraction"}
    columns |= {"not_judged": [None] * count}
    columns |= {} if proved else {"upper": [None] * count, "ratio_upper": [None] * count}
    columns |= {"adversarial_probabilities": [[0.5, 0.5]] * count, "predicted": [0] * count}
    line = adversary_line(Findings("adversary", Adversary().measures, pa.table(columns), {"epsilon": 0.01}))
    assert line.tone == tone
    assert ("proves nothing" in line.reading) == (not proved)


def test_every_line_has_an_interval_a_count_and_plain_words(finished):
    verdict = judge(finished)
    keys = [line.key for line in verdict.lines]
    assert keys == [
        "accuracy", "words", "states", "one", "uniform", "permutation", "erased", "adversary", "stands", "gradient",
        "deletion", "rationale"
    ]  # fmt: skip
    for found in verdict.lines:
        assert found.estimate.judged > 0
        assert found.estimate.low <= found.estimate.value <= found.estimate.high
        assert found.reading.endswith(".")
        assert 1 <= len(found.short.split()) <= 5
        assert found.short.endswith(("?", ")"))


def test_attention_over_sentences_is_spoken_of_as_such(finished, tmp_path):
    shutil.copytree(finished.path, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    record, told = run.record, {}
    for site in ("", "word"):
        record["fields"]["model"]["structure"], record["fields"]["site"] = "hierarchical", site
        run._write(record)
        verdict = judge(run)
        lines = [text for line in verdict.lines for text in (line.question, line.short, line.result, line.reading)]
        told[site] = " ".join(
            [verdict.headline, *lines, *(f"{g.goal} {g.short} {g.words}" for g in verdict.goals), verdict.closing]
        )
    assert not re.search(r"\b(words?|tokens?)\b", told[""])
    assert "which input sentences mattered" in told[""]
    assert "which input words mattered" in told["word"]


NAMES = ("importance", "agreement", "adversary")


@pytest.mark.parametrize("missing", [c for n in (1, 2, 3) for c in itertools.combinations(NAMES, n)])
def test_a_verdict_without_some_challenges_says_what_it_cannot_say(finished, tmp_path, missing):
    shutil.copytree(finished.path, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    record = run.record
    for name in missing:
        del record["finished"][f"findings/{run.named(name)}.parquet"]
    run._write(record)
    verdict = judge(run)
    if "importance" in missing:
        assert {goal.answer for goal in verdict.goals} == {"cannot say"}
        assert any(words in verdict.headline for words in ("too little", "nothing to explain"))
    else:
        assert [goal.answer for goal in verdict.goals] == [goal.answer for goal in judge(finished).goals]


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0 %"), (0.001, "under 1 %"), (0.5, "50 %"), (0.996, "over 99 %"), (1, "100 %")],
)
def test_percentages_do_not_round_something_to_nothing_or_nearly_all_to_all(share, said):
    assert percent(share).replace("\u00a0", " ") == said


def bracketed(lower: float, upper: float) -> Line:
    """The adversary's line where the bounds of a hundred texts do not meet."""
    columns: dict[str, Any] = {measure.column: np.full(100, 0.1) for measure in Adversary().measures}
    columns |= {"lower": np.full(100, lower), "upper": np.full(100, upper), "unconstrained": np.full(100, 0.6)}
    columns |= {"ratio": columns["lower"] / 0.6, "ratio_upper": columns["upper"] / 0.6}
    columns |= {"certified": np.full(100, upper - lower < 0.01), "top_changed": np.zeros(100, bool)}
    return adversary_line(Findings("adversary", Adversary().measures, pa.table(columns), {"epsilon": 0.01}))


def test_a_lower_bound_alone_speaks_for_nobody() -> None:
    """Of a thousand classes hardly any bounds meet: little was found, and much is not ruled out."""
    line = bracketed(0.05, 0.55)
    assert line.tone == "unsettled"
    assert "but none is ruled out" in line.reading
    assert "proved, to within .01, for no text: only bounds are known" in line.reading
    assert "between 0.083 and 0.917" in line.reading


def test_bounds_that_hold_attention_in_place_speak_for_it_though_they_do_not_meet() -> None:
    line = bracketed(0.05, 0.12)
    assert line.tone == "supports"
    assert "for no text: only bounds are known" in line.reading
    assert bracketed(0.05, 0.055).tone == "supports"
    assert "proved, to within .01, for every text." in bracketed(0.05, 0.055).reading
