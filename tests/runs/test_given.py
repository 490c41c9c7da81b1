"""Audits of models that are there already, and the mistakes that people make with them."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import poisson
from tests.conftest import WORDS
from tests.models.test_own_model import Plain, functions_of, seeded
from tests.support.pretrained import tiny, tokenizer_of
from torch import nn
from typer.testing import CliRunner

import attentest
from attentest.auditing import describe_audit
from attentest.calibration.hand_built import Look, Mechanism, built
from attentest.calibration.mechanisms import OnDeciding, OnOthers, Own
from attentest.challenges.importance.examine import Importance
from attentest.cli.main import app
from attentest.data.corpora import CORPORA
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.simple import Majority
from attentest.errors import AttentestError
from attentest.models.huggingface.checkpoint import quietly
from attentest.presentation.thresholds import FEWEST
from attentest.runs.describe import describe_run
from attentest.store.folder import RunFolder

TEXTS = [" ".join(WORDS[(place * 7 + word) % 60] for word in range(3 + place % 5)) for place in range(6)]
LABELS = ["good" if place % 2 else "bad" for place in range(6)]


def saved(folder: Path, family: str = "bert", names: tuple[str, ...] = ("bad", "good"), **choices: Any) -> Path:
    tokenizer = tokenizer_of()
    model = tiny(family, size=len(tokenizer), classes=len(names), **choices)
    model.config.id2label = dict(enumerate(names))
    model.config.label2id = {name: number for number, name in enumerate(names)}
    with quietly():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    return written(tmp_path / "reviews.csv", TEXTS, LABELS)


def written(path: Path, texts: list[str], labels: list[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    return path


def test_importance_reads_few_texts_of_a_checkpoint_and_many_of_a_model_that_is_fast(
    tmp_path: Path, reviews: Path
) -> None:
    checkpoint = describe_run(model=saved(tmp_path / "model"), data=reviews)
    own = describe_run(
        model=functions_of(seeded(lambda: Plain(nn.Linear(8, 2)))), texts=TEXTS, labels=LABELS, classes=("bad", "good")
    )
    found = [next(one for one in run.challenges if isinstance(one, Importance)) for run in (checkpoint, own)]
    assert [one.texts for one in found] == [48, Importance().texts]
    assert poisson(found[0].texts).cdf(FEWEST - 1) < 0.01  # of many texts, seldom too few are drawn
    assert found[0].orders * found[0].players < found[1].orders * found[1].players


@pytest.mark.slow
def test_three_lines(tmp_path: Path, reviews: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = attentest.audit(saved(tmp_path / "model"), data=reviews, runs=tmp_path / "runs")
    verdict.show()
    assert "May" in capsys.readouterr().out or verdict.verdict.headline
    assert verdict.report.is_file()
    assert set(verdict.folder.record["not_applicable"].values()) == {"the corpus has no rationales"}
    frame = verdict.to_frame()
    assert [" ".join(tokens) for tokens in frame["tokens"]] == TEXTS
    fields = RunFolder(verdict.folder.path).record["fields"]
    assert fields["model"]["attention"] == "layer 3"
    assert fields["corpus"]["classes"] == ["bad", "good"]
    again = attentest.audit(tmp_path / "model", data=reviews, runs=tmp_path / "runs")
    assert again.folder.path == verdict.folder.path


@pytest.mark.slow
def test_a_model_in_memory_at_a_site(tmp_path: Path) -> None:
    tokenizer = tokenizer_of()
    model = tiny("roberta", size=len(tokenizer))
    choices: dict[str, Any] = {"challenges": ["uniform", "permutation(draws=5)"], "runs": tmp_path}
    done = attentest.audit(model, tokenizer, TEXTS, [0, 1] * 3, site="layer 2 head 1", **choices)
    assert len(done.to_frame("uniform")) == 6
    other = attentest.audit(model, tokenizer, TEXTS, [0, 1] * 3, **choices)
    assert other.folder.path != done.folder.path
    asked = attentest.audit(
        tiny("gpt2-lm", size=len(tokenizer)),
        tokenizer,
        TEXTS,
        LABELS,
        label_words={"bad": "word1", "good": "word2"},
        prompt="x {text} x",
        **choices,
    )
    assert set(asked.to_frame()["label"]) == {0, 1}


@pytest.mark.slow
def test_pairs_of_texts(tmp_path: Path) -> None:
    tokenizer = tokenizer_of(types=True)
    pairs = [(text, TEXTS[-1 - place]) for place, text in enumerate(TEXTS)]
    choices: dict[str, Any] = {"challenges": ["permutation(draws=5)", "layers"], "runs": tmp_path}
    done = attentest.audit(tiny("bert", size=len(tokenizer)), tokenizer, pairs, [0, 1] * 3, **choices)
    frame = done.to_frame()
    assert [" ".join(words) for words in frame["second"]] == TEXTS[::-1]
    assert [len(weights) for weights in frame["attention"]] == [len(text.split()) for text in TEXTS]


@pytest.mark.slow
def test_a_subject_of_ones_own(tmp_path: Path) -> None:
    subject = functions_of(seeded(lambda: Plain(nn.Linear(8, 2))))
    done = attentest.audit(
        subject, texts=TEXTS, labels=LABELS, classes=("bad", "good"), challenges=["adversary(steps=5)"], runs=tmp_path
    )
    assert done.to_frame(done.folder.named("adversary"))["certified"].any()


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            LABELS,
            r'Label \'bad\' is none of .* \(0, 1\).* pass classes=\("bad", "good"\) in the order of the model\'s out',
        ),
        (["a", "b", "c"] * 2, r'pass classes=\("a", "b", …\) in the order'),
    ],
)
def test_labels_that_are_no_classes_are_told_how_to_become_some(labels: list[str], said: str) -> None:
    subject = functions_of(seeded(lambda: Plain(nn.Linear(8, 2))))
    with pytest.raises(AttentestError, match=said):
        describe_run(subject, texts=TEXTS, labels=labels)


def test_a_corpus_by_name_is_put_in_the_models_order() -> None:
    corpus = CORPORA.parse("reviews(train=5, dev=5, test=8)").load()
    words = sorted(
        {word for split in corpus.splits.values() for text in split.table["tokens"].to_pylist() for word in text}
    )
    tokenizer = tokenizer_of(words)
    model = tiny("bert", size=len(tokenizer))
    model.config.id2label = {0: "POSITIVE", 1: "NEGATIVE"}
    run = describe_run(model, tokenizer, corpus=corpus)
    assert run.corpus.classes == ("positive", "negative")
    assert (run.corpus["test"].labels == 1 - corpus["test"].labels).all()


MISTAKES = {
    "hub": ("nobody/no-such-model", {}, "no folder or run here, and it could not be fetched"),
    "headless": ("headless", {}, r"BertModel, which has no head for classes"),
    "labels": ("model", {"labels": ["a", "b", "c"]}, r"3 labels \(a, b, c\), and the model 2 outputs"),
    "names": ("model", {"labels": ["a", "b"]}, r"say which is which with classes"),
    "classes": ("model", {"classes": ("a", "b", "c")}, r"these are 3, and the model has 2 outputs"),
    "long": ("model", {"texts": ["word1 " * 600]}, r"1 of 1 texts are longer than the model takes"),
    "padding": ("padless", {}, r"no padding token"),
    "tokenizer": ("bare", {}, r"no tokenizer that can be loaded"),
    "speaking": ("speaking", {}, r"a language model without a head for classes"),
    "encoder": ("model", {"encoder": "bigru"}, r"encoder=bigru has no effect"),
    "thorough": (
        "model",
        {"challenges": ["seed_variance"]},
        r"'seed_variance': other models like this one would have to be trained",
    ),
    "unmarked": ("model", {"challenges": ["rationale"]}, r"'rationale.* does not apply: the corpus has no rationales"),
    "number": ("number", {}, r"has one output, a number"),
    "cut": ("cut", {}, r"its weights cannot be loaded .* copy the folder again"),
    "pickled": ("pickled", {}, r"it has no weights as safetensors .* pickled ones may run code"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder, given, said = MISTAKES[mistake]
    path = tmp_path / folder
    if folder == "headless":
        import transformers

        saved(path)
        with quietly():
            transformers.AutoModel.from_pretrained(path).save_pretrained(path)
    elif folder == "padless":
        saved(path, "gpt2")
        tokenizer = tokenizer_of()
        tokenizer.pad_token = None
        tokenizer.save_pretrained(path)
    elif folder == "bare":
        saved(path)
        for file in path.glob("*token*"):
            file.unlink()
    elif folder == "number":
        saved(path, names=("score",))
    elif folder in ("cut", "pickled"):
        saved(path)
        weights = path / "model.safetensors"
        if folder == "cut":
            weights.write_bytes(weights.read_bytes()[:2000])
        else:
            weights.rename(path / "pytorch_model.bin")
    elif "/" not in folder:
        saved(path, "gpt2-lm" if folder == "speaking" else "bert")
    texts, labels = given.pop("texts", TEXTS), given.pop("labels", LABELS)
    labels = [labels[place % len(labels)] for place in range(len(texts))]
    data = written(tmp_path / "texts.csv", texts, labels)
    with pytest.raises(AttentestError, match=said) as caught:
        describe_run(folder if "/" in folder else path, data=data, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_command_line_exits_with_2(tmp_path: Path, reviews: Path) -> None:
    command = [sys.executable, "-m", "attentest", "audit", "--data", str(reviews), "--runs", str(tmp_path / "runs")]
    path = saved(tmp_path / "model")
    done = subprocess.run(
        [*command, "--model", str(path), "--classes", "a,b"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("attentest: ")
    assert len(done.stderr.strip().splitlines()) == 1
    good = CliRunner().invoke(app, [*command[3:], "--model", str(path), "--challenge", "uniform", "-q"])
    assert good.exit_code == 0, good.output
    assert "Report" in good.output


def test_objects_that_are_no_models_are_refused() -> None:
    with pytest.raises(AttentestError, match="subject_of_module"):
        describe_run(nn.Linear(2, 2), None, TEXTS, LABELS)
    with pytest.raises(AttentestError, match="own tokenizer"):
        describe_run(tiny("bert"), None, TEXTS, LABELS)
    with pytest.raises(AttentestError, match="texts and labels together"):
        describe_run(tiny("bert"), tokenizer_of(), TEXTS)
    with pytest.raises(AttentestError, match="Label 'ugly' is none"):
        describe_run(tiny("bert"), tokenizer_of(), TEXTS, ["ugly"] * 6)


def test_models_that_differ_in_their_functions_alone_are_different_runs() -> None:
    world = Majority(train=60, dev=5, test=20)
    corpus = world.load()
    vocabulary = Vocabulary.from_split(corpus["train"])

    def run(look: Look) -> str:
        subject = built(Mechanism(Own(), look), world, vocabulary)
        return describe_audit(subject, corpus=corpus, classes=corpus.classes, challenges=["uniform"]).id

    assert run(OnDeciding()) == run(OnDeciding()) != run(OnOthers())
