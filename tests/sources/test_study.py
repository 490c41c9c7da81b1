"""Several models are asked the same questions by the engines of studies; stories become questions."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.chat import chat_model, chat_tokenizer
from typer.testing import CliRunner

from attentest.cli.main import app
from attentest.errors import AttentestError, InputError
from attentest.sources.auditing import audit_sources, load_language_model
from attentest.sources.planting.planted import planted_questions
from attentest.sources.planting.stories import story_questions
from attentest.sources.studying import study_sources
from attentest.studies.engine import Job
from attentest.studies.engines import InProcess

QUICK = ["--planted", "2", "--method", "attention", "--method", "shared_words", "--held-out", "0", "--longest", "4"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("models")
    for family in ("llama", "gpt2"):
        chat_model(family).save_pretrained(root / family)
        chat_tokenizer().save_pretrained(root / family)
    return [str(root / "llama"), str(root / "gpt2")]


class Silent:
    """A watch that shows nothing."""

    def started(self, job: Job, where: str) -> None:
        """Nothing."""

    def moved(self, job: Job, stage: str, done: int, total: int, figures: Mapping[str, float | str]) -> None:
        """Nothing."""

    def said(self, job: Job, line: str) -> None:
        """Nothing."""

    def ended(self, job: Job, error: str | None) -> None:
        """Nothing."""


def test_every_model_gets_what_it_gets_alone_and_one_that_fails_stops_no_other(
    models: list[str], tmp_path: Path
) -> None:
    asked = list(planted_questions(2))
    options: dict[str, Any] = {"methods": ["attention"], "held_out": 0, "alternatives": False, "longest": 4}
    missing = str(tmp_path / "nothing")
    done = study_sources([models[0], missing, models[1]], asked, InProcess(), Silent(), to=tmp_path / "to", **options)
    assert list(done.failed) == [missing]
    assert len(done.audits) == 2
    for found, model in zip(done.audits, models, strict=True):
        alone = audit_sources(load_language_model(model, device="cpu"), asked, to=tmp_path / "alone", **options)
        assert found.folder.name == alone.folder.name
        assert [r.whole for r in found.records] == pytest.approx([r.whole for r in alone.records], abs=1e-4)
        assert (found.folder / "report.html").is_file()
    with pytest.raises(InputError, match="stands twice"):
        study_sources([models[0]] * 2, asked, InProcess(), Silent(), to=tmp_path, **options)


def test_a_command_compares_models(models: list[str], tmp_path: Path) -> None:
    figures = tmp_path / "figures.csv"
    named = [part for model in models for part in ("--model", model)]
    options = ["sources", *named, *QUICK, "--device", "cpu", "--to", str(tmp_path / "to"), "--csv", str(figures)]
    ran = CliRunner().invoke(app, options, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    assert "of the largest fall" in ran.output
    assert "llama" in ran.output
    assert "gpt2" in ran.output
    with figures.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["model"], row["method"]) for row in rows} >= {("llama", "attention"), ("gpt2", "shared_words")}
    told = json.loads(CliRunner().invoke(app, [*options, "--json"], catch_exceptions=False).stdout)
    assert [Path(each["model"]).name for each in told["models"]] == ["llama", "gpt2"]
    bad = CliRunner().invoke(app, [*options, "--model", str(tmp_path / "none"), "--quiet"], catch_exceptions=False)
    assert bad.exit_code == 1


def test_other_questions_to_the_same_models_in_the_same_folder_are_told_apart(
    models: list[str], tmp_path: Path
) -> None:
    """Two commands at once: each reads its own audits, and takes away nothing of the other's."""
    options: dict[str, Any] = {"methods": ["attention"], "held_out": 0, "alternatives": False, "longest": 4}
    first, other = list(planted_questions(1)), list(planted_questions(1, seed=1))

    class Beside(Silent):
        def ended(self, job: Job, error: str | None) -> None:
            """As this command's last model ends, another command begins and ends."""
            assert error is None
            if job.label == models[-1]:
                study_sources(models, other, InProcess(), Silent(), to=tmp_path, **options)

    done = study_sources(models, first, InProcess(), Beside(), to=tmp_path, **options)
    assert [found.records[0].id for found in done.audits] == [first[0].id] * 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--device-map", "\x1b[3m"], "device_map"),
        (["--dtype", "int8"], "must be one of float32"),
        (["--method", "nothing"], "nothing"),
        (["--device", "nothing"], "is not a device"),
    ],
)
def test_what_no_model_could_be_asked_with_is_refused_before_any_is_loaded(
    tmp_path: Path, options: list[str], said: str
) -> None:
    asked = ["sources", "--model", "none", "--model", "neither", "--planted", "2", "--to", str(tmp_path / "to")]
    with pytest.raises(AttentestError, match=said):
        CliRunner().invoke(app, [*asked, *options], catch_exceptions=False)
    assert not (tmp_path / "to").exists()


def test_a_limit_beyond_any_corpus_is_all_of_it_and_questions_have_a_bound() -> None:
    assert len(list(story_questions("stories-1(test=3)", limit=10**30))) == 3
    ran = CliRunner().invoke(app, ["sources", "--model", "none", "--planted", str(10**12)])
    assert ran.exit_code != 0
    assert "1000000" in str(ran.exception) + ran.output


@pytest.mark.slow
def test_workers_find_the_same(models: list[str], tmp_path: Path) -> None:
    from attentest.studies.engines import Processes

    asked = list(planted_questions(2))
    options: dict[str, Any] = {"methods": ["attention"], "held_out": 0, "alternatives": False, "longest": 4}
    one = study_sources(models, asked, InProcess(), Silent(), to=tmp_path / "one", **options)
    two = study_sources(models, asked, Processes(2), Silent(), to=tmp_path / "two", **options)
    assert not two.failed
    for mine, theirs in zip(one.audits, two.audits, strict=True):
        assert [r.without for r in mine.records] == [r.without for r in theirs.records]


@pytest.mark.parametrize("corpus", ["stories-1", "stories-2", "stories-3"])
def test_stories_are_questions_over_their_sentences(corpus: str) -> None:
    for question in story_questions(corpus, limit=40):
        planted = question.planted
        assert planted is not None
        assert question.question.endswith("?")
        assert all(text.endswith(".") and text[0].isupper() and " ." not in text for text in question.sources)
        for place, twin in zip(planted.deciding, planted.twins, strict=True):
            assert planted.value in question.sources[place]
            assert planted.other in twin
            assert planted.value not in twin
        assert planted.kind == corpus
    if corpus == "stories-1":
        first = next(story_questions(corpus, limit=1))
        assert first.planted is not None
        # By the story's own rule: the last sentence that says where the person went.
        who = first.question.split()[3]
        moves = [n for n, t in enumerate(first.sources) if t.lower().startswith(who) and first.planted.value in t]
        assert first.planted.deciding == (moves[-1],)


def test_stories_are_asked_from_the_terminal_and_other_corpora_are_refused(models: list[str], tmp_path: Path) -> None:
    options = ["sources", "--model", models[0], "--to", str(tmp_path), "--device", "cpu", *QUICK[2:], "--json"]
    ran = CliRunner().invoke(app, [*options, "--corpus", "stories-1", "--limit", "2"], catch_exceptions=False)
    told = json.loads(ran.stdout)
    assert told["answered"]["questions"] == 2
    assert told["answered"]["planted"] == 2
    for corpus, said in (("reviews", "no corpus of stories"), ("storis-1", "stories-1")):
        with pytest.raises(AttentestError, match=said):
            CliRunner().invoke(app, [*options, "--corpus", corpus], catch_exceptions=False)
