"""A translator's audit as a person sees it: steps in the place of texts, words in the place of classes."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import attentest
from attentest.auditing import describe_audit
from attentest.cli.main import app
from attentest.errors import InputError, NotApplicable
from attentest.explaining import explain, explain_translation
from attentest.registry import text_of
from attentest.report.pages.run import page
from attentest.report.tables.answer import LINES
from attentest.store.findings import FindingsWriter
from attentest.store.folder import RunFolder
from attentest.tasks import DEFAULT, TASKS

pytestmark = pytest.mark.slow

CORPUS = "dates(train=60, dev=8, test=12)"
SMALL = {
    "encoder": "bigru(hidden=6)",
    "decoder": "bahdanau(hidden=8, dropout=0.0)",
    "embedding": 8,
    "epochs": 1,
    "limit": 4,
}
CHALLENGES = ("agreement", "permutation", "adversary(steps=5)", "uniform", "alignment", "bleu(beam=2)")
PLANTED = "rationale(explainers=('attention', 'gradient', 'random'))"


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    return attentest.audit(corpus=CORPUS, challenges=(*CHALLENGES, PLANTED), runs=runs, **SMALL)


def test_the_usual_challenges_and_sentences_are_those_for_translations():
    plain = {name: value for name, value in SMALL.items() if name != "limit"}
    run = describe_audit(corpus=CORPUS, **plain)
    assert tuple(map(text_of, run.challenges)) == (*DEFAULT, "alignment", "bleu")
    assert run.limit == TASKS["translate"].limit == 50
    assert describe_audit(corpus=CORPUS, limit=0, **plain).limit == 0
    named = describe_audit(corpus=CORPUS, challenges=("bleu",), **plain)
    assert (tuple(map(text_of, named.challenges)), named.limit) == (("bleu",), 0)
    assert tuple(map(text_of, describe_audit(corpus="reviews(train=9, dev=2, test=2)").challenges)) == DEFAULT


def test_a_limit_counts_sentences_and_rows_are_their_steps(audited):
    ids = audited.to_frame()["id"]
    assert len(ids) == 4 * 7
    assert audited.to_frame()["sentence"].value_counts().tolist() == [7] * 4


def test_the_verdict_speaks_of_steps(audited, capsys):
    audited.show()
    answer = capsys.readouterr().out.splitlines()
    assert len(answer) <= LINES
    assert all(1 <= len(line.short.split()) <= 5 for line in audited.verdict.lines)
    assert sum(any(line.short in row for line in audited.verdict.lines) for row in answer) >= 9
    audited.show(details=True)
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"On \d+ to 28 steps of 4 sentences", said)
    assert not re.search(r"\binstances\b", audited.verdict.closing)
    questions = {line.key: line.question for line in audited.verdict.lines}
    assert questions["rationale"] == "Does attention point at the words that tell what to write? (planted rationale)"
    assert {"bleu", "alignment"} <= {*questions}


def test_the_page_shows_words_written_so_far_and_no_classes(audited):
    page = audited.report.read_text("utf-8")
    assert "28\n    steps of 4 sentences drawn at random" in page
    assert "Written so far" in page
    assert "by predicted class" not in page
    assert not re.search(r"\bclass \d", page)
    assert "Where does it look while it writes?" in page
    assert "Stands on all 28 steps." in page


def test_a_source_word_is_drawn_as_it_is_whatever_it_says(audited, tmp_path):
    run = RunFolder(Path(shutil.copytree(audited.folder.path, tmp_path / "run")))
    found = run.findings("alignment")
    words = ["text", "texts", "instance", "Texts", "decide"]
    tokens = [(words * len(one))[: len(one)] for one in found.table["tokens"].to_pylist()]
    table = found.table.set_column(found.table.column_names.index("tokens"), "tokens", pa.array(tokens))
    with FindingsWriter(run.path / "findings" / "alignment.parquet", found.challenge, found.measures) as writer:
        writer.write(table)
    run.finish("findings/alignment.parquet")
    drawn = "".join(svgs(page(run, audited.verdict)))
    assert all(f">{word}</text>" in drawn for word in words[:4])
    assert ">step</text>" not in drawn


def svgs(html: str) -> list[str]:
    return [base64.b64decode(code).decode() for code in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", html)]


def test_a_record_has_no_classes(audited):
    record = json.loads(json.dumps(audited.to_record()))
    assert record["measures"]
    assert not any(measure["by_class"] for measure in record["measures"])


def test_a_text_is_translated_and_every_word_explained(audited, tmp_path):
    found = explain_translation(
        "The 3rd of May, 1984 at zebra o'clock", audited.folder.path, methods="attention,gradient"
    )
    assert found.tokens[:4] == ("the", "3rd", "of", "may")
    assert len(found.words) == len(found.chances) == len(found.scores["attention"])
    assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in found.scores["attention"])
    assert "zebra" in " ".join(found.notes)
    assert found.to_frame().shape == (len(found.words), len(found.tokens))
    page = found.save(tmp_path / "x.html").read_text("utf-8")
    assert page.count("<img") == (2 if found.words else 0)
    assert json.loads(found.save(tmp_path / "x.json").read_text("utf-8"))["words"] == list(found.words)


def test_explain_on_the_command_line_translates(audited):
    run = str(audited.folder.path)
    shown = CliRunner().invoke(app, ["explain", "the third of may 1984", "--model", run])
    assert shown.exit_code == 0, shown.output
    assert "Translation" in shown.output
    assert "Page" in shown.output
    refused = CliRunner().invoke(app, ["explain", "may", "--model", run, "--second", "june"])
    assert isinstance(refused.exception, InputError)


def test_each_kind_of_model_has_its_way_of_explaining(audited):
    with pytest.raises(NotApplicable, match="explain_translation"):
        explain("the third of may 1984", audited.folder.path)


def test_texts_without_targets_are_refused_in_one_line(audited, tmp_path):
    (tmp_path / "d.csv").write_text("text,label\nthe third of may,a\nin june,b\n" * 9, "utf-8")
    with pytest.raises(InputError, match=r"has no texts to write. Give a corpus"):
        attentest.audit(audited.folder.path, data=tmp_path / "d.csv", runs=tmp_path)
