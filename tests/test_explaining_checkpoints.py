"""Texts explained by checkpoints: a folder that the Transformers library wrote, and runs that fine-tuned one."""

from __future__ import annotations

import shutil
from pathlib import Path

import huggingface_hub
import pytest
from typer.testing import CliRunner

import attentest
from attentest.cli.main import app
from attentest.errors import InputError, NotApplicable
from attentest.explaining import OF_CHECKPOINTS
from attentest.models.huggingface.checkpoint import quietly
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from tests.conftest import made_up_corpus
from tests.support.pretrained import tiny, tokenizer_of

TEXT = "word1 telling1 word2 Unheard word3"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, tokenizer = tmp_path_factory.mktemp("models") / "tiny", tokenizer_of()
    with quietly():
        tiny("bert", size=len(tokenizer), sharp=1.0).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def runs(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    run = describe_run(
        corpus=made_up_corpus(count=40), fine_tune=checkpoint, epochs=1, challenges=("uniform",), limit=5
    )
    execute(run, root)
    return root


@pytest.mark.slow
def test_a_checkpoints_words_are_cut_at_spaces_and_none_is_unknown(checkpoint: Path) -> None:
    made = attentest.explain(TEXT, checkpoint)
    assert made.tokens == tuple(TEXT.split())
    assert not any(made.unknown)
    assert tuple(made.scores) == OF_CHECKPOINTS
    assert all(len(scores) == 5 for scores in made.scores.values())
    assert sum(made.scores["attention"]) == pytest.approx(1)
    assert made.classes == ("LABEL_0", "LABEL_1")
    assert made.model == "BertForSequenceClassification (attention in 3 layers of 2 heads), layer 3 attention"
    (deletion,) = (method for method in made.methods if method.name == "deletion")
    assert deletion.certificate["words_in_the_loop"] == 5
    assert deletion.certificate["difference_from_a_loop"] < 1e-5


@pytest.mark.slow
def test_what_is_found_for_a_text_does_not_depend_on_the_others(checkpoint: Path) -> None:
    alone = attentest.explain(TEXT, checkpoint)
    beside = attentest.explain(["word4 word5", TEXT, "a b c d e f g"], checkpoint)[1]
    assert beside.probabilities == pytest.approx(alone.probabilities, abs=1e-6)
    for name, scores in alone.scores.items():
        assert beside.scores[name] == pytest.approx(scores, abs=1e-5)


@pytest.mark.slow
def test_a_run_that_fine_tuned_is_explained_by_its_checkpoint(runs: Path) -> None:
    made = attentest.explain(TEXT.lower(), runs=runs, interactions=True)
    assert made.classes == made_up_corpus().classes
    assert tuple(made.scores) == OF_CHECKPOINTS
    assert made.pairs is not None
    (run,) = runs.glob("*/run.json")
    assert made.run == str(run.parent)
    same = attentest.explain(TEXT.lower(), run.parent / "checkpoint", methods="attention")
    assert same.tokens == made.tokens
    assert same.scores["attention"] == pytest.approx(made.scores["attention"])
    with pytest.raises(InputError, match="reads one text, so there is no place for a second"):
        attentest.explain(TEXT, runs=runs, second="word1")


def test_a_checkpoint_of_pairs_and_methods_that_were_named(checkpoint: Path) -> None:
    made = attentest.explain("word1 telling1", checkpoint, second="word2 word3", methods="attention, rollout")
    assert tuple(made.scores) == ("attention", "rollout")
    assert all(len(scores) == 2 for scores in made.scores.values())
    with pytest.raises(NotApplicable):
        attentest.explain(TEXT, checkpoint, methods="lrp")


def test_a_run_that_took_a_checkpoint_says_to_give_it(checkpoint: Path, tmp_path: Path) -> None:
    corpus = made_up_corpus(count=10)
    run = describe_run(checkpoint, corpus=corpus, classes=corpus.classes, challenges=("uniform",), limit=2)
    folder = execute(run, tmp_path)
    with pytest.raises(NotApplicable, match="give the checkpoint itself, --model FOLDER"):
        attentest.explain(TEXT, folder.path)


def test_the_page_of_a_checkpoint_goes_among_the_runs(checkpoint: Path, tmp_path: Path) -> None:
    model = shutil.copytree(checkpoint, tmp_path / "model")
    before = sorted(model.rglob("*"))
    asked = ["explain", TEXT, "--model", str(model), "--methods", "attention", "--runs", str(tmp_path / "runs")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert len(list((tmp_path / "runs" / "explanations").glob("*.html"))) == 1
    assert sorted(model.rglob("*")) == before


@pytest.mark.slow
def test_a_name_on_the_hub_is_taken_as_by_an_audit(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        InputError, match="'owner/tiny' is no folder or run here, and it could not be fetched from the hub"
    ):
        attentest.explain(TEXT, "owner/tiny")
    kept = tmp_path / "cache" / "models--owner--tiny"
    commit = "0" * 40
    shutil.copytree(checkpoint, kept / "snapshots" / commit)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    assert attentest.explain(TEXT, "owner/tiny").scores == attentest.explain(TEXT, checkpoint).scores
