"""What was measured and decides no line is shown all the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.papers.made_up_cells import write
from tests.papers.made_up_layers import MULTI30K, layered_cell
from tests.report.made_up_verdict import made_up_verdict
from tests.report.rendered import render

from attentest.challenges import CHALLENGES, PRESENTATIONS
from attentest.challenges.heads.examine import Heads
from attentest.challenges.instances.examine import Instances
from attentest.challenges.joint_adversary.examine import JointAdversary
from attentest.challenges.knockout.examine import Knockout
from attentest.presentation.line import Measured
from attentest.presentation.text import value_of
from attentest.report.pages.run import page
from attentest.report.tables.verdict import ALSO, also_rows, also_table, verdict_summary
from attentest.report.verdict.judge import judge
from attentest.report.verdict.records import record_of
from attentest.report.verdict.unweighed import also_measured
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate

TEXTS = 40


def base(count: int = TEXTS) -> dict[str, Any]:
    return {"id": [f"t{i:03d}" for i in range(count)], "predicted": pa.array([i % 2 for i in range(count)], pa.int32())}


def instances(folder: RunFolder) -> None:
    about = {"label": [i % 2 for i in range(TEXTS)], "correct": [True] * TEXTS, "max_attention": [0.5] * TEXTS}
    about |= {"tokens": [["a", "b"]] * TEXTS, "attention": [[0.5, 0.5]] * TEXTS, "not_judged": [None] * TEXTS}
    about |= {"probabilities": [[0.5, 0.5]] * TEXTS}
    write(folder, "instances", "instances", Instances().measures[:2], pa.table(base() | about))


def heads(turned: Iterable[int]) -> pa.Table:
    """Two layers of two heads, and how many decisions each turns."""
    parts = []
    for (layer, head), count in zip(((1, 1), (1, 2), (2, 1), (2, 2)), turned, strict=True):
        about = {"attention": ["self"] * TEXTS, "layer": [layer] * TEXTS, "head": [head] * TEXTS}
        numbers = {name: [0.25] * TEXTS for name in ("change", "on_no_word", "on_other_text")}
        rows = base() | about | numbers | {"flipped": [i < count for i in range(TEXTS)]}
        parts.append(pa.table(rows | {"not_judged": pa.nulls(TEXTS, pa.string())}))
    return pa.concat_tables(parts)


@pytest.fixture
def asked(tmp_path: Path) -> RunFolder:
    """A run that was asked for layers, heads and knockout, and nothing that decides."""
    folder = layered_cell(tmp_path).folder
    instances(folder)
    write(folder, "heads", "heads", Heads().measures[:4], heads((0, 10, 2, 10)))
    none = {measure.column: pa.nulls(TEXTS, pa.float64()) for measure in Knockout().measures}
    write(
        folder, "knockout", "knockout", Knockout().measures, pa.table(base() | none | {"not_judged": ["odd"] * TEXTS})
    )
    record = folder.record
    record["fields"]["challenges"] = ["layers", "heads", "knockout"]
    folder._write(record)
    return folder


def test_every_headline_is_a_measure_of_its_challenge(tmp_path: Path) -> None:
    for challenge in (Heads(), Knockout(), JointAdversary()):
        assert {*PRESENTATIONS[challenge.name].headline} <= {measure.name for measure in challenge.measures}
    found = also_measured(layered_cell(tmp_path, corpus=MULTI30K).folder, ())
    rows = [(one.challenge, one.words, one.judged, one.texts) for one in found]
    assert ("layers", "cross: share of correct predictions, attention of every layer replaced", 800, 800) in rows
    assert ("layers", "decoder: share of correct predictions, own attention", 600, 800) in rows
    assert ("layers_bleu", "BLEU, its own weights", 200, 200) in rows
    assert ("layers_bleu", "encoder: change of BLEU, attention of every layer replaced", 200, 200) in rows


def test_a_run_that_asked_nothing_that_decides_says_so_and_shows_what_it_measured(asked: RunFolder) -> None:
    verdict = judge(asked)
    assert verdict.headline.startswith("No challenge was run that decides")
    assert "--challenge" in verdict.headline
    text = " ".join(render(verdict_summary(verdict), width=160).split())
    assert ALSO in text
    assert "share of correct predictions, own attention 80.0 % [" in text
    assert "share of correct predictions, attention of every layer replaced 50.0 % [" in text
    assert "largest share that one head flips (layer 1 head 2 of 4 heads) 25.0 % [14.2, 40.2] 40" in text
    assert "share of a head's attention on special tokens (sinks) 25.0 % [25.0, 25.0] 40" in text
    assert "flip without the top word (not judged: odd) not judged 0 of 40" in text
    assert record_of(asked, verdict)["verdict"]["also"][0]["words"] == "share of correct predictions, own attention"


@pytest.mark.slow
def test_the_page_shows_it_before_the_figures(small_run: RunFolder, asked: RunFolder) -> None:
    html = page(small_run, replace(made_up_verdict(), also=judge(asked).also))
    assert html.index(ALSO) < html.index("The figures")
    assert "share of correct predictions, attention of every layer replaced" in html
    assert ALSO not in page(small_run, made_up_verdict())


def test_a_run_that_was_asked_part_of_it_says_what_is_missing(asked: RunFolder) -> None:
    record = asked.record
    record["fields"]["challenges"] = ["uniform", "layers"]
    asked._write(record)
    assert "name importance too" in judge(asked).headline
    record["fields"]["challenges"] = ["uniform", "importance(texts=3)"]
    asked._write(record)
    assert judge(asked).headline == "There is too little to say what this attention may be used for."


@pytest.mark.slow
def test_what_has_a_line_or_a_table_is_not_said_twice(run: RunFolder) -> None:
    shown = {one.challenge.partition("(")[0] for one in also_measured(run, {"adversary", "uniform"})}
    assert not shown & {"instances", "adversary", "uniform", "certificates", "randomisation"}
    assert {"permutation", "layers", "faithfulness"} <= shown


def test_nothing_beside_the_verdict_gives_no_table() -> None:
    assert also_table(()) is None


def test_strangers_words_stay_text() -> None:
    found = Measured("[red]x", "a\x1b[31m <b>", Estimate(0.5, 0.4, 0.6, 0.1, 9, 0, ""), "mean", 9, 10)
    text = render(also_table((found,)))
    assert "[red]x" in text
    assert "\x1b" not in text
    assert also_rows((found,))[0]["texts"] == "9 of 10"


@pytest.mark.parametrize("name", CHALLENGES)
def test_a_mean_of_shares_is_written_as_a_counted_share_is_and_its_words_say_so(name: str) -> None:
    half = Estimate(0.5, 0.4, 0.6, 0.1, 9, 0, "")
    assert value_of(half, "share") == value_of(half, "fraction") == "50.0 %"
    for measure in CHALLENGES.parse(name).measures:
        share = re.match(r"(?:[^:]+: )*(?:the same )?share\b", measure.words) is not None
        assert (measure.statistic == "share") == (share and measure.statistic not in ("fraction", "ratio")), measure
