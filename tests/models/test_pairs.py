"""Attention with a query: the second text of a pair is an argument of attention and head, and nothing else changes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.conftest import whole
from tests.support.pairs import made_up_pairs, pair_model
from torch import nn

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.explainers.certificates import delete_literally
from attentest.models.architecture import QUERIES, Architecture
from attentest.models.parts.attention import Random, masked_softmax
from attentest.models.parts.encoders import BiGRU, BiLSTM, Convolution
from attentest.models.parts.heads import Joint, JointTanh, Softmax
from attentest.models.shared_work.same_words import distinct_words, reader_of
from attentest.models.subject import AffineReading, DecodedReading

ENCODERS = ("bilstm(hidden=6)", "bigru(hidden=6)", "convolution(filters=4)", "average(hidden=8)", "none")
HEADS = ("softmax", "joint", "joint_tanh")
KINDS = [
    (encoder, attention, head, query)
    for encoder, attention, head, query in itertools.product(
        ENCODERS, ("additive", "dot", "uniform", "random"), HEADS, QUERIES
    )
    if query != "conditional" or encoder.startswith("bi")
]
FEW = [kind for kind in KINDS if kind[0] == ENCODERS[0] or kind[1:] == ("additive", "joint", "separate")]


@pytest.mark.parametrize(("encoder", "attention", "head", "query"), KINDS)
def test_own_weights_put_back_reproduce_the_output(encoder, attention, head, query):
    model, encoded = pair_model(encoder, attention, head, query)
    with torch.no_grad():
        reading = model.read(whole(encoded))
    assert torch.allclose(reading.weights.sum(-1), torch.ones(len(encoded)), atol=1e-6)
    assert torch.all(reading.weights[~reading.mask] == 0)
    again = reading.reread(reading.weights[:, None])[:, 0]
    assert torch.allclose(again, reading.logits, atol=2e-6)


@pytest.mark.parametrize(("encoder", "attention", "head", "query"), FEW)
def test_a_reading_does_not_depend_on_the_batch_around_it(encoder, attention, head, query):
    model, encoded = pair_model(encoder, attention, head, query)
    with torch.no_grad():
        together = model.read(whole(encoded))
        for row in range(len(encoded)):
            alone = model.read(encoded.batch(np.array([row])))
            width = alone.weights.shape[1]
            assert torch.allclose(together.weights[row, :width], alone.weights[0], atol=1e-6)
            assert torch.allclose(together.logits[row], alone.logits[0], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "attention", "head", "query"), [k for k in KINDS if k in FEW or k[2] == "joint"])
def test_deleting_each_token_of_either_text_equals_encoding_every_shortened_pair(encoder, attention, head, query):
    split = made_up_pairs(low=2)
    model, encoded = pair_model(encoder, attention, head, query, split=split)
    batch = whole(encoded)
    vocabulary = Vocabulary.from_split(split)
    texts, seconds = (split.table[name].to_pylist() for name in ("tokens", "second"))

    def literal(row: int, shorter: list[list[str]], others: list[list[str]]) -> torch.Tensor:
        made = Encoded.of(Split.of(["x"] * len(shorter), shorter, [0] * len(shorter), second=others), vocabulary)
        keys = np.full(len(shorter), int(batch.keys[row]))
        return model.read(whole(replace(made, keys=keys))).logits

    with torch.no_grad():
        first = model.delete_each(batch)
        second = model.second_text().delete_each(batch.swapped())
        for row, (text, other) in enumerate(zip(texts, seconds, strict=True)):
            shorter = [text[:t] + text[t + 1 :] for t in range(len(text))]
            slow = literal(row, shorter, [other] * len(text))
            assert torch.allclose(first[row, 1 : len(text) + 1], slow, atol=5e-6)
            shorter = [other[:t] + other[t + 1 :] for t in range(len(other))]
            slow = literal(row, [text] * len(other), shorter)
            assert torch.allclose(second[row, 1 : len(other) + 1], slow, atol=5e-6)


def test_the_literal_loop_of_certificates_reads_pairs_too():
    model, encoded = pair_model("bilstm(hidden=6)", "additive", "joint", "conditional")
    batch = whole(encoded)
    with torch.no_grad():
        fast = model.delete_each(batch)
    for row in range(3):
        slow = delete_literally(model, batch, row)
        places = slow.abs().sum(-1).nonzero()[:, 0]
        assert torch.allclose(fast[row, places].double(), slow[places], atol=5e-6)


class Twin(nn.Module):
    """Jain & Wallace's pair model in plain torch, one pair at a time, with the weights of ours."""

    def __init__(self, model, conditional: bool) -> None:
        super().__init__()
        self.model, self.conditional = model, conditional

    @staticmethod
    def run(encoder, x, start=None):
        right, end_right = encoder.rightward(x[None], None if start is None else start[0])
        left, end_left = encoder.leftward(x.flip(0)[None], None if start is None else start[1])
        return torch.cat([right[0], left[0].flip(0)], -1), (end_right, end_left), torch.cat([right[0, -1], left[0, -1]])

    def forward(self, text, second):
        m = self.model
        states, ended, _ = self.run(m.encoder, m.embedding.weight[text])
        table = m.embedding if self.conditional else m.second_embedding
        start = ended if self.conditional else None
        _, _, query = self.run(m.second_encoder, table.weight[second], start)
        states = states[1:-1]
        energies = (m.attention.keys(states) + m.attention.of_query(query)).tanh() @ m.attention.vector.weight[0]
        weights = energies.softmax(0)
        context = weights @ states
        layer = (m.head.of_context(context) + m.head.of_query(query)).tanh()
        return m.head.linear(layer), weights


