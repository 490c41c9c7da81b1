from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.report.made_up import write_run
from tests.report.pages.test_figures import drawn
from typer.testing import CliRunner

from attentest.challenges.token_predictions.curves import Curve, Text, curves_chart
from attentest.cli.main import app
from attentest.errors import AttentestError, InputError
from attentest.presentation.charts import svg
from attentest.report.overlay import overlay
from attentest.store.folder import RunFolder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, one of other texts, and one that was not asked."""
    root = tmp_path_factory.mktemp("runs")
    write_run(root / "first", 40)
    write_run(root / "other", 40, seed=1)
    write_run(root / "unasked", 40, without=["token_predictions"])
    return root


def test_a_line_is_what_each_token_of_the_text_predicts_and_its_own_prediction_is_beside_it(runs: Path) -> None:
    folder = RunFolder(runs / "first")
    chart = overlay({"base": folder, "same": folder}, "test-00017", "positive")
    text = next(row for row in folder.findings("instances").table.to_pylist() if row["id"] == "test-00017")
    logits = np.asarray(text["token_logits"])
    expected = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
    sets = drawn(chart)
    points = next(rows for rows in sets if rows and set(rows[0]) == {"x", "y", "model"})
    assert [row["y"] for row in points if row["model"] == "base"] == pytest.approx(expected.tolist())
    assert {row["model"] for row in points} == {"base", "same"}
    own = next(rows for rows in sets if rows and set(rows[0]) == {"y", "model"})
    assert [row["y"] for row in own] == pytest.approx([text["probabilities"][1]] * 2)
    words = next(rows for rows in sets if rows and set(rows[0]) == {"x", "word"})
    assert [row["word"] for row in words] == text["tokens"]


def test_without_a_text_and_a_class_the_first_text_and_its_predicted_class_are_drawn(runs: Path) -> None:
    spec = overlay({"base": RunFolder(runs / "first")}).to_dict()
    assert spec["title"]["text"].startswith("test-00007: ")


def test_what_cannot_be_drawn_is_refused_in_one_line(runs: Path) -> None:
    first, other, unasked = (RunFolder(runs / name) for name in ("first", "other", "unasked"))
    for named, text, choice, why in (
        ({}, "", "", "No run is named"),
        ({"a": first}, "test-00001", "", "'test-00001' is not kept by all of a. Give one of test-00007"),
        ({"a": first, "b": other}, "test-00007", "", "is not cut into the same words"),
        ({"a": unasked}, "", "", "Run 'a' was not asked token_predictions"),
        ({"a": first}, "", "neutral", "neutral"),
    ):
        with pytest.raises(AttentestError, match=why) as caught:
            overlay(named, text, choice)
        assert "\n" not in str(caught.value)


def test_hostile_words_stay_text_and_long_texts_have_no_words() -> None:
    curve = Curve("<script>", [0.2, 0.9], 0.7)
    text = svg(
        curves_chart([Text(["<script>alert(1)</script>", "\u202e"], "</svg>", [curve, curve._replace(name="b")])])
    )
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "<script" not in text
    long = curves_chart([Text(["word"] * 500, "long", [Curve("", [0.5] * 500, 0.5)])])
    assert not any(rows and "word" in rows[0] for rows in drawn(long))


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_command_writes_a_figure(runs: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / f"words.{kind}"
    done = CliRunner().invoke(app, ["tokens", "base=first", "first", "--to", str(target), "--runs", str(runs)])
    assert done.exit_code == 0, done.output
    assert target.read_bytes()[:4] in (b"<svg", b"\x89PNG")


def test_the_command_refuses_other_kinds_of_file_and_names_given_twice(runs: Path, tmp_path: Path) -> None:
    for words, why in (
        (["first", "--to", "x.pdf"], "must end in .svg"),
        (["a=first", "a=other", "--to", "x.svg"], "name"),
    ):
        with pytest.raises(InputError, match=why):
            CliRunner().invoke(app, ["tokens", *words, "--runs", str(runs)], catch_exceptions=False)
