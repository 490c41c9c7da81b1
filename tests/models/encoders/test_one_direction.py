"""Encoders that read from the first token to the last: an LSTM, and the one with orthogonal states."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.hierarchy import hierarchical, texts
from tests.support.pairs import pair_model
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.certificates import delete_literally
from attentest.explainers.explainer import margin
from attentest.models.networks.classifier import Architecture
from attentest.models.networks.signals import Absorber, Difference, Relevance
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS, LSTM, OrthogonalLSTM

LENGTHS = torch.tensor([9, 1, 5, 12, 3])
MASK = torch.arange(12) < LENGTHS[:, None]
TEXTS = ("lstm(hidden=6)", "orthogonal_lstm(hidden=6)")


def embeddings(size: int = 7, width: int = 12) -> torch.Tensor:
    return torch.randn(len(LENGTHS), width, size, generator=torch.Generator().manual_seed(3))


def model_of(encoder: str, attention: str = "additive", classes: int = 2, low: int = 1):
    split = made_up_split(low=low)
    model, encoded = classifier(
        Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10), split, classes
    )
    return model, encoded, split


def literal(lstm: nn.LSTM, x: np.ndarray) -> np.ndarray:
    """The orthogonal LSTM's formulas, one text at a time, the mean of the earlier states and all."""
    into, recurrent, *biases = (getattr(lstm, n).detach().double().numpy() for n in lstm._flat_weights_names)
    h = c = np.zeros(lstm.hidden_size)
    states = []
    for word in x:
        i, f, g, o = np.split(into @ word + recurrent @ h + sum(biases), 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
        if states:
            mean = np.mean(states, axis=0)
            h = h - (h @ mean) / (mean @ mean) * mean
        states.append(h)
    return np.stack(states)


def test_an_lstm_equals_torchs_own_on_packed_sequences():
    network, x = LSTM(hidden=6).build(7), embeddings()
    with torch.no_grad():
        out, (last, _) = network.rightward(pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False))
        expected, _ = pad_packed_sequence(out, batch_first=True, total_length=12)
        states = network(x, LENGTHS)
    assert torch.allclose(states[MASK], expected[MASK], atol=1e-6)
    assert torch.allclose(network.summary(states, LENGTHS, MASK), last[0], atol=1e-6)


def test_orthogonal_states_equal_a_loop_written_from_the_formulas():
    network, x = OrthogonalLSTM(hidden=6).build(7).double(), embeddings().double()
    with torch.no_grad():
        states = network(x, LENGTHS)
        summary = network.summary(states, LENGTHS, MASK)
    for row, length in enumerate(LENGTHS.tolist()):
        expected = literal(network.rightward, x[row, :length].numpy())
        assert np.allclose(states[row, :length].numpy(), expected, atol=1e-12)
        assert np.allclose(summary[row].numpy(), expected[-1], atol=1e-12)


@pytest.mark.parametrize("width", [12, 300])
def test_every_state_is_orthogonal_to_the_mean_of_those_before(width):
    network = OrthogonalLSTM(hidden=32).build(7)
    with torch.no_grad():
        states = network(2 * embeddings(width=width), torch.full((5,), width)).double()
    before = (states.cumsum(1) - states)[:, 1:] / torch.arange(1, width)[:, None]
    cosines = nn.functional.cosine_similarity(states[:, 1:], before, dim=-1)
    assert float(cosines.abs().max()) < 1e-4
    assert torch.isfinite(states).all()


def test_gradients_of_orthogonal_states_equal_finite_differences():
    network = OrthogonalLSTM(hidden=3).build(4).double()
    x = embeddings(4, 5)[:2].double().requires_grad_()
    names = [name for name, _ in network.named_parameters()]

    def states(x, *values):
        return torch.func.functional_call(network, dict(zip(names, values, strict=True)), (x, torch.tensor([5, 5])))

    values = [value.detach().clone().requires_grad_() for value in network.parameters()]
    assert torch.autograd.gradcheck(states, (x, *values))
    assert torch.autograd.gradgradcheck(lambda x: states(x, *(v.detach() for v in values)), (x,))


def test_first_states_of_nothing_leave_numbers_and_gradients_finite():
    network = OrthogonalLSTM(hidden=6).build(7)
    with torch.no_grad():
        for parameter in network.rightward.parameters():
            parameter.mul_(0 if parameter.ndim == 1 else 1)
    for scale in (0.0, 1e-30, 1e-12, 1e-6):
        x = embeddings()
        x[:, :3] *= scale  # without biases the first states are zero, or next to it
        x.requires_grad_()
        states = network(x, LENGTHS)
        states.square().sum().backward()
        assert torch.isfinite(states).all()
        assert torch.isfinite(x.grad).all()
        assert all(torch.isfinite(parameter.grad).all() for parameter in network.parameters())


@pytest.mark.parametrize("text", TEXTS)
def test_what_stands_in_padding_does_not_matter(text):
    network, x = ENCODERS.parse(text).build(7), embeddings()
    with torch.no_grad():
        clean, soiled = network(x, LENGTHS), network(x.masked_fill(~MASK[..., None], 99.0), LENGTHS)
    assert torch.equal(clean[MASK], soiled[MASK])


