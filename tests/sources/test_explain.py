"""attentest explain of an audit of sources: one answer, its sources shaded by every method, in print and as a page."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.test_cli import fails_in_one_line, run
from tests.explorer.sources.made_up_audit import METHODS, made_up_record, unfinished_audit, write_audit
from tests.support.chat import chat_model, chat_tokenizer

import attentest
from attentest.sources.judging.record import Record
from attentest.sources.showing.cited import Cited
from attentest.store.sources import CASES

__all__ = ["run"]


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    unfinished_audit(tmp_path / "sources")
    write_audit(tmp_path / "sources", "words0000000", 3, words=True)
    return write_audit(tmp_path / "sources", questions=12)


def test_an_answer_is_shown_with_its_sources_by_every_method(run, audit: Path) -> None:
    lines = (audit / CASES).read_text("utf-8").splitlines()
    record = Record.from_json(lines[3])
    code, out, err = run("explain", record.id, "--model", audit)
    assert code == 0, err
    for text in (record.question, record.answer, *record.sources, "hangs on its sources"):
        assert text in out
    for name in ("attention", "gradient × input", "leave-one-out", "shared words"):
        assert f"\n{name}  " in out
    drops = record.given["leave_one_out"].scores
    assert f"leave-one-out  {drops.index(max(drops)) + 1} 3" in out
    page = Path(next(line.split()[-1] for line in out.splitlines() if line.startswith("Page")))
    assert page.parent == audit / "explanations"
    assert page.read_text("utf-8").count('<ul class="shaded">') == len(METHODS)
    by_question = run("explain", record.question, "--model", audit.name[:6], "--json", "--methods", "leave_one_out")
    told = json.loads(by_question[1])
    assert told["scores"] == {"leave_one_out": drops}
    assert told["answer"] == record.answer


def test_hostile_text_stays_text_and_words_are_named(run, audit: Path) -> None:
    code, out, _ = run(
        "explain", Record.from_json((audit / CASES).read_text("utf-8").split("\n")[2]).id, "--model", audit
    )
    page = Path(next(line.split()[-1] for line in out.splitlines() if line.startswith("Page")))
    assert code == 0
    assert "<script" not in page.read_text("utf-8")
    assert "\u202e" not in out
    _, out, _ = run("explain", "1", "--model", "words")
    assert "Passage" in out.partition("leave-one-out")[2].splitlines()[0]


def test_sources_are_painted_where_there_are_colours() -> None:
    console = Console(force_terminal=True, color_system="truecolor", width=120, record=True, file=io.StringIO())
    console.print(Cited(made_up_record(1), "m"))
    painted = console.export_text(styles=True)
    assert painted.count("48;2;") > len(METHODS)
    assert "not judged: the model has no" in painted


def test_a_new_question_is_put_to_the_audits_model(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chat_model().save_pretrained(tmp_path / "chat")
    chat_tokenizer().save_pretrained(tmp_path / "chat")
    asked = attentest.Question("In which city?", ("Anna is in Oslo.", "Green."), "Oslo", id="q")
    options = {"methods": ["attention"], "held_out": 0, "prompt": "{query}: {context}", "to": "sources"}
    found = attentest.audit_sources(tmp_path / "chat", [asked], **options)
    given = (
        "--source",
        "Anna is in Oslo.",
        "--source",
        "Green.",
        "--answer",
        "Oslo",
        "--json",
        "--methods",
        "attention",
    )
    code, out, err = run("explain", "In which city?", "--model", found.folder, *given)
    assert code == 0, err
    told = json.loads(out)
    assert told["whole"] == pytest.approx(found.records[0].whole, abs=1e-4)
    assert told["scores"]["attention"] == pytest.approx(found.records[0].given["attention"].scores, abs=1e-5)
    # The same question with the prompt that a checkpoint gets by default says something else.
    plain = json.loads(run("explain", "In which city?", "--model", tmp_path / "chat", *given)[1])
    assert plain["whole"] != pytest.approx(told["whole"], abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], ["question or id", "nothing"]),
        (["1", "--methods", "rollout"], ["rollout", "attention"]),
        (["1", "--target", "good"], ["--target", "leave them out"]),
        (["1", "--answer", "x"], ["--source"]),
        (["1", "--source", " "], ["source 1 is empty"]),
        (["new?", "--source", "text"], ["does not say where its model"]),
        (["1", "--html", "nowhere/x.html"], ["nowhere"]),
    ],
)
def test_wrong_questions_give_one_clear_line(run, audit: Path, arguments: list[str], said: list[str]) -> None:
    fails_in_one_line(run("explain", *arguments, "--model", audit), *said)


def test_an_audit_cut_short_is_said_to_be(run, audit: Path) -> None:
    fails_in_one_line(run("explain", "1", "--model", "unfinished00"), "cut short")
