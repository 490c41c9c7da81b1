"""A single text that asks with its own summary: the query changes with every word, and nobody may hold it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.explainers.small_models import Plain

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.certificates import delete_literally
from attentest.models.architecture import OWN, QUERIES, Architecture
from attentest.models.networks.classifier import is_shareable
from attentest.models.parts.attention import ATTENTIONS, AttentionNetwork, ScaledDot
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import Joint
from attentest.models.shared_work.same_words import distinct_words, reader_of
from attentest.models.shared_work.substitution import replaceable

ENCODER_TEXTS = ("bilstm(hidden=8)", "bigru(hidden=8)", "convolution(filters=4)", "average(hidden=8)", "none")
KINDS = list(itertools.product(ENCODER_TEXTS, ("additive", "dot", "dot(mapped=False)", "uniform", "random"), (2, 3)))


def asking(
    encoder: str = "bilstm(hidden=8)", attention: str = "additive", classes: int = 2, split: Split | None = None
):
    made = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10, query=OWN)
    return classifier(made, made_up_split() if split is None else split, classes)


@pytest.mark.parametrize(("encoder", "attention", "classes"), KINDS)
def test_own_weights_put_back_reproduce_the_output_and_no_batch_around_a_text_changes_it(encoder, attention, classes):
    model, encoded = asking(encoder, attention, classes)
    with torch.no_grad():
        reading = model.read(whole(encoded))
        assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-6)
        for row in range(len(encoded)):
            alone = model.read(encoded.batch(np.array([row])))
            width = alone.weights.shape[1]
            assert torch.allclose(reading.weights[row, :width], alone.weights[0], atol=1e-6)
            assert torch.allclose(reading.logits[row], alone.logits[0], atol=1e-5)


@pytest.mark.parametrize("encoder", ["bilstm(hidden=8)", "average(hidden=8)"])
@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_a_plain_twin_says_the_same_one_text_at_a_time(encoder, attention):
    model, encoded = asking(encoder, attention)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        for row in range(len(batch)):
            length = int(batch.text.lengths[row])
            words = model.embedding.weight[batch.text.tokens[row, :length]]
            if encoder.startswith("bilstm"):
                right = model.encoder.rightward(words[None])[0][0]
                left = model.encoder.leftward(words.flip(0)[None])[0][0]
                query = torch.cat([right[-1], left[-1]])
                states = torch.cat([right, left.flip(0)], -1)[1:-1]
            else:
                states = torch.relu(model.encoder.linear(words))[1:-1]
                query = states.mean(0)
            keys = states @ model.attention.keys.weight.T
            if attention == "additive":
                layer = (keys + model.attention.keys.bias + model.attention.of_query(query)).tanh()
                energies = layer @ model.attention.vector.weight[0]
            else:
                energies = keys @ query / model.encoder.size**0.5
            weights = energies.softmax(0)
            assert torch.allclose(reading.weights[row][batch.mask[row]], weights, atol=1e-6)
            logits = model.head.linear(weights @ states)
            assert torch.allclose(reading.logits[row, 1:], logits, atol=1e-5)


@pytest.mark.parametrize(("encoder", "attention", "classes"), [kind for kind in KINDS if kind[2] == 2])
def test_deleting_each_token_equals_encoding_every_shortened_text(encoder, attention, classes):
    split = made_up_split(low=2)
    model, encoded = asking(encoder, attention, classes, split)
    batch, vocabulary = whole(encoded), Vocabulary.from_split(split)
    with torch.no_grad():
        fast = model.delete_each(batch)
        for row, text in enumerate(split.table["tokens"].to_pylist()):
            shorter = [text[:t] + text[t + 1 :] for t in range(len(text))]
            made = Encoded.of(Split.of(["x"] * len(text), shorter, [0] * len(text)), vocabulary)
            keys = np.full(len(text), int(batch.keys[row]))
            slow = model.read(whole(replace(made, keys=keys))).logits
            assert torch.allclose(fast[row, 1 : len(text) + 1], slow, atol=5e-6)
        for row in range(3):
            slow = delete_literally(model, batch, row)
            places = slow.abs().sum(-1).nonzero()[:, 0]
            assert torch.allclose(fast[row, places].double(), slow[places], atol=5e-6)


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_the_gradient_goes_through_the_query_and_equals_differences_of_outputs(encoder, attention):
    model, encoded = asking(encoder, attention)
    model, batch = model.double(), whole(encoded)
    leaf = model.embed(batch).detach().requires_grad_()
    (slope,) = torch.autograd.grad(model.read(batch, embeddings=leaf).logits[:, 1].sum(), leaf)
    generator = torch.Generator().manual_seed(1)
    direction = torch.randn(leaf.shape, generator=generator, dtype=torch.double)
    with torch.no_grad():
        apart = [model.read(batch, embeddings=leaf + sign * 1e-5 * direction).logits[:, 1] for sign in (1, -1)]
        held = model.queries_of(batch)
    assert torch.allclose((slope * direction).sum((1, 2)), (apart[0] - apart[1]) / 2e-5, atol=1e-6)
    # Were the query held, the slope would be another.
    states = model.encoder(leaf, batch.text.lengths)
    weights = model.attention(states, batch.mask, held.attention)
    (other,) = torch.autograd.grad(model.head((weights[:, None] @ states)[:, 0])[:, 1].sum(), leaf)
    assert not torch.allclose(slope, other, atol=1e-4)


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_nothing_is_shared_between_texts_with_different_queries(encoder):
    model, encoded = asking(encoder)
    batch, instead = whole(encoded), torch.randn(10)
    assert not is_shareable(model)
    assert not replaceable(model)
    with torch.no_grad():
        words, index = distinct_words(model, batch)
        words = torch.cat([words, instead[None]])
        changed = index.clone()
        changed[:, 1] = len(words) - 1
        embeddings = model.embed(batch).clone()
        embeddings[:, 1] = instead
        found = reader_of(model, words)(batch, changed)
        assert torch.allclose(found, model.read(batch, embeddings=embeddings).logits, atol=1e-5)


@pytest.mark.parametrize("method", ["gradient", "integrated_gradients(n_steps=16)", "occlusion", "leave_one_out"])
def test_explainers_say_what_they_say_of_a_model_they_know_nothing_of(method):
    model, encoded = asking()
    batch, explainer = whole(encoded), EXPLAINERS.parse(method)
    with torch.no_grad():
        reading = model.read(batch)
        ours, plain = (explainer.scores(subject, batch, reading).double() for subject in (model, Plain(model)))
    assert torch.allclose(ours, plain, atol=1e-5)


class Held(AttentionNetwork):
    """Weights as they were given."""

    def __init__(self, weights: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("weights", weights.double())

    def weigh(self, keys, mask, query=None):
        return self.weights

    def replay(self, states, mask, query=None):
        return states.map(lambda s: 0 * s[..., 0]).settled(self.weights.log().clamp(min=-1e3)).softmax(mask)


@pytest.mark.parametrize("attention", ["additive", "dot", "random"])
def test_lrp_holds_the_weights_and_so_equals_that_of_a_model_that_was_given_them(attention):
    model, encoded = asking(attention=attention)
    batch, explainer = whole(encoded), EXPLAINERS.parse("lrp")
    with torch.no_grad():
        reading = model.read(batch)
        found = explainer.explain(model, batch, reading)
        model.attention = Held(reading.weights)
        model.architecture = replace(model.architecture, query="")
        held = explainer.explain(model, batch, reading)
    assert torch.allclose(found.scores, held.scores, atol=1e-6)  # computed in 32 bits


def test_another_texts_summary_is_the_other_query_of_gating():
    split = made_up_split(10, low=3, high=9)
    model, encoded = asking(split=split)
    batch = whole(encoded)
    borrowed: list[np.ndarray] = []

    def donors(rows: np.ndarray):
        borrowed.append(rows)
        return encoded.batch(rows)

    with torch.no_grad():
        tokens = pa.concat_arrays(split.table["tokens"].chunks)
        examined = Examination(model, batch, model.read(batch), 0, tokens, texts=10, donors=donors)
        table = CHALLENGES.parse("gating").examine(examined).to_pylist()
        asked = [row for row in table if row["swapped"] == "query"]
        assert len(asked) == 10
        for i, row in enumerate(asked):
            other = encoded.batch(borrowed[0][i : i + 1])
            query = model.encoder.summary(
                model.encoder(model.embed(other), other.text.lengths), other.text.lengths, other.mask
            )
            weights = model.attention(examined.reading.states[i : i + 1], batch.mask[i : i + 1], query)
            z = examined.reading.token_logits[i : i + 1]
            chances = (weights[..., None, :] @ z)[:, 0].double().softmax(-1)[0]
            moved = (chances - examined.probabilities[i]).abs().sum() / 2
            assert row["query_change"] == pytest.approx(float(moved), abs=1e-5)
    assert not any(row["gate"] for row in table)


def test_the_head_does_not_see_the_query_and_there_is_no_second_text():
    model, encoded = asking(classes=2)
    assert type(model.head).__name__ == "OneSigmoidNetwork"
    assert type(asking(classes=3)[0].head).__name__ == "SoftmaxNetwork"
    assert model.second_text() is None
    assert model.queries_of(whole(encoded)).head is None
    assert model.read(whole(encoded)).token_logits is not None
    made = Architecture(query=OWN)
    assert not made.pairs
    assert Architecture.from_record(made.to_record()) == made
    assert all(Architecture(query=query).pairs for query in QUERIES)


@pytest.mark.parametrize(("given", "said"), [
    ({"structure": "hierarchical"}, "structure flat"),
    ({"head": Joint()}, "second text"),
])  # fmt: skip
def test_what_a_single_text_cannot_ask_with_is_refused_in_one_line(given, said):
    with pytest.raises(InputError, match=said):
        Architecture(query=OWN, **given)


def test_a_given_query_has_no_first_weights():
    with pytest.raises(InputError, match="Leave out init"):
        asking(attention="dot(init='normal')")
    assert ScaledDot(init="normal").build(4).keys.weight.shape == (1, 4)
