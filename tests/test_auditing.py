from __future__ import annotations

import csv

import pandas
import pytest

import attentest
from attentest.auditing import describe_audit, describe_run, expected_cost, expected_seconds
from attentest.data.corpus import Corpus, Provenance, Split
from attentest.errors import AttentestError, InputError
from attentest.models.parts.heads import Joint, JointTanh
from attentest.progress import Silent
from attentest.runs.options import Options
from attentest.runs.questions import Questions
from attentest.tasks import DEFAULT, THOROUGH, THOROUGHLY

pytestmark = pytest.mark.slow

SMALL = {
    "encoder": "bilstm(hidden=6)",
    "embedding": 8,
    "epochs": 1,
    "tokenizer": "whitespace",
    "challenges": ("uniform", "agreement", "adversary(steps=10)"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "d.csv"
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["text", "label"])
        for i in range(60):
            writer.writerow([f"w{i % 7} w{i % 5} it was {'good' if i % 2 else 'bad'} w{i % 3}", i % 2])
    return path


@pytest.fixture(scope="module")
def audited(data, tmp_path_factory):
    return attentest.audit(data=data, runs=tmp_path_factory.mktemp("runs"), **SMALL)


def test_three_lines_of_python_give_a_verdict(audited, capsys):
    audited.show()
    assert audited.verdict.headline in " ".join(capsys.readouterr().out.split())
    assert audited.report.is_file()


def test_a_model_that_learnt_nothing_is_told_so_first(tmp_path):
    with (tmp_path / "d.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["text", "label"])
        for i in range(300):
            label = "rare" if i % 50 == 7 else "some" if i % 12 == 5 else "most"
            writer.writerow([f"w{i % 7} w{i % 11} it was w{i % 3} n{i}", label])
    done = attentest.audit(data=tmp_path / "d.csv", runs=tmp_path / "runs", **SMALL)
    assert "nothing to explain" in done.verdict.headline
    assert {goal.answer for goal in done.verdict.goals} <= {"cannot say", "no"}
    assert "nothing to explain" in done.verdict.closing


def test_findings_come_as_frames(audited):
    frame = audited.to_frame("agreement")
    assert isinstance(frame, pandas.DataFrame)
    assert {"id", "pair", "tau", "not_judged"} <= set(frame.columns)
    assert len(audited.to_frame()) == audited.folder.record["fields"]["corpus"]["sizes"]["test"]
    with pytest.raises(AttentestError, match="uniform"):
        audited.to_frame("unifrm")


def test_a_trained_run_is_audited_by_its_path(audited, data, tmp_path):
    again = attentest.audit(audited.folder.path, data=data, runs=tmp_path / "runs", challenges=("uniform",))
    assert len(again.to_frame("uniform")) == 60


def test_a_model_without_texts_asks_for_them(audited, tmp_path):
    with pytest.raises(InputError, match="Give data"):
        attentest.audit(audited.folder.path, runs=tmp_path / "runs")


def test_a_corpus_of_translations_is_written_word_by_word(tmp_path):
    split = Split.of(["a", "b"], [["ein", "hund"]] * 2, [0, 0], target=[["a", "dog"]] * 2)
    splits = {"train": split, "dev": split, "test": split}
    corpus = Corpus("dogs", ("translation",), splits, Provenance("made up", "none"), task="translate")
    small = {"encoder": "bigru(hidden=4)", "decoder": "bahdanau(hidden=4)", "embedding": 4, "epochs": 1}
    done = attentest.audit(corpus=corpus, challenges=["uniform"], runs=tmp_path / "runs", **small)
    assert done.to_frame()["word"].tolist() == ["a", "dog", "<eos>"] * 2


def test_a_corpus_of_questions_is_audited_and_more_patience_is_had_with_it(tmp_path):
    run = describe_run(corpus="stories-1(train=20, dev=5, test=5)")
    assert run.architecture.query == "separate"
    assert run.architecture.head == Joint()
    assert (run.training.epochs, run.training.patience) == (20, 8)
    assert describe_run(corpus="stories-1", preset="paper").architecture.head == JointTanh()


def test_nothing_else_hangs_on_the_package():
    with pytest.raises(AttributeError, match="no attribute 'adit'"):
        _ = attentest.adit


def test_a_run_that_keeps_nothing_of_single_tokens_has_a_verdict_and_a_page_too(tmp_path):
    done = attentest.audit(
        corpus="reviews(train=200, dev=40, test=40)",
        encoder="average(hidden=8)",
        embedding=8,
        epochs=1,
        challenges=("instances(per_token=False)", "adversary(steps=10, per_token=False)", "uniform"),
        runs=tmp_path,
    )
    assert done.report.is_file()
    assert "attention" not in done.to_frame(done.folder.named("instances")).columns


def test_a_thorough_audit_adds_the_tests_that_train_other_models_unless_they_are_named():
    assert Questions.of(Options(challenges=("uniform",))) == Questions(("uniform",))
    assert Questions.of(Options(challenges=("uniform",), thorough=True)).texts == ("uniform", *THOROUGH)
    chosen = Questions.of(Options(challenges=("seed_variance(seeds=4)",), thorough=True))
    usual = tuple(THOROUGHLY.get(name, name) for name in DEFAULT)
    assert chosen.texts == (*usual, "seed_variance(seeds=4)", "trained_uniform", "guide", "adversarial_training")
    assert chosen.named == ("seed_variance(seeds=4)",)


def test_other_models_are_announced_with_their_cost_before_they_are_trained(data, tmp_path):
    choices = SMALL | {"challenges": ("trained_uniform", "seed_variance(seeds=3)")}
    run = describe_run(data=data, **choices)
    seconds = expected_seconds(run, tmp_path / "runs")
    assert seconds is not None
    assert "3 other models are trained to compare this one with: about 1 min" in expected_cost(run, seconds)
    assert expected_seconds(describe_run(data=data, **SMALL), tmp_path / "runs") is None


def test_a_thorough_audit_ends_in_a_verdict_on_all_four_tests(data, tmp_path):
    said = []

    class Heard(Silent):
        def say(self, line):
            said.append(line)

    few = (
        "uniform",
        "seed_variance(seeds=3)",
        "adversarial_training(weights=(0.0, 0.1))",
        "guide(hidden=4, weight=0.1)",
    )
    choices = SMALL | {"challenges": few}
    done = attentest.audit(data=data, runs=tmp_path / "runs", thorough=True, progress=Heard(), **choices)
    assert {"needed", "luck", "carries", "unique"} <= {line.key for line in done.verdict.lines}
    assert 'id="tests"' in done.report.read_text("utf-8")
    assert "other models are trained" in said[0]
    again = attentest.audit(data=data, runs=tmp_path / "runs", thorough=True, progress=Heard(), **choices)
    assert again.verdict == done.verdict
    assert sum("other models are trained" in line for line in said) == 1


def test_frames_and_lists_describe_the_run_of_the_file(data):
    with data.open(newline="") as file:
        rows = list(csv.DictReader(file))
    from_file = describe_audit(data=data, **SMALL)
    from_frame = describe_audit(data=pandas.DataFrame(rows), **SMALL)
    from_lists = describe_audit(texts=[row["text"] for row in rows], labels=[row["label"] for row in rows], **SMALL)
    texts = [run.corpus["test"].table["tokens"].to_pylist() for run in (from_file, from_frame, from_lists)]
    assert texts[0] == texts[1] == texts[2]
    assert from_frame.corpus.digest == from_lists.corpus.digest


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"epoch": 3}, "No choice is called 'epoch'. Did you mean 'epochs'?"),
        ({"challenge": ["uniform"]}, "No choice is called 'challenge'. Did you mean 'challenges'?"),
        ({"texts": ["a"]}, "Give texts and labels together"),
        ({"texts": ["a"], "labels": ["x"], "corpus": "reviews"}, "or data, or a corpus: one of them"),
        ({"data": 7}, "data is of type int"),
    ],
)
def test_a_slip_in_python_is_one_line(choices, said):
    with pytest.raises(AttentestError, match=said.replace("?", r"\?")):
        attentest.audit(**choices)
