"""Runs that fine-tune a checkpoint: alone, resumed, as cells of a study, with companions, and what is refused."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.conftest import Heard, made_up_corpus, whole
from tests.studies.made_up_study import Silence, bytes_of_all
from tests.support.pretrained import tiny, tokenizer_of
from typer.testing import CliRunner

import attentest
from attentest.challenges.companions import Companion
from attentest.cli.main import app
from attentest.data.batches import Encoded
from attentest.data.corpora import CORPORA
from attentest.data.rationales import Rationales
from attentest.errors import InputError, NotApplicable, StorageError
from attentest.models.huggingface.checkpoint import quietly
from attentest.papers.studies import built_in
from attentest.runs import fine_tuned
from attentest.runs import model as stages
from attentest.runs.describe import describe_run
from attentest.runs.describe import fine_tuned as describing
from attentest.runs.execute import execute
from attentest.runs.fine_tuned import FineTunedRun, fine_tune
from attentest.runs.model import train
from attentest.runs.run import CHECKPOINT, MODEL, TEXTS, VOCABULARY
from attentest.store.folder import RunFolder
from attentest.studies.conduct import conduct
from attentest.studies.engines import InProcess
from attentest.studies.plan import costs, plan
from attentest.studies.study import read_study
from attentest.training.fine_tuning import FINE_TUNING, words_of
from attentest.training.loop import predict
from attentest.training.resume import Resume

REVIEWS = "reviews(train=60, dev=20, test=20)"
CHOICES: dict[str, Any] = {"epochs": 3, "learning_rate": 5e-3, "batch_size": 8}


class Killed(Exception):
    """In the place of a signal."""


def saved(folder: Path, words: list[str] | None = None, sharp: float = 1.0) -> Path:
    tokenizer = tokenizer_of(words)
    with quietly():
        tiny("bert", size=len(tokenizer), sharp=sharp).bert.half().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def words_of_reviews() -> list[str]:
    splits = CORPORA.parse(REVIEWS).load().splits.values()
    return sorted({word for split in splits for text in split.table["tokens"].to_pylist() for word in text})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return saved(tmp_path / "base")


def made_up_run(checkpoint: Path, **choices: Any) -> Any:
    return describe_run(
        corpus=made_up_corpus(count=80),
        fine_tune=checkpoint,
        **{"challenges": ["uniform", "permutation(draws=5)"], **CHOICES, **choices},
    )


def test_loss_terms_of_attention_are_trained_with_and_others_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    plain, hides = (
        made_up_run(checkpoint, terms=terms, epochs=1, challenges=[]) for terms in ("", "deceive(weight=9)")
    )
    assert plain.id != hides.id
    assert "terms" not in plain.fields["training"]
    assert hides.fields["training"] == {**plain.fields["training"], "terms": ["deceive(weight=9.0)"]}
    on_marks = []
    marks = Rationales.of(plain.corpus["test"])
    for run in (plain, hides):
        model, vocabulary = run.load(train(run, tmp_path).path, torch.device("cpu"))
        batch = whole(Encoded.of(run.corpus["test"], vocabulary))
        with torch.no_grad():
            on_marks.append((model.read(batch).weights * marks.batch(batch)).sum(-1).mean().item())
    assert on_marks[1] < on_marks[0]
    with pytest.raises(InputError, match=r"of translators and checkpoints attention alone can be asked"):
        made_up_run(checkpoint, terms="tying")
    with pytest.raises(InputError, match=r"heads='all' must be 'mean' or 'max'"):
        made_up_run(checkpoint, terms="deceive(heads='all')")


@pytest.mark.slow
def test_it_learns_is_kept_and_is_found_again(checkpoint: Path, tmp_path: Path) -> None:
    run = made_up_run(checkpoint, epochs=6)
    folder = execute(run, tmp_path / "runs")
    entry = folder.record["finished"][MODEL]
    assert entry["epochs"][entry["best_epoch"] - 1]["accuracy"] > 0.9
    model = folder.record["fields"]["model"]
    assert model["encoder"] == "BertForSequenceClassification (attention in 3 layers of 2 heads)"
    assert (model["attention"], model["fine_tuned"]) == ("layer 3", "base")
    found, vocabulary = run.load(folder.path, torch.device("cpu"))
    assert found.words == len(vocabulary)
    there = predict(found, Encoded.of(run.examined(), vocabulary))
    frame = folder.findings("instances").table.to_pandas()
    assert np.stack(frame["probabilities"].tolist()) == pytest.approx(there, abs=1e-6)
    assert not (folder.path / stages.UNFINISHED).exists()
    other = execute(replace(run, challenges=run.challenges[:1], site="layer 2 head 1"), tmp_path / "runs")
    assert other.path != folder.path
    assert other.record["finished"][MODEL]["sha256"] == entry["sha256"]
    assert other.record["fields"]["model"]["attention"] == "layer 2 head 1"


def test_words_that_training_never_saw_are_not_unknown(checkpoint: Path, tmp_path: Path) -> None:
    run = made_up_run(checkpoint, challenges=[], epochs=1)
    corpus = run.corpus
    test = corpus["test"].table
    new = [["word45", "telling1"] for _ in range(len(test))]
    columns = test.drop_columns(["rationale"]).set_column(test.column_names.index("tokens"), "tokens", [new])
    changed = replace(corpus, splits={**corpus.splits, "test": type(corpus["test"])(columns)}, known_digest="")
    assert "word45" in words_of(changed).index
    assert "word45" not in {word for text in corpus["train"].table["tokens"].to_pylist() for word in text}


@pytest.mark.slow
def test_it_goes_on_after_a_kill_with_the_same_bytes(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made_up_run(checkpoint)
    execute(run, tmp_path / "whole")
    monkeypatch.setattr(stages, "CHECKPOINT_SECONDS", 0.0)
    kill_after(2, monkeypatch)
    with pytest.raises(Killed):
        execute(run, tmp_path / "killed")
    monkeypatch.undo()
    assert (tmp_path / "killed" / run.id / stages.UNFINISHED).is_file()
    said = Heard()
    execute(run, tmp_path / "killed", progress=said)
    assert "Going on after epoch 2." in said.lines
    assert bytes_of_all(tmp_path / "killed") == bytes_of_all(tmp_path / "whole")


def kill_after(epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    save = Resume.save

    def and_die(self: Resume, *state: Any) -> None:
        save(self, *state)
        if len(state[-1]) == epochs:
            raise Killed

    monkeypatch.setattr(Resume, "save", and_die)


@pytest.mark.slow
def test_the_command_goes_on_after_a_kill_too(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made_up_run(checkpoint, challenges=[])
    fine_tune(run, tmp_path / "whole")
    monkeypatch.setattr(stages, "CHECKPOINT_SECONDS", 0.0)
    kill_after(1, monkeypatch)
    with pytest.raises(Killed):
        fine_tune(run, tmp_path / "killed")
    monkeypatch.undo()
    unfinished = tmp_path / "killed.training"
    assert unfinished.is_dir()
    assert not (tmp_path / "killed").exists()
    said = Heard()
    fine_tune(run, tmp_path / "killed", progress=said)
    assert said.lines == ["Going on after epoch 1."]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "killed", "whole"]
    assert (tmp_path / "killed" / MODEL).read_bytes() == (tmp_path / "whole" / MODEL).read_bytes()


def test_the_same_command_again_trains_nothing_and_another_is_refused(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = made_up_run(checkpoint, challenges=[], epochs=1)
    record = fine_tune(short, tmp_path / "tuned")
    monkeypatch.setattr(fine_tuned, "train", lambda *_, **__: pytest.fail("It was trained again."))
    assert fine_tune(short, tmp_path / "tuned") == record
    path = tmp_path / "tuned" / fine_tuned.RECORD
    whole = path.read_text()
    for damaged in ("", "[]", whole.replace('"number"', '"count"')):
        path.write_text(damaged)
        with pytest.raises(InputError, match="is there already"):
            fine_tune(short, tmp_path / "tuned")
    path.write_text(whole)
    for other in ({"seed": 1}, {"epochs": 6}):
        with pytest.raises(InputError, match="is there already"):
            fine_tune(made_up_run(checkpoint, challenges=[], **{"epochs": 1, **other}), tmp_path / "tuned")
    saved(checkpoint, sharp=2.0)  # other weights under the same name
    with pytest.raises(InputError, match="is there already"):
        fine_tune(made_up_run(checkpoint, challenges=[], epochs=1), tmp_path / "tuned")


def test_a_name_on_the_hub_is_fetched(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "fetched", lambda name, endings: checkpoint / name)
    assert describing.checkpoint_folder("owner/name", hub=True) == checkpoint / "owner/name"
    with pytest.raises(InputError, match="no checkpoint there"):
        describing.checkpoint_folder("owner/name")


@pytest.mark.slow
def test_a_finished_run_is_a_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    tuned = execute(made_up_run(checkpoint, epochs=1), tmp_path / "runs")
    corpus = made_up_corpus(count=80)
    as_run = describe_run(tuned.path, corpus=corpus, challenges=["uniform"])
    assert as_run.seen_in_training() == 0
    as_folder = describe_run(tuned.path / CHECKPOINT, corpus=corpus, challenges=["uniform"])
    assert as_run.id == as_folder.id
    assert as_run.corpus.classes == corpus.classes
    texts = replace(corpus, splits={**corpus.splits, "test": corpus["train"]}, known_digest="")
    seen = describe_run(tuned.path, corpus=texts, challenges=["uniform"])
    assert seen.seen_in_training() == len(corpus["train"])
    again, first = (
        execute(run, tmp_path / "runs").findings("uniform").table for run in (as_run, made_up_run(checkpoint, epochs=1))
    )
    assert again["change"].to_pylist() == pytest.approx(first["change"].to_pylist(), abs=1e-9)
    assert (tuned.path / MODEL).samefile(tuned.path / CHECKPOINT / MODEL)  # kept once
    damaged = tuned.path / CHECKPOINT / "config.json"
    damaged.write_text(damaged.read_text() + " ")
    for given in (tuned.path, tuned.path / CHECKPOINT):
        with pytest.raises(StorageError, match=r"config\.json is missing or was altered"):
            describe_run(given, corpus=corpus, challenges=["uniform"])
        with pytest.raises(StorageError, match=r"config\.json is missing or was altered"):
            attentest.explain("word1 word2", given)
    damaged.write_text(damaged.read_text()[:-1])
    planted = tuned.path / CHECKPOINT / "added_tokens.json"
    planted.write_text("{}")
    with pytest.raises(StorageError, match=r"added_tokens\.json is not among what this run wrote"):
        describe_run(tuned.path, corpus=corpus, challenges=["uniform"])
    planted.unlink()
    damaged.write_text(damaged.read_text() + " ")
    shutil.rmtree(tuned.path / "findings")
    said = Heard()
    execute(made_up_run(checkpoint, epochs=1), tmp_path / "runs", progress=said)
    assert any("config.json is missing or was altered" in line for line in said.lines)


STUDY = f"""
[run]
corpus = "{REVIEWS}"
fine_tune = "base"
epochs = 1
batch_size = 20
challenges = ["uniform", "seed_variance(seeds=2)"]