@pytest.mark.parametrize("query", ["separate", "conditional"])
@pytest.mark.parametrize("encoder", ["bilstm(hidden=6)", "bigru(hidden=6)"])
def test_a_plain_twin_of_the_papers_models_says_the_same(encoder, query):
    model, encoded = pair_model(encoder, "additive", "joint_tanh", query)
    batch, twin = whole(encoded), Twin(model, query == "conditional")
    with torch.no_grad():
        reading = model.read(batch)
        for row in range(len(batch)):
            text = batch.text.tokens[row, : batch.text.lengths[row]]
            logits, weights = twin(text, batch.second.tokens[row, : batch.second.lengths[row]])
            assert torch.allclose(reading.logits[row], logits, atol=1e-5)
            assert torch.allclose(reading.weights[row][batch.mask[row]], weights, atol=1e-6)


def test_dot_attention_is_the_product_of_key_and_query():
    model, encoded = pair_model("bilstm(hidden=6)", "dot", "joint", "shared")
    batch = whole(encoded)
    with torch.no_grad():
        reading, query = model.read(batch), model.queries_of(batch).head
        energies = torch.einsum("bts,qs,bq->bt", reading.states, model.attention.keys.weight, query)
        assert torch.allclose(reading.weights, masked_softmax(energies / 12**0.5, batch.mask), atol=1e-5)


@pytest.mark.parametrize("head", ["softmax", "joint"])
def test_both_affine_wirings_show_logits_per_token_that_add_up_under_any_weights(head):
    model, encoded = pair_model("bilstm(hidden=6)", "additive", head, "separate")
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        assert isinstance(reading, AffineReading)
        query = model.queries_of(batch).head
        own = reading.states @ model.head.linear.weight.T + model.head.linear.bias
        if head == "joint":
            own = own + (query @ model.head.of_query.weight.T)[:, None]
        assert torch.allclose(reading.token_logits, own, atol=1e-5)
        others = masked_softmax(torch.randn(len(batch), 4, batch.mask.shape[1]), batch.mask[:, None])
        contexts = others @ reading.states
        for k in range(4):
            assert torch.allclose(reading.reread(others)[:, k], model.head(contexts[:, k], query), atol=1e-5)


