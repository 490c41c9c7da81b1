"""Transformers that are trained from random weights: what is known is what was trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from attentest.calibration.families import transformers
from attentest.calibration.families.transformers import TrainedTransformer, members, random_checkpoint
from attentest.calibration.truth import truth_of
from attentest.data.batches import Encoded
from attentest.data.worlds.simple import Keyword
from attentest.runs.execute import execute


def test_a_random_checkpoint_is_made_once_and_the_same_again(tmp_path, monkeypatch):
    found = []
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        monkeypatch.setattr(transformers.tempfile, "tempdir", str(tmp_path / place))
        folder = random_checkpoint(Keyword(), 1, 0)
        assert folder == random_checkpoint(Keyword(), 1, 0)
        found.append((folder / "model.safetensors").read_bytes())
    assert found[0] == found[1]


def test_the_model_that_was_trained_is_the_one_that_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(transformers, "TEXTS", 600)
    monkeypatch.setattr(transformers, "EPOCHS", 2)
    monkeypatch.setattr(transformers.tempfile, "tempdir", str(tmp_path))
    member = TrainedTransformer("transformer of 2 layers, head", "world-keyword")
    assert replace(member, world="world-any") in list(members(quick=False))
    run = member.run(["uniform"], 20)
    folder = execute(run, tmp_path / "runs", workers=1)
    known = member.known(folder, 20)
    split = run.examined()
    with torch.no_grad():
        reading = known.subject.read(Encoded.of(split, known.vocabulary).batch(np.arange(len(split))))
    assert reading.predicted.tolist() == folder.findings("instances").table["predicted"].to_pylist()
    truth = truth_of(known.subject, known.texts[:2], known.vocabulary, orders=8)
    assert not np.isnan(truth.words).all()
    assert not np.isnan(truth.states).all()
