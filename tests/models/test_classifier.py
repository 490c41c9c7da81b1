from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS, masked_softmax
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS
from attentest.models.subject import DecodedReading

ENCODER_TEXTS = ("bilstm(hidden=8)", "bigru(hidden=8)", "convolution(filters=4)", "average(hidden=8)", "none")
KINDS = list(itertools.product(ENCODER_TEXTS, ("additive", "dot", "uniform"), (2, 3)))


def architecture(encoder: str, attention: str, head: str | None = None) -> Architecture:
    return Architecture(
        ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None if head is None else HEADS.parse(head), 10
    )


@pytest.mark.parametrize(("encoder", "attention", "classes"), KINDS)
def test_own_weights_put_back_reproduce_the_output(encoder, attention, classes, split):
    model, encoded = classifier(architecture(encoder, attention), split, classes)
    with torch.no_grad():
        reading = model.read(whole(encoded))
    again = reading.reread(reading.weights[:, None])[:, 0]
    assert torch.allclose(again, reading.logits, atol=1e-6)


@pytest.mark.parametrize(("encoder", "attention", "classes"), KINDS)
def test_weights_are_a_distribution_over_real_tokens_only(encoder, attention, classes, split):
    model, encoded = classifier(architecture(encoder, attention), split, classes)
    reading = model.read(whole(encoded))
    assert torch.all(reading.weights[~reading.mask] == 0)
    assert torch.allclose(reading.weights.sum(-1), torch.ones(len(split)), atol=1e-6)


@pytest.mark.parametrize(("encoder", "attention", "classes"), KINDS)
def test_a_reading_does_not_depend_on_the_batch_around_it(encoder, attention, classes, split):
    model, encoded = classifier(architecture(encoder, attention), split, classes)
    with torch.no_grad():
        together = model.read(whole(encoded))
        for row in range(len(split)):
            alone = model.read(encoded.batch(np.array([row])))
            width = alone.weights.shape[1]
            assert torch.allclose(together.weights[row, :width], alone.weights[0], atol=1e-6)
            assert torch.allclose(together.logits[row], alone.logits[0], atol=1e-5)


@pytest.mark.parametrize(("encoder", "attention", "classes"), KINDS)
def test_deleting_each_token_equals_encoding_every_shortened_text(encoder, attention, classes):
    split = made_up_split(low=2)
    model, encoded = classifier(architecture(encoder, attention), split, classes)
    vocabulary = Vocabulary.from_split(split)
    texts = split.table["tokens"].to_pylist()
    with torch.no_grad():
        fast = model.delete_each(whole(encoded))
        for row, text in enumerate(texts):
            shorter = [text[:t] + text[t + 1 :] for t in range(len(text))]
            deleted = Split.of([str(i) for i in range(len(text))], shorter, [0] * len(text))
            slow = model.read(whole(Encoded.of(deleted, vocabulary))).logits
            assert torch.allclose(fast[row, 1 : len(text) + 1], slow, atol=2e-6)


def test_a_sigmoid_head_shows_two_logits_whose_softmax_is_the_sigmoid(split):
    model, encoded = classifier(architecture("average(hidden=8)", "additive", "sigmoid"), split)
    reading = model.read(whole(encoded))
    assert torch.all(reading.logits[:, 0] == 0)
    assert torch.allclose(reading.probabilities[:, 1], reading.logits[:, 1].sigmoid())


def test_a_head_that_is_not_affine_is_reread_by_decoding_the_new_context(split):
    model, encoded = classifier(architecture("average(hidden=8)", "additive"), split)
    affine = model.read(whole(encoded))
    decoded = DecodedReading(affine.logits, affine.weights, affine.mask, affine.states, affine.embeddings, model.head)
    others = masked_softmax(torch.randn(len(split), 5, affine.mask.shape[1]), affine.mask[:, None])
    assert decoded.token_logits is None
    assert torch.allclose(decoded.reread(others), affine.reread(others), atol=1e-5)


def test_the_same_generator_gives_the_same_model_and_leaves_the_global_one_alone(split):
    before = torch.get_rng_state()
    first, encoded = classifier(architecture("bilstm(hidden=4)", "dot"), split, seed=3)
    second, _ = classifier(architecture("bilstm(hidden=4)", "dot"), split, seed=3)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(first.read(whole(encoded)).logits, second.read(whole(encoded)).logits)


def test_detached_attention_takes_no_gradient(split):
    model, encoded = classifier(architecture("bilstm(hidden=4)", "additive"), split)
    model.read(whole(encoded), detach_attention=True).logits.sum().backward()
    assert all(p.grad is None for p in model.attention.parameters())


def test_an_architecture_survives_its_record():
    for encoder, attention, head in itertools.product(ENCODER_TEXTS, ("additive", "dot"), (None, "softmax")):
        made = architecture(encoder, attention, head)
        assert Architecture.from_record(made.to_record()) == made


def test_states_of_one_number_have_a_hidden_layer_too():
    network = ATTENTIONS.parse("additive").build(1, None)
    keys = network.keys(torch.tensor([[[-1.0], [0.5], [2.0]]]))
    with torch.no_grad():
        weights = network.weigh(keys, torch.ones(1, 3, dtype=torch.bool))
    assert keys.shape[-1] == 1
    assert len(set(weights[0].tolist())) == 3
    head = HEADS.parse("joint_tanh").build(1, 2, 1)
    assert not torch.equal(*(head(torch.tensor([[x]]), torch.zeros(1, 1)) for x in (-1.0, 1.0)))
