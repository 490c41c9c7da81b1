"""An aspect beside every word and as the query (ATAE-LSTM), against the same in plain torch, one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.conftest import whole
from tests.support.pairs import made_up_pairs, pair_model

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.explainers.certificates import delete_literally
from attentest.models.architecture import Architecture
from attentest.models.networks.classifier import is_shareable
from attentest.models.parts.heads import Joint
from attentest.models.shared_work.same_words import distinct_words, reader_of


def asked(encoder: str = "bilstm(hidden=6)", attention: str = "additive", head: str | None = None, **given):
    return pair_model(encoder, attention, head, "aspect", **given)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_plain_twin_says_the_same(classes):
    model, encoded = asked(classes=classes)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        for row in range(len(batch)):
            words = model.embedding.weight[batch.text.tokens[row, : batch.text.lengths[row]]]
            aspect = model.embedding.weight[batch.second.tokens[row][batch.second.mask[row]]].mean(0)
            x = torch.cat([words, aspect.expand(len(words), -1)], -1)
            right, left = model.encoder.rightward(x[None])[0][0], model.encoder.leftward(x.flip(0)[None])[0][0]
            states = torch.cat([right, left.flip(0)], -1)[1:-1]
            layer = (model.attention.keys(states) + model.attention.of_query(aspect)).tanh()
            weights = (layer @ model.attention.vector.weight[0]).softmax(0)
            logits = model.head.linear(weights @ states)
            assert torch.allclose(reading.weights[row][batch.mask[row]], weights, atol=1e-6)
            assert torch.allclose(reading.logits[row, -len(logits) :], logits, atol=1e-5)
    assert type(model.head).__name__ == ("OneSigmoidNetwork" if classes == 2 else "SoftmaxNetwork")
    assert reading.token_logits is not None


@pytest.mark.parametrize("encoder", ["bilstm(hidden=6)", "bigru(hidden=6)", "convolution(filters=4)", "none"])
def test_deletion_from_either_text_equals_reading_every_shortened_pair(encoder):
    split = made_up_pairs(low=2)
    model, encoded = asked(encoder, split=split)
    batch, vocabulary = whole(encoded), Vocabulary.from_split(split)
    texts, seconds = (split.table[name].to_pylist() for name in ("tokens", "second"))

    def read(first: list[list[str]], second: list[list[str]]) -> torch.Tensor:
        made = Split.of(["x"] * len(first), first, [0] * len(first), second=second)
        return model.read(whole(Encoded.of(made, vocabulary))).logits

    with torch.no_grad():
        deleted, of_aspect = model.delete_each(batch), model.second_text().delete_each(batch.swapped())
        for row, (text, other) in enumerate(zip(texts, seconds, strict=True)):
            slow = read([text[:t] + text[t + 1 :] for t in range(len(text))], [other] * len(text))
            assert torch.allclose(deleted[row, 1 : len(text) + 1], slow, atol=5e-6)
            slow = read([text] * len(other), [other[:t] + other[t + 1 :] for t in range(len(other))])
            assert torch.allclose(of_aspect[row, 1 : len(other) + 1], slow, atol=5e-6)
        literal = delete_literally(model, batch, 0)
        places = literal.abs().sum(-1).nonzero()[:, 0]
        assert torch.allclose(deleted[0, places].double(), literal[places], atol=5e-6)


def test_gradients_at_the_words_hold_the_aspect_and_those_at_the_aspect_go_all_its_ways():
    model, encoded = asked()
    model, batch = model.double(), whole(encoded)
    words = model.embed(batch).detach().requires_grad_()
    aspect = model.second_embeddings(batch.second.tokens).detach().requires_grad_()
    generator = torch.Generator().manual_seed(0)
    logits = model.read(batch, embeddings=words, second_embeddings=aspect).logits[:, 1]
    for leaf in (words, aspect):
        (slope,) = torch.autograd.grad(logits.sum(), leaf, retain_graph=True)
        along = torch.randn(leaf.shape, generator=generator, dtype=torch.double)
        with torch.no_grad():
            ends = [
                model.read(
                    batch,
                    embeddings=words + (sign * along if leaf is words else 0),
                    second_embeddings=aspect + (sign * along if leaf is aspect else 0),
                ).logits[:, 1]
                for sign in (1e-5, -1e-5)
            ]
        assert torch.allclose((slope * along).sum((1, 2)), (ends[0] - ends[1]) / 2e-5, atol=1e-6)
    given = EXPLAINERS.parse("gradient").scores(
        model.second_text(), batch.swapped(), model.second_text().read(batch.swapped())
    )
    assert (given.abs().sum(-1) > 0).all()


def test_an_aspect_that_lost_its_words_is_nothing():
    model, encoded = asked(split=made_up_pairs(low=1, high=1))
    batch = whole(encoded)
    with torch.no_grad():
        found = model.second_text().delete_each(batch.swapped())
        nothing = model.read(batch, second_embeddings=torch.zeros(len(batch), batch.second.tokens.shape[1], 10))
    assert torch.allclose(found[:, 1], nothing.logits, atol=1e-5)


def test_nothing_is_shared_that_would_leave_the_aspect_out():
    model, encoded = asked()
    batch = whole(encoded)
    rows = torch.tensor([3, 1, 3, 0])
    assert not is_shareable(model)
    with torch.no_grad():
        words, index = distinct_words(model, batch[rows])
        assert torch.allclose(reader_of(model, words)(batch[rows], index), model.read(batch).logits[rows], atol=1e-5)


@pytest.mark.parametrize("encoder", ["bilstm(hidden=6)", "convolution(filters=4)", "average(hidden=8)"])
def test_relevance_and_differences_add_up_with_what_the_aspect_keeps(encoder):
    model, encoded = asked(encoder)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        relevance = EXPLAINERS.parse("lrp").explain(model, batch, reading)
        difference = EXPLAINERS.parse("deep_lift").explain(model, batch, reading)
    assert torch.isfinite(relevance.scores).all()
    gaps = [values for name, values in relevance.certificate.items() if "gap" in name]
    assert gaps
    assert all(float(values.abs().max()) < 1e-6 for values in gaps)
    assert float(difference.certificate["summation_gap"].max()) < 1e-4


def test_its_head_may_see_the_aspect_and_it_survives_its_record():
    model, encoded = asked(head="joint")
    batch = whole(encoded)
    with torch.no_grad():
        assert model.queries_of(batch).head.shape == (len(batch), 10)
        assert model.read(batch).token_logits is not None
    made = Architecture(head=Joint(), query="aspect")
    assert made.pairs
    assert made.inputs == 600
    assert Architecture.from_record(made.to_record()) == made
    assert np.array_equal([Architecture(query=q).inputs for q in ("", "shared")], [300, 300])
