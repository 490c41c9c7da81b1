"""A checkpoint without a head, fine-tuned and saved as a checkpoint again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.conftest import made_up_corpus
from tests.support.pretrained import tiny, tokenizer_of

from attentest.errors import AttentestError
from attentest.models.huggingface.checkpoint import load_checkpoint, quietly
from attentest.runs import fine_tuned
from attentest.runs.describe import describe_run
from attentest.runs.describe import fine_tuned as described
from attentest.runs.fine_tuned import fine_tune


def made_up_run(checkpoint: Path, count: int = 40, **choices: Any) -> Any:
    usual = {"epochs": 6, "learning_rate": 5e-3, "batch_size": 8, "challenges": ()}
    return describe_run(corpus=made_up_corpus(count=count), fine_tune=checkpoint, **{**usual, **choices})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    with quietly():
        tiny("bert", size=len(tokenizer_of()), sharp=1.0).bert.save_pretrained(tmp_path / "base")
        tokenizer_of().save_pretrained(tmp_path / "base")
    return tmp_path / "base"


@pytest.mark.slow
def test_it_learns_and_is_a_checkpoint_again(checkpoint: Path, tmp_path: Path) -> None:
    tuning = made_up_run(checkpoint, 80)
    record = fine_tune(tuning, tmp_path / "tuned")
    assert max(epoch["accuracy"] for epoch in record["epochs"]) > 0.9
    run = describe_run(tmp_path / "tuned", corpus=tuning.corpus)
    assert run.corpus.classes == tuning.corpus.classes
    assert run.subject.classes == 2
    again = fine_tune(tuning, tmp_path / "again")
    assert [epoch["loss"] for epoch in again["epochs"]] == [epoch["loss"] for epoch in record["epochs"]]
    one, other = (load_checkpoint(tmp_path / name)[0].state_dict() for name in ("tuned", "again"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    with pytest.raises(AttentestError, match="is there already"):
        fine_tune(made_up_run(checkpoint, 80, epochs=3), tmp_path / "tuned")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "base", "tuned"]


def test_the_same_command_again_trains_nothing_and_another_is_refused(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = made_up_run(checkpoint, epochs=1)
    record = fine_tune(short, tmp_path / "tuned")
    monkeypatch.setattr(fine_tuned, "train", lambda *_, **__: pytest.fail("It was trained again."))
    assert fine_tune(short, tmp_path / "tuned") == record
    path = tmp_path / "tuned" / fine_tuned.RECORD
    whole = path.read_text()
    for damaged in ("", "[]", whole.replace('"number"', '"count"')):
        path.write_text(damaged)
        with pytest.raises(AttentestError, match="is there already"):
            fine_tune(short, tmp_path / "tuned")
    path.write_text(whole)
    for other in ({"seed": 1}, {"epochs": 6}):
        with pytest.raises(AttentestError, match="is there already"):
            fine_tune(made_up_run(checkpoint, **{"epochs": 1, **other}), tmp_path / "tuned")
    with quietly():  # other weights under the same name
        tiny("bert", size=len(tokenizer_of()), sharp=2.0).bert.save_pretrained(checkpoint)
    with pytest.raises(AttentestError, match="is there already"):
        fine_tune(made_up_run(checkpoint, epochs=1), tmp_path / "tuned")


def test_a_name_on_the_hub_is_fetched(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(described, "fetched", lambda name, endings: checkpoint / name)
    assert described.checkpoint_folder("owner/name", hub=True) == checkpoint / "owner/name"
    with pytest.raises(AttentestError, match="no checkpoint there"):
        described.checkpoint_folder("owner/name")
