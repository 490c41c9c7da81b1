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
from tests.runs.test_run import small

from attentest.challenges.adversary.examine import Adversary
from attentest.challenges.adversary.presentation import adversary_line
from attentest.explainers.perturbation.state_erasure import erasure_effect
from attentest.measures.capture import captured
from attentest.models.subject import AffineReading
from attentest.presentation.line import Line
from attentest.presentation.thresholds import FEWEST, THRESHOLDS, percent, tone_of
from attentest.report.verdict.argument import ARGUMENT
from attentest.report.verdict.judge import judge, words_that_mattered
from attentest.report.verdict.weighing import weigh
from attentest.runs.execute import execute
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small real run with every challenge."""
    return execute(small(), tmp_path_factory.mktemp("runs"))


def test_every_line_of_a_run_has_its_part_and_its_thresholds(finished):
    lines = judge(finished).lines
    assert len(lines) > 8
    for line in lines:
        assert line.key in {part.key for part in ARGUMENT}, "give it a Part in report/verdict/argument.py"
        assert not line.scale or line.scale in THRESHOLDS, "give it a Band in presentation/thresholds.py"


def line(key: str, tone: str) -> Line:
    return Line(key, "?", "", "", tone, Estimate(0.5, 0.4, 0.6, 0.1, 10, 0, ""), "states")


def lines(**tones: str) -> tuple[Line, ...]:
    return tuple(line(key, tone) for key, tone in tones.items())


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


def test_dependence_needs_only_one_of_its_two_lines_to_speak_for_it():
    assert weigh(lines(uniform="supports", permutation="unsettled")).depends == "supports"
    assert weigh(lines(uniform="supports", permutation="mixed")).depends == "supports"
    assert weigh(lines(uniform="supports", permutation="against")).depends == "mixed"
    assert weigh(lines(uniform="mixed", permutation="against")).depends == "mixed"
    assert weigh(lines(uniform="against", permutation="against")).depends == "against"
    assert weigh(lines(uniform="unsettled", permutation="against")).depends == "unsettled"
    assert weigh(lines(uniform="against")).depends == "against"
    assert weigh(()).depends == "unknown"


def test_other_views_of_the_tokens_lower_the_answer_and_never_raise_it():
    assert weigh(lines(stands="supports", deletion="supports", gradient="supports")).agrees == "supports"
    assert weigh(lines(stands="supports", deletion="against")).agrees == "mixed"
    assert weigh(lines(stands="supports", deletion="against", gradient="against")).agrees == "against"
    assert weigh(lines(stands="mixed", deletion="against", gradient="against")).agrees == "against"
    assert weigh(lines(stands="mixed", deletion="supports", gradient="supports")).stands == "mixed"
    assert weigh(lines(stands="against", deletion="supports")).stands == "against"


def test_plausibility_to_people_is_never_weighed():
    assert weigh(lines(stands="supports", rationale="context")).agrees == "unknown"


TONES = ("supports", "mixed", "against", "unsettled", None)


@pytest.mark.parametrize("tones", list(itertools.product(TONES, repeat=3)))
def test_the_answer_is_no_better_than_the_worst_of_what_it_rests_on(tones):
    keys = ("uniform", "states", "stands")
    goal = words_that_mattered(weigh(lines(**{k: t for k, t in zip(keys, tones, strict=True) if t})))
    if "against" in tones:
        assert goal.answer == "no"
    elif None in tones or "unsettled" in tones:
        assert goal.answer == "cannot say"
    elif "mixed" in tones:
        assert goal.answer == "with care"
    else:
        assert goal.answer == "yes"


def test_only_what_beats_a_random_order_is_shown_in_place_of_attention():
    against = weigh(lines(uniform="against"))
    assert "Show nothing instead" in words_that_mattered(against).words
    assert words_that_mattered(against, ("gradient", "lrp")).words.endswith(
        "better than a random order: gradient, lrp."
    )


def test_a_verdict_names_three_readers_and_its_limits(finished):
    verdict = judge(finished)
    assert len({goal.reader for goal in verdict.goals}) == 3
    assert "builder" in verdict.closing
    assert "provisional" in verdict.limits[-1]


@pytest.mark.slow
def test_few_texts_never_give_advice(tmp_path):
    verdict = judge(execute(small(limit=5), tmp_path))
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
        "accuracy", "uniform", "permutation", "states", "adversary", "stands", "gradient", "deletion", "rationale"
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


NAMES = ("agreement", "adversary", "uniform")


@pytest.mark.parametrize("missing", [c for n in (1, 2, 3) for c in itertools.combinations(NAMES, n)])
def test_a_verdict_without_some_challenges_says_what_it_cannot_say(finished, tmp_path, missing):
    shutil.copytree(finished.path, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    record = run.record
    for name in missing:
        del record["finished"][f"findings/{run.named(name)}.parquet"]
    run._write(record)
    verdict = judge(run)
    if "agreement" in missing:
        assert verdict.goals[0].answer in ("cannot say", "no")
        assert any(words in verdict.headline for words in ("too little", "Do not", "nothing to explain"))
    if "adversary" in missing:
        assert verdict.goals[2].answer in ("cannot say", "no")


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