[grid]
seed = [0, 1]
"""


@pytest.mark.slow
def test_cells_of_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "data"))
    saved(tmp_path / "data" / "models" / "base", words_of_reviews())
    path = tmp_path / "tuned.toml"
    path.write_text(STUDY)
    study = read_study(path)
    planned = plan(study, tmp_path / "one")
    assert [cell.cell.label for cell in planned] == ["seed 0", "seed 1"]
    assert all(cost is not None and cost.seconds > 0 for cost in costs(planned, tmp_path / "one"))
    done = conduct(study, tmp_path / "one", InProcess(), Silence())
    assert not done.failed
    # The model of seed 1 is a companion and a cell: its weights are the same.
    weights = [value for name, value in bytes_of_all(tmp_path / "one").items() if name.endswith(MODEL)]
    assert (len(weights), len(set(weights))) == (4, 3)
    assert [cell.state for cell in plan(study, tmp_path / "one")] == ["done", "done"]


@pytest.mark.slow
def test_a_pack_carries_the_checkpoint_and_ids_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "data"))
    saved(tmp_path / "data" / "models" / "base", words_of_reviews())
    path = tmp_path / "tuned.toml"
    path.write_text(STUDY)
    here = [cell.run.id for cell in plan(read_study(path), tmp_path / "runs") if cell.run]
    done = CliRunner().invoke(app, ["study", "pack", str(path), "--to", str(tmp_path / "packed")])
    assert done.exit_code == 0, done.output
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "packed"))
    shutil.rmtree(tmp_path / "data")
    assert [cell.run.id for cell in plan(read_study(path), tmp_path / "runs") if cell.run] == here


def test_a_companion_is_another_seed_and_nothing_else(checkpoint: Path) -> None:
    run = made_up_run(checkpoint, challenges=["seed_variance(seeds=2)"], limit=5, site="layer 2")
    beside = run.companion(Companion(seed=1))
    assert (beside.seed, beside.limit, beside.site, beside.challenges) == (1, 0, "", ())
    assert beside.model_key == replace(run, seed=1).model_key
    with pytest.raises(NotApplicable, match="seed_variance alone applies"):
        made_up_run(checkpoint, challenges=["trained_uniform"])


def test_default_challenges_are_those_of_checkpoints(checkpoint: Path) -> None:
    run = describe_run(corpus=made_up_corpus(), fine_tune=checkpoint)
    assert "adversary(steps=100)" in run.fields["challenges"]
    assert isinstance(run, FineTunedRun)
    assert run.training == FINE_TUNING
    assert describe_run(corpus=made_up_corpus(), fine_tune=checkpoint, site="layer 3").id == run.id
    assert describe_run(corpus=made_up_corpus(), fine_tune=checkpoint, epochs=1).id != run.id


def test_the_id_is_that_of_the_files_not_of_their_place(checkpoint: Path, tmp_path: Path) -> None:
    run = made_up_run(checkpoint)
    moved = shutil.copytree(checkpoint, tmp_path / "elsewhere" / "base")
    assert made_up_run(moved).id == run.id
    config = json.loads((moved / "config.json").read_text())
    (moved / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.5}))
    assert made_up_run(moved).id != run.id


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (
            {"encoder": "bigru"},
            "encoder=bigru has no effect on a checkpoint that is fine-tuned: leave out fine_tune",
        ),
        ({"preset": "paper"}, "preset=paper has no effect on a checkpoint"),
        ({"vectors": "some.npz"}, "vectors=some.npz has no effect on a checkpoint"),
        ({"removal": "random", "removal_share": 0.1}, "removal=random has no effect on a checkpoint"),
        ({"forced": "own"}, "forced=own has no effect on a checkpoint"),
        ({"site": "layer 9"}, "'layer 9' is none of this model's"),
        ({"fine_tune": "no-such-model"}, "no-such-model: no checkpoint there, nor in models/"),
        ({"epochs": 0}, "epochs=0 must be at least 1"),
    ],
)
def test_what_is_refused(checkpoint: Path, choices: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        describe_run(corpus=made_up_corpus(), **{"fine_tune": checkpoint, **choices})


def test_translations_and_texts_too_long_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    corpus = made_up_corpus()
    with pytest.raises(NotApplicable, match="has a text to generate"):
        describe_run(corpus=replace(corpus, task="translate"), fine_tune=checkpoint)
    tokenizer = tokenizer_of()
    tokenizer.model_max_length = 8
    tokenizer.save_pretrained(checkpoint)
    with pytest.raises(InputError, match="texts are longer than the model takes"):
        fine_tune(describe_run(corpus=corpus, fine_tune=checkpoint, challenges=()), tmp_path / "to")
    assert [path.name for path in tmp_path.iterdir()] == ["base"]


@pytest.mark.slow
def test_from_the_command_line(checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    corpus = made_up_corpus()
    texts = [" ".join(tokens) for tokens in corpus["train"].table["tokens"].to_pylist()]
    names = [corpus.classes[label] for label in corpus["train"].labels]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, names, strict=True)])
    command = ["audit", "--data", str(path), "--fine-tune", str(checkpoint), "--epochs", "1", "--challenge", "uniform"]
    done = CliRunner().invoke(app, [*command, "--runs", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    assert "layer 3 attention, fine-tuned from" in done.output
    (folder,) = (RunFolder(path.parent) for path in (tmp_path / "runs").glob("*/run.json"))
    assert folder.record["fields"]["corpus"]["tokenizer"] == "whitespace"
    assert (folder.path / VOCABULARY).is_file()
    for model in (folder.path, folder.path / CHECKPOINT):
        with pytest.raises(InputError, match="fine_tune=base has no effect on a model that is there already"):
            describe_run(model, data=path, fine_tune="base")


def test_what_is_not_for_checkpoints_is_refused_before_any_training(checkpoint: Path) -> None:
    with pytest.raises(
        NotApplicable, match="'gating' does not apply: this is for models whose attention can be given other states"
    ):
        made_up_run(checkpoint, challenges=["gating"])
    with pytest.raises(NotApplicable, match=r"layers=.9.*: this model has 3 layers"):
        made_up_run(checkpoint, challenges=["knockout(layers='9')"])


def test_texts_that_a_fine_tuned_checkpoint_was_trained_on_are_counted(checkpoint: Path, tmp_path: Path) -> None:
    corpus = made_up_corpus(count=30)
    path = tmp_path / "texts.csv"
    rows = [
        (" ".join(tokens), f"class{label}")
        for tokens, label in zip(corpus["train"].table["tokens"].to_pylist(), corpus["train"].labels, strict=True)
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    to = tmp_path / "tuned"
    done = CliRunner().invoke(
        app, ["fine-tune", str(checkpoint), "--data", str(path), "--epochs", "1", "--to", str(to), "--quiet"]
    )
    assert done.exit_code == 0, done.output
    run = describe_run(to, data=path, challenges=("uniform",))
    assert (to / TEXTS).is_file()
    assert 0 < run.seen_in_training() <= len(run.examined())
    (to / TEXTS).unlink()
    assert run.seen_in_training() == 0


@pytest.mark.slow
def test_the_command_finds_a_bare_name_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "data"))
    kept = saved(tmp_path / "data" / "models" / "base", words_of_reviews())
    command = ["fine-tune", "base", "--corpus", REVIEWS, "--epochs", "1", "--json", "--to"]
    done = CliRunner().invoke(app, [*command, str(tmp_path / "tuned")])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "tuned" / "fine-tuning.json").read_text())["from"] == str(kept)
    done = CliRunner().invoke(app, ["fine-tune", "bse", "--corpus", REVIEWS, "--to", str(tmp_path / "other")])
    assert isinstance(done.exception, InputError)
    assert "'bse' is no folder or run here" in str(done.exception)


def test_the_built_in_study_leaves_translators_as_they_are() -> None:
    study = read_study(built_in()["vashishth_transformers"])
    cells = study.cells()
    assert len(cells) == 9
    written = [cell for cell in cells if cell.choices.get("decoder")]
    assert len(written) == 3
    assert all(cell.choices["fine_tune"] == "" for cell in written)
    assert {cell.choices["epochs"] for cell in cells if cell.choices["corpus"] == "snli"} == {2}
    assert "layers(replacement='uniform')" in cells[0].choices["challenges"]