@pytest.mark.parametrize("text", TEXTS)
def test_encoding_without_each_token_equals_a_loop_over_shortened_sequences(text):
    network, x = ENCODERS.parse(text).build(7), embeddings()
    onto = torch.randn(network.size, 4, generator=torch.Generator().manual_seed(1))
    plus = torch.tensor([0.5, -1.0, 0.0, 2.0])
    with torch.no_grad():
        fast = network.without_each(x, LENGTHS, onto, plus)
        for row, length in enumerate(LENGTHS.tolist()):
            for gap in range(length):
                kept = [i for i in range(length) if i != gap]
                if kept:
                    slow = network(x[row : row + 1, kept], torch.tensor([len(kept)])) @ onto + plus
                    assert torch.allclose(fast[row, gap, kept], slow[0], atol=1e-6), (row, gap)


@pytest.mark.parametrize("attention", ["additive", "dot"])
@pytest.mark.parametrize("encoder", TEXTS)
def test_models_of_texts_can_be_reread_and_deleted_from(encoder, attention):
    model, encoded, split = model_of(encoder, attention, 3, low=2)
    batch, vocabulary = whole(encoded), Vocabulary.from_split(split)
    with torch.no_grad():
        reading, fast = model.read(batch), model.delete_each(batch)
        assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-6)
        for row, text in enumerate(split.table["tokens"].to_pylist()):
            shorter = [text[:t] + text[t + 1 :] for t in range(len(text))]
            deleted = Split.of([str(i) for i in range(len(text))], shorter, [0] * len(text))
            slow = model.read(whole(Encoded.of(deleted, vocabulary))).logits
            assert torch.allclose(fast[row, 1 : len(text) + 1], slow, atol=2e-6)


@pytest.mark.parametrize("encoder", TEXTS)
def test_gradients_and_occlusion_of_a_model_equal_differences_of_its_output(encoder):
    model, encoded, _ = model_of(encoder)
    model, batch = model.double(), whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        occluded = EXPLAINERS.parse("occlusion").scores(model, batch, reading)
        x = model.embed(batch)
        for t in range(batch.mask.shape[1]):
            without = x.clone()
            without[:, t] = 0.0
            other = model.read(batch, embeddings=without).logits
            fall = margin(reading.logits, reading.predicted) - margin(other, reading.predicted)
            assert torch.allclose(occluded[:, t][batch.mask[:, t]], fall[batch.mask[:, t]], atol=1e-9)
    slopes = EXPLAINERS.parse("integrated_gradients").explain(model, batch, reading)
    assert torch.all(slopes.certificate["complete"] == 1)


@pytest.mark.parametrize("query", ["separate", "shared"])
@pytest.mark.parametrize("encoder", TEXTS)
def test_pairs_can_be_reread_and_either_text_deleted_from(encoder, query):
    model, encoded = pair_model(encoder, "additive", "joint", query)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        found = ((model, batch), (model.second_text(), batch.swapped()))
        deleted = [subject.delete_each(given) for subject, given in found]
    assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=2e-6)
    for (subject, given), fast in zip(found, deleted, strict=True):
        for row in range(3):
            slow = delete_literally(subject, given, row)
            places = slow.abs().sum(-1).nonzero()[:, 0]
            assert torch.allclose(fast[row, places].double(), slow[places], atol=5e-6)


@pytest.mark.parametrize("encoder", TEXTS)
@pytest.mark.parametrize("site", ["sentence", "word"])
def test_texts_of_sentences_can_be_reread_and_deleted_from(encoder, site):
    model, encoded = hierarchical(texts(), encoder)
    batch, subject = whole(encoded), model.at(site)
    with torch.no_grad():
        reading, fast = subject.read(batch), subject.delete_each(batch)
        assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=2e-6)
        for row in range(3):
            slow = delete_literally(subject, batch, row)
            there = reading.mask[row, : len(slow)]
            assert torch.allclose(fast[row, : len(slow)][there].double(), slow[there], atol=5e-6)


@pytest.mark.parametrize("encoder", TEXTS)
def test_a_replay_has_the_values_of_the_network(encoder):
    model, encoded, _ = model_of(encoder, classes=3)
    exact, batch = model.double(), whole(encoded)
    x = exact.embed(batch).detach()
    reference, leaves = torch.randn_like(x), torch.ones(len(batch), dtype=torch.float64)
    with torch.no_grad():
        expected, other = exact.read(batch).logits, exact.read(batch, embeddings=reference).logits
        relevance = exact.replay(batch, Relevance(x, Absorber(0.01, True, leaves, leaves)))
        difference = exact.replay(batch, Difference(reference, x - reference))
    assert torch.allclose(relevance.replayed, expected, atol=1e-9)
    assert torch.allclose(difference.reference, other, atol=1e-9)
    assert torch.allclose(difference.reference + difference.difference, expected, atol=1e-9)


@pytest.mark.parametrize("encoder", TEXTS)
def test_a_conditional_query_is_refused(encoder):
    with pytest.raises(InputError, match="Use bilstm or bigru"):
        Architecture(ENCODERS.parse(encoder), query="conditional")