def test_the_papers_head_is_decoded_again_with_each_pairs_own_query():
    model, encoded = pair_model("bilstm(hidden=6)", "additive", "joint_tanh", "separate")
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        assert isinstance(reading, DecodedReading)
        others = masked_softmax(torch.randn(len(batch), 4, batch.mask.shape[1]), batch.mask[:, None])
        contexts, query = others @ reading.states, model.queries_of(batch).head
        for k in range(4):
            assert torch.allclose(reading.reread(others)[:, k], model.head(contexts[:, k], query), atol=1e-5)


@pytest.mark.parametrize(("attention", "head", "sees"), [
    ("uniform", "softmax", False),
    ("random", "softmax", False),
    ("uniform", "joint", True),
    ("additive", "softmax", True),
])  # fmt: skip
def test_under_uniform_weights_a_head_that_sees_the_context_alone_cannot_see_the_query(attention, head, sees):
    model, encoded = pair_model("bilstm(hidden=6)", attention, head, "separate")
    batch = whole(encoded)
    order = torch.arange(len(batch)).roll(1)
    other = Batch(batch.text, batch.labels, batch.rows, batch.keys, batch.second[order])
    with torch.no_grad():
        same = torch.equal(model.read(batch).logits, model.read(other).logits)
    assert same != sees


@pytest.mark.slow
@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("method", ["gradient", "gradient_x_input", "integrated_gradients", "occlusion", "lrp"])
def test_explainers_give_a_pair_alone_the_scores_it_has_among_others(kind, method):
    model, encoded = pair_model(*kind)
    explainer, batch = EXPLAINERS.parse(method), whole(encoded)
    with torch.no_grad():
        found = explainer.scores(model, batch, model.read(batch))
        alone = encoded.batch(np.array([4]))
        by_itself = explainer.scores(model, alone, model.read(alone))
    width = by_itself.shape[1]
    assert torch.allclose(found[4, :width].double(), by_itself[0].double(), atol=2e-4)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("head", HEADS)
def test_integrated_gradients_of_either_text_add_up_to_the_change_of_the_margin(query, head):
    model, encoded = pair_model("bilstm(hidden=6)", "additive", head, query)
    batch = whole(encoded)
    explainer = EXPLAINERS.parse("integrated_gradients(n_steps=64, tolerance=0.01)")
    for subject, given in ((model, batch), (model.second_text(), batch.swapped())):
        with torch.no_grad():
            reading = subject.read(given)
        found = explainer.explain(subject, given, reading)
        assert found.scores.shape == given.mask.shape
        assert torch.isfinite(found.scores).all()
        gap = next(values for name, values in found.certificate.items() if "gap" in name or "error" in name)
        assert float(gap.abs().max()) < 0.05


def test_the_gradient_at_the_second_text_is_that_of_the_whole_path():
    model, encoded = pair_model("bilstm(hidden=6)", "additive", "softmax", "separate")
    batch = whole(encoded)
    swapped, view = batch.swapped(), model.second_text()
    with torch.no_grad():
        reading = view.read(swapped)
    found = EXPLAINERS.parse("gradient").scores(view, swapped, reading)
    leaf = model.second_embedding(batch.second.tokens).detach().requires_grad_()
    logits = model.read(batch, second_embeddings=leaf).logits
    wanted = logits.gather(1, reading.predicted[:, None])[:, 0]
    others = logits.scatter(1, reading.predicted[:, None], -torch.inf).logsumexp(-1)
    (slope,) = torch.autograd.grad((wanted - others).sum(), leaf)
    assert torch.allclose(found, (slope * leaf).sum(-1).abs() * batch.second.mask, atol=1e-5)
    with pytest.raises(NotApplicable, match="second text"):
        view.read(swapped).reread(reading.weights[:, None])


