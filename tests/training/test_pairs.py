"""Pairs are trained by the one loop, and a head that sees the context alone needs attention to answer."""

from __future__ import annotations

import pytest
import torch
from tests.support.pairs import made_up_questions

from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS
from attentest.training.checkpoints import load_network, save_network
from attentest.training.loop import Training, fit, predict

TRAINING = Training(epochs=20, batch_size=16, learning_rate=1e-2, patience=0)


def trained(attention: str, head: str, query: str = "separate", encoder: str = "bigru(hidden=12)"):
    corpus = made_up_questions()
    vocabulary = Vocabulary.from_split(corpus["train"])
    made = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), HEADS.parse(head), 16, query=query)
    model = Classifier(made, len(vocabulary), 3, torch.Generator().manual_seed(0))
    encoded = {name: Encoded.of(split, vocabulary) for name, split in corpus.splits.items()}
    fit(model, encoded["train"], encoded["dev"], TRAINING, seed=0)
    right = predict(model, encoded["test"]).argmax(-1) == encoded["test"].labels
    return model, encoded["test"], float(right.mean())


@pytest.mark.slow
@pytest.mark.parametrize(("attention", "head", "query"), [
    ("additive", "softmax", "separate"),
    ("additive", "joint", "separate"),
    ("dot", "joint_tanh", "shared"),
    ("additive", "joint_tanh", "conditional"),
])  # fmt: skip
def test_questions_are_learnt_by_asking(attention, head, query):
    assert trained(attention, head, query)[2] > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["uniform", "random"])
def test_without_attention_a_head_that_does_not_see_the_query_cannot_answer(attention):
    assert trained(attention, "softmax", encoder="average(hidden=12)")[2] < 0.8


@pytest.mark.parametrize(("attention", "query"), [("additive", "conditional"), ("random", "separate")])
def test_a_trained_pair_model_is_kept_and_found_again(tmp_path, attention, query):
    corpus = made_up_questions(24)
    vocabulary = Vocabulary.from_split(corpus["train"])
    made = Architecture(ENCODERS.parse("bilstm(hidden=4)"), ATTENTIONS.parse(attention), None, 8, query=query)
    model = Classifier(made, len(vocabulary), 3, torch.Generator().manual_seed(5))
    encoded = Encoded.of(corpus["train"], vocabulary)
    fit(model, encoded, encoded, Training(epochs=2), seed=0)
    save_network(tmp_path / "model.safetensors", model, made)
    again, architecture = load_network(tmp_path / "model.safetensors", torch.device("cpu"))
    assert architecture == made
    assert (predict(again, encoded) == predict(model, encoded)).all()
