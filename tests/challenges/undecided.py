"""A model that cannot make up its mind: its states speak for different classes, so that decisions flip."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges.challenge import Examination
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import DecodedReading


@torch.no_grad()
def undecided(
    classes: int = 2,
    low: int = 1,
    high: int = 9,
    *,
    affine: bool = True,
    rows: list[int] | None = None,
    bias: float = 0.0,
    seed: int = 0,
) -> Examination:
    """Texts whose logits lie about zero, plus a bias for the last class."""
    split = made_up_split(24, low, high)
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), split, classes)
    linear = model.head.linear
    linear.weight *= 8
    linear.bias -= model.read(whole(encoded)).logits[:, -len(linear.bias) :].mean(0)
    linear.bias[-1] += bias
    batch = whole(encoded) if rows is None else encoded.batch(np.array(rows))
    reading = model.read(batch)
    if not affine:
        given = (reading.logits, reading.weights, reading.mask, reading.states, reading.embeddings)
        reading = DecodedReading(*given, model.head)
    tokens = pa.concat_arrays(split.table["tokens"].take(pa.array(batch.rows.numpy())).chunks)
    return Examination(model, batch, reading, seed, tokens)


def with_weights(examined: Examination, weights: torch.Tensor) -> Examination:
    """The same texts under other weights."""
    logits = examined.reading.reread(weights[:, None])[:, 0]
    reading = dataclasses.replace(examined.reading, weights=weights, logits=logits)
    return Examination(examined.subject, examined.batch, reading, examined.seed, examined.tokens)