def test_erased_texts_are_read_with_their_own_second_texts():
    model, encoded = pair_model("bilstm(hidden=6)", "additive", "joint_tanh", "separate")
    batch = whole(encoded)
    rows = torch.tensor([3, 1, 3, 0, 1, 3])
    with torch.no_grad():
        words, index = distinct_words(model, batch[rows])
        shared = reader_of(model, words)(batch[rows], index)
        assert torch.allclose(shared, model.read(batch).logits[rows], atol=1e-5)


def test_random_weights_are_drawn_anew_in_training_and_stay_the_same_after_it():
    model, encoded = pair_model("bilstm(hidden=6)", "random", "joint", "separate")
    batch = whole(encoded)
    with torch.no_grad():
        before = model.read(batch).weights
        model.train()
        first, second = model.read(batch).weights, model.read(batch).weights
        model.eval()
        after = model.read(batch).weights
    assert torch.equal(before, after)
    assert not torch.allclose(first, second)
    assert not torch.allclose(first, before)
    assert "attention" not in model.parts


def test_random_weights_are_spread_like_normalised_uniform_numbers():
    split = Split.of([f"t{i}" for i in range(3000)], [["a", "b"]] * 3000, [0] * 3000)
    vocabulary = Vocabulary.from_split(split)
    network = Random().build(4)
    encoded = Encoded.of(split, vocabulary)
    keys = torch.from_numpy(encoded.keys)[:, None]
    weights = network.eval()(torch.zeros(3000, 2, 4), torch.ones(3000, 2, dtype=torch.bool), keys)
    assert abs(float(weights[:, 0].mean()) - 0.5) < 0.01
    # u/(u+v) for u, v ~ U(0, 1) has P(w ≤ 1/4) = 1/6.
    assert abs(float((weights[:, 0] <= 0.25).double().mean()) - 1 / 6) < 0.02


@pytest.mark.parametrize(("given", "said"), [
    ({"query": "both"}, "separate, shared, conditional"),
    ({"query": "conditional", "encoder": Convolution()}, "bilstm or bigru"),
    ({"query": "separate", "structure": "hierarchical"}, "one text"),
    ({"head": Joint()}, "second text"),
    ({"head": JointTanh()}, "second text"),
])  # fmt: skip
def test_an_architecture_that_cannot_be_is_refused_in_one_line(given, said):
    with pytest.raises(InputError, match=said):
        Architecture(**given)


def test_records_name_a_query_only_where_there_is_one():
    assert "query" not in Architecture().to_record()
    for query, head, encoder in itertools.product(
        QUERIES, (None, Softmax(), Joint(), JointTanh()), (BiLSTM(), BiGRU())
    ):
        made = Architecture(encoder=encoder, head=head, query=query)
        assert Architecture.from_record(made.to_record()) == made


def test_a_pair_model_without_second_texts_says_what_is_missing():
    model, encoded = pair_model("bilstm(hidden=6)", "additive", "joint", "separate")
    batch = whole(encoded)
    with pytest.raises(InputError, match="--second-column"):
        model.read(Batch(batch.text, batch.labels, batch.rows, batch.keys))


def test_parts_of_both_texts_can_be_drawn_anew():
    model, encoded = pair_model("bilstm(hidden=6)", "additive", "joint", "separate")
    assert model.parts == ("head", "attention", "encoder", "second_encoder", "embedding", "second_embedding")
    batch = whole(encoded)
    with torch.no_grad():
        for part in model.parts:
            assert not torch.allclose(model.randomised((part,), 3).read(batch).logits, model.read(batch).logits)


def test_vectors_are_both_texts_first_embeddings():
    vectors = torch.randn(9, 5)
    made = Architecture(BiLSTM(4), embedding=5, query="separate")
    from attentest.models.networks.classifier import Classifier

    model = Classifier(made, 9, 3, torch.Generator().manual_seed(0), vectors)
    assert torch.equal(model.embedding.weight, vectors)
    assert torch.equal(model.second_embedding.weight, vectors)
