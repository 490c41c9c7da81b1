"""A checkpoint without a head, fine-tuned by the one loop."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from tests.conftest import made_up_corpus
from tests.pretrained import tiny, tokenizer_of

from attentest.errors import AttentestError
from attentest.models.huggingface.checkpoint import load_checkpoint, quietly
from attentest.runs.existing import describe_checkpoint
from attentest.training import fine_tuning
from attentest.training.fine_tuning import FINE_TUNING, fine_tune

TRAINING = dataclasses.replace(FINE_TUNING, epochs=6, learning_rate=5e-3, batch_size=8)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    with quietly():
        tiny("bert", size=len(tokenizer_of()), sharp=1.0).bert.save_pretrained(tmp_path / "base")
        tokenizer_of().save_pretrained(tmp_path / "base")
    return tmp_path / "base"


@pytest.mark.slow
def test_it_learns_and_is_a_checkpoint_again(checkpoint: Path, tmp_path: Path) -> None:
    corpus = made_up_corpus(count=80)
    epochs = fine_tune(checkpoint, corpus, tmp_path / "tuned", training=TRAINING)
    assert max(epoch.accuracy for epoch in epochs) > 0.9
    run = describe_checkpoint(tmp_path / "tuned", corpus=corpus)
    assert run.corpus.classes == corpus.classes
    subject, _ = run.on(torch.device("cpu"))
    assert subject.classes == 2
    again = fine_tune(checkpoint, corpus, tmp_path / "again", training=TRAINING)
    assert [epoch.loss for epoch in again] == [epoch.loss for epoch in epochs]
    one, other = (load_checkpoint(tmp_path / name)[0].state_dict() for name in ("tuned", "again"))
    assert all(torch.equal(one[name], other[name]) for name in one)
    with pytest.raises(AttentestError, match="is there already"):
        fine_tune(checkpoint, corpus, tmp_path / "tuned")


def test_the_same_command_again_trains_nothing_and_another_is_refused(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, short = made_up_corpus(count=40), dataclasses.replace(TRAINING, epochs=1)
    epochs = fine_tune(checkpoint, corpus, tmp_path / "tuned", training=short)
    monkeypatch.setattr(fine_tuning, "fit", lambda *_, **__: pytest.fail("It was trained again."))
    assert fine_tune(checkpoint, corpus, tmp_path / "tuned", training=short) == epochs
    record = tmp_path / "tuned" / fine_tuning.RECORD
    whole = record.read_text()
    for damaged in ("", "[]", whole.replace('"number"', '"count"')):
        record.write_text(damaged)
        with pytest.raises(AttentestError, match="is there already"):
            fine_tune(checkpoint, corpus, tmp_path / "tuned", training=short)
    record.write_text(whole)
    for other in ({"seed": 1}, {"training": TRAINING}):
        with pytest.raises(AttentestError, match="is there already"):
            fine_tune(checkpoint, corpus, tmp_path / "tuned", **{"training": short, **other})
    with quietly():  # other weights under the same name
        tiny("bert", size=len(tokenizer_of()), sharp=2.0).bert.save_pretrained(checkpoint)
    with pytest.raises(AttentestError, match="is there already"):
        fine_tune(checkpoint, corpus, tmp_path / "tuned", training=short)
