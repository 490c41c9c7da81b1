"""attentest sources: from a checkpoint and a file of questions to a verdict, a folder and a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.conftest import Heard
from tests.support.chat import chat_model, chat_tokenizer
from typer.testing import CliRunner

from attentest.cli.main import app
from attentest.errors import AttentestError, InputError, StorageError
from attentest.sources.auditing import CASES, FINDINGS, UNFINISHED, audit_sources, judged_folder, load_language_model
from attentest.sources.planting.planted import planted_questions
from attentest.sources.question import Question
from attentest.sources.unfinished import appending, unfinished
from attentest.store.findings import read_findings
from attentest.store.folder import RunFolder

QUICK = ["attention", "leave_one_out", "shared_words"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chat")
    chat_model().save_pretrained(folder)
    chat_tokenizer().save_pretrained(folder)
    return folder


def questions(path: Path, *, hostile: str = "") -> Path:
    rows = [
        {
            "id": f"q{n}",
            "question": "In which city?",
            "passages": [f"Anna{hostile} is in Oslo.", "Green."],
            "answer": "Oslo",
        }
        for n in range(3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_questions_become_a_verdict_a_folder_and_a_page(checkpoint: Path, tmp_path: Path) -> None:
    data = questions(tmp_path / "q.jsonl", hostile="\x1b[31m\u2028<script>")
    asked = ["sources", "--model", str(checkpoint), "--data", str(data), "--sources-column", "passages"]
    options = [*asked, "--to", str(tmp_path / "out"), "--held-out", "4"]
    ran = CliRunner().invoke(app, options, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    assert "3 questions" in ran.output
    assert "\x1b" not in ran.output
    (folder,) = (tmp_path / "out").iterdir()
    text = RunFolder(folder).verify("report.html").read_text("utf-8")
    assert "<script" not in text
    assert "In which city?" in text
    found = read_findings(RunFolder(folder).verify(FINDINGS))
    assert found.table.num_rows == 3 * 14
    again = CliRunner().invoke(app, [*options, "--json"], catch_exceptions=False)
    said = json.loads(again.stdout)
    assert said["answered"]["questions"] == 3
    assert {method["method"] for method in said["methods"]} >= {"attention", "attn_lrp", "context_cite(ablations=16)"}
    assert len(said["layers"]) == 3


def test_audit_leads_to_sources_where_a_column_holds_them(checkpoint: Path, tmp_path: Path) -> None:
    data = questions(tmp_path / "q.jsonl")
    asked = ["audit", "--model", str(checkpoint), "--data", str(data), "--sources-column", "passages", "--limit", "1"]
    options = [*asked, "--runs", str(tmp_path / "out"), "--json"]
    ran = CliRunner().invoke(app, options, catch_exceptions=False)
    assert json.loads(ran.stdout)["answered"]["questions"] == 1
    for wrong, said in (
        (["--thorough"], "--thorough does not apply to questions over sources"),
        (["--challenge", "heads"], "--challenge does not apply"),
        (["--text-column", "question"], "'attentest sources --help'"),
    ):
        with pytest.raises(InputError, match=said):
            CliRunner().invoke(app, [*options, *wrong], catch_exceptions=False)
    with pytest.raises(InputError, match="--model PATH --data"):
        CliRunner().invoke(app, ["audit", "--sources-column", "contexts"], catch_exceptions=False)


def test_a_killed_audit_resumes_where_it_was(checkpoint: Path, tmp_path: Path) -> None:
    model, asked = load_language_model(checkpoint), list(planted_questions(3))
    wanted = audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path / "whole")

    folder = tmp_path / "cut" / wanted.folder.name
    folder.mkdir(parents=True)
    lines = (wanted.folder / CASES).read_text("utf-8").splitlines()
    with appending(folder / UNFINISHED, keep=False) as write:
        for record in wanted.records[:2]:
            write(record)
    content = (folder / UNFINISHED).read_bytes()
    (folder / UNFINISHED).write_bytes(content[:-50])
    before = model.cost.passes
    found = audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path / "cut")
    resumed = model.cost.passes - before
    assert (folder / CASES).read_text("utf-8").splitlines()[0] == lines[0]
    assert [record.without for record in found.records] == [record.without for record in wanted.records]
    assert not (folder / UNFINISHED).exists()
    before = model.cost.passes
    assert audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path / "cut").records
    assert model.cost.passes == before
    assert resumed > 0
    assert judged_folder(folder).answered.questions == 3


def test_an_altered_record_of_an_audit_that_was_cut_short_is_asked_again(checkpoint: Path, tmp_path: Path) -> None:
    model, asked = load_language_model(checkpoint), list(planted_questions(3))
    wanted = audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path / "whole")
    folder = tmp_path / "cut" / wanted.folder.name
    folder.mkdir(parents=True)
    with appending(folder / UNFINISHED, keep=False) as write:
        for record in wanted.records:
            write(record)
    content = (folder / UNFINISHED).read_bytes()
    at = content.index(b'"without": [-') + len(b'"without": [-')
    (folder / UNFINISHED).write_bytes(
        content[:at] + (b"8" if content[at : at + 1] != b"8" else b"9") + content[at + 1 :]
    )
    heard: list[str] = []
    assert set(unfinished(folder / UNFINISHED, heard.append)) == {record.id for record in wanted.records[1:]}
    assert "was altered" in heard[0]
    found = audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path / "cut")
    assert [record.without for record in found.records] == [record.without for record in wanted.records]
    (folder / UNFINISHED).write_bytes(b"\xff\n" + json.dumps({"id": 1}).encode() + b"\n")
    assert unfinished(folder / UNFINISHED) == {}


def test_what_was_kept_of_an_audit_that_was_killed_once_it_was_done_goes(checkpoint: Path, tmp_path: Path) -> None:
    model, asked = load_language_model(checkpoint), list(planted_questions(1))
    found = audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path)
    with appending(found.folder / UNFINISHED, keep=False) as write:
        write(found.records[0])
    again = audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path)
    assert not (found.folder / UNFINISHED).exists()
    assert again.records == found.records


def test_records_that_are_sealed_and_are_none_are_refused_in_a_line(checkpoint: Path, tmp_path: Path) -> None:
    model, asked = load_language_model(checkpoint), list(planted_questions(2))
    found = audit_sources(model, asked, methods=QUICK, held_out=2, longest=4, to=tmp_path)
    line = (found.folder / CASES).read_text("utf-8").split("\n")[0]
    record = json.loads(line)
    broken: list[object] = [[], 3, {}, {**record, "without": []}, {**record, "heads": [[[]]]}, {**record, "given": 3}]
    broken += [{**record, "items": [1] * len(record["items"])}, {**record, "whole": "x"}, {**record, "new": 1}]
    for text in ("", "[" * 100_000, *map(json.dumps, broken)):
        (found.folder / CASES).write_text(f"{text}\n", "utf-8")
        RunFolder(found.folder).finish(CASES)
        with pytest.raises(StorageError, match="does not hold") as refused:
            judged_folder(found.folder)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Give questions"),
        (["--data", "none.jsonl"], "cannot be read"),
        (["--planted", "3", "--data", "none.jsonl"], "not both"),
        (["--planted", "3", "--dtype", "int8"], "must be one of float32"),
        (["--planted", "3", "--method", "attention(pool='x')"], "must be one of sum"),
        (["--planted", "3", "--method", "attenton"], "attention"),
        (["--planted", "3", "--unit", "letter"], "must be 'source' or 'word'"),
        (["--planted", "3", "--prompt", "{context}"], "must hold {query} once"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_line(
    checkpoint: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    with pytest.raises(AttentestError) as raised:
        CliRunner().invoke(
            app, ["sources", "--model", str(checkpoint), "--to", str(tmp_path), *options], catch_exceptions=False
        )
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("option", [("--engine", "nothing"), ("--address", "x"), ("--gpus", "1")])
def test_what_spreads_several_models_is_refused_with_one(option: tuple[str, str]) -> None:
    refused = CliRunner().invoke(app, ["sources", "--model", "none", "--planted", "2", *option])
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception).startswith(f"{option[0]} is for several models")


def test_a_context_that_is_too_long_is_refused_before_anything_is_computed(checkpoint: Path, tmp_path: Path) -> None:
    model = load_language_model(checkpoint)
    model.model.config.max_position_embeddings = 64
    long = Question("Where?", ("Anna keeps her boat in Lisbon. " * 20,), id="long")
    with pytest.raises(InputError, match=r"'long' has .* tokens with its answer, and the model reads at most 64"):
        audit_sources(model, [Question("A?", ("B.",), "C", id="short"), long], to=tmp_path)
    assert model.cost.passes == 0
    with pytest.raises(InputError, match="no questions"):
        audit_sources(model, [], to=tmp_path)


def test_memory_that_is_too_small_for_one_prompt_is_said_in_a_line(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_language_model(checkpoint)

    def out(*args: object, **options: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB\nand more")

    monkeypatch.setattr(model.model, "forward", out)
    with pytest.raises(InputError, match=r"'q', .* tokens: memory ran out .*--dtype bfloat16") as raised:
        audit_sources(model, [Question("A?", ("B.", "C."), "D", id="q")], methods=QUICK, to=tmp_path)
    assert "\n" not in str(raised.value)


def test_altered_records_of_a_finished_audit_are_named_and_asked_again(checkpoint: Path, tmp_path: Path) -> None:
    model, asked = load_language_model(checkpoint), list(planted_questions(1))
    found = audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path)
    content = (found.folder / CASES).read_bytes()
    (found.folder / CASES).write_bytes(content.replace(b'"without": [-', b'"without": [+', 1))
    heard = Heard()
    again = audit_sources(model, asked, methods=QUICK, held_out=0, longest=4, to=tmp_path, progress=heard)
    assert any(f"{CASES} is missing or was altered" in line for line in heard.lines)
    assert [record.without for record in again.records] == [record.without for record in found.records]
