from __future__ import annotations

import math
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import classifier, made_up_split, whole

from attentest.data.batches import Encoded
from attentest.data.corpora import CORPORA
from attentest.data.vectors import load_vectors
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.measures.divergence import total_variation
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.training.adversarial import SMALLEST, Imitation, Recorded, floored_kl
from attentest.training.loop import Training, best_epoch, fit

SMALL = Architecture(ENCODERS.parse("bilstm(hidden=8)"), ATTENTIONS.parse("additive"), None, 12)


def two(classes: int = 2, low: int = 1):
    """A base and another model for the same texts."""
    base, encoded = classifier(SMALL, made_up_split(classes=classes, low=low), classes)
    other, _ = classifier(SMALL, made_up_split(classes=classes, low=low), classes, seed=1)
    return base, other, encoded


def softmax(z):
    e = [math.exp(v - max(z)) for v in z]
    return [v / sum(e) for v in e]


def literal(own, base, weight: float, divergence: str, halved: bool) -> float:
    """One text's loss in plain Python, from logits and weights of real tokens."""
    change = sum(abs(p - q) for p, q in zip(softmax(own[0]), softmax(base[0]), strict=True)) / 2

    def kl(p, q):
        return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)

    middle = [(a + b) / 2 for a, b in zip(own[1], base[1], strict=True)]
    apart = kl(own[1], base[1]) if divergence == "kl" else (kl(own[1], middle) + kl(base[1], middle)) / 2
    return change / (2 if halved else 1) - weight * apart


@pytest.mark.parametrize("halved", [False, True])
@pytest.mark.parametrize("divergence", ["kl", "jsd"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_loss_equals_its_definition_text_by_text(classes, divergence, halved):
    base, other, encoded = two(classes)
    batch = whole(encoded)
    with torch.no_grad():
        loss = Imitation(Recorded.of(base, encoded), 0.3, divergence, halved)
        theirs, mine = base.read(batch), other.read(batch)
        each = loss.each(mine, batch)
    for i, real in enumerate(batch.mask):
        read = [(r.logits[i].tolist(), r.weights[i][real].tolist()) for r in (mine, theirs)]
        assert float(each[i]) == pytest.approx(literal(*read, 0.3, divergence, halved), abs=1e-5)
    assert float(loss(mine, batch)) == pytest.approx(float(each.sum()))


def test_what_is_recorded_is_what_was_read_whatever_the_batch():
    base, _, encoded = two()
    recorded = Recorded.of(base, encoded)
    assert len(recorded) == len(encoded)
    for rows in ([3], [7, 0, 5], list(range(len(encoded)))[::-1]):
        batch = encoded.batch(np.array(rows))
        with torch.no_grad():
            reading = base.read(batch)
        assert torch.allclose(recorded.weights(batch.rows, batch.mask), reading.weights, atol=1e-6)
        assert torch.allclose(recorded.probabilities[batch.rows], reading.logits.double().softmax(-1), atol=1e-6)
        assert (recorded.weights(batch.rows, batch.mask)[~batch.mask] == 0).all()


def test_the_loss_does_not_depend_on_the_batch_around_a_text():
    base, other, encoded = two()
    loss = Imitation(Recorded.of(base, encoded), 0.2)
    with torch.no_grad():
        together = loss.each(other.read(whole(encoded)), whole(encoded))
        for i in range(len(encoded)):
            batch = encoded.batch(np.array([i]))
            assert float(loss.each(other.read(batch), batch)) == pytest.approx(float(together[i]), abs=1e-6)


@pytest.mark.parametrize("divergence", ["kl", "jsd"])
def test_its_gradient_is_the_slope_of_the_loss(divergence):
    base, other, encoded = two(3, low=2)
    other, batch = other.double(), whole(encoded)
    loss = Imitation(Recorded.of(base, encoded), 0.3, divergence)
    vector = other.attention.vector.weight

    def of(values):
        with torch.no_grad():
            vector.copy_(values)
        return loss(other.read(batch), batch)

    start = vector.detach().clone()
    (slope,) = torch.autograd.grad(of(start), vector)
    for k in range(start.shape[1]):
        step = torch.zeros_like(start)
        step[0, k] = 1e-5
        with torch.enable_grad():
            rise = float(of(start + step).detach() - of(start - step).detach()) / 2e-5
        assert float(slope[0, k]) == pytest.approx(rise, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("divergence", ["kl", "jsd"])
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e6])
def test_loss_and_gradient_stay_finite_where_weights_vanish(divergence, scale):
    """Energies this large leave weights of exactly zero, in the base and in the model."""
    base, other, encoded = two()
    with torch.no_grad():
        for model in (base, other):
            model.attention.vector.weight.mul_(scale)
    batch = whole(encoded)
    loss = Imitation(Recorded.of(base, encoded), 1.0, divergence)
    value = loss(other.read(batch), batch)
    value.backward()
    assert torch.isfinite(value)
    for name, parameter in other.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name


@given(
    st.lists(st.sampled_from([0.0, 1e-44, 1e-30, 0.1, 0.5, 1.0, 3.0]), min_size=4, max_size=4).filter(any), st.data()
)
@settings(deadline=None)
def test_the_floored_divergence_is_the_divergence_where_that_is_finite(p, data):
    q = data.draw(st.lists(st.sampled_from([0.0, 1e-44, 1e-6, 0.2, 1.0]), min_size=4, max_size=4).filter(any))
    p, q = ([v / sum(x) for v in x] for x in (p, q))
    found = float(floored_kl(torch.tensor(p, dtype=torch.float64), torch.tensor(q, dtype=torch.float64)))
    expected = sum(a * math.log(max(a, SMALLEST) / max(b, SMALLEST)) for a, b in zip(p, q, strict=True))
    assert found == pytest.approx(expected, abs=1e-12)
    assert -1e-30 <= found + 1e-12 <= -math.log(SMALLEST) + 1
    if all(b >= SMALLEST for b in q):
        assert found == pytest.approx(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0), abs=1e-12)


def test_padding_gets_no_gradient():
    base, other, encoded = two()
    batch = whole(encoded)
    reading = other.read(batch)
    reading.weights.retain_grad()
    reading.embeddings.retain_grad()
    Imitation(Recorded.of(base, encoded), 1.0)(reading, batch).backward()
    beyond = torch.arange(batch.text.tokens.shape[1]) >= batch.text.lengths[:, None]
    assert (reading.embeddings.grad[beyond] == 0).all()


def test_the_score_is_the_mean_loss_with_its_sign_turned_and_wants_the_split_it_was_recorded_on():
    base, other, encoded = two()
    loss = Imitation(Recorded.of(base, encoded), 0.1)
    with torch.no_grad():
        each = loss.each(other.read(whole(encoded)), whole(encoded))
    assert loss.score(other, encoded) == pytest.approx(-float(each.mean()), abs=1e-6)
    assert Imitation(Recorded.of(base, encoded), 0.0).score(base, encoded) == pytest.approx(0, abs=1e-6)
    with pytest.raises(InputError, match="recorded on 12 texts, not on these 5"):
        loss.score(other, Encoded.of(made_up_split(5), Vocabulary.from_split(made_up_split())))


@pytest.mark.parametrize("fields", [{"weight": -1.0}, {"weight": math.inf}, {"weight": 0.1, "divergence": "hellinger"}])
def test_an_impossible_imitation_is_refused_in_words(fields):
    base, _, encoded = two()
    with pytest.raises(InputError, match=r"must be"):
        Imitation(Recorded.of(base, encoded), **fields)


def reviews():
    corpus = CORPORA.parse("reviews(train=400, dev=80, test=120)").load()
    vocabulary = Vocabulary.from_split(corpus["train"])
    return vocabulary, {name: Encoded.of(split, vocabulary) for name, split in corpus.splits.items()}


def trained(
    vocabulary, encoded, training, seed, weight=None, base=None, vectors=None, architecture=SMALL, divergence="kl"
):
    model = Classifier(architecture, len(vocabulary), 2, torch.Generator().manual_seed(seed), vectors)
    objective = score = None
    if base is not None:
        objective = Imitation(Recorded.of(base, encoded["train"]), weight, divergence)
        score = Imitation(Recorded.of(base, encoded["dev"]), weight, divergence).score
    epochs = fit(model, encoded["train"], encoded["dev"], training, seed=seed, objective=objective, score=score)
    return model, epochs


def apart(one, other, encoded):
    """Mean TVD of two models' predictions and mean JSD of their weights."""
    with torch.no_grad():
        p, q = (Recorded.of(model, encoded) for model in (one, other))
        jsd = Imitation(q, 1.0, "jsd")
        change = float(total_variation(p.probabilities, q.probabilities).mean())
        both = -jsd.score(one, encoded)
    return change, change - both


FAST = Training(epochs=6, batch_size=16, learning_rate=5e-3, patience=0)


@pytest.mark.slow
def test_an_adversary_of_weight_zero_is_nearer_than_another_seed_and_a_large_weight_drives_attention_away():
    vocabulary, encoded = reviews()
    base, _ = trained(vocabulary, encoded, FAST, 0)
    seed, _ = trained(vocabulary, encoded, FAST, 1)
    imitator, epochs = trained(vocabulary, encoded, FAST, 1, 0.0, base)
    adversary, _ = trained(vocabulary, encoded, FAST, 1, 0.3, base)
    by_seed, by_zero, by_much = (apart(model, base, encoded["test"]) for model in (seed, imitator, adversary))
    assert by_zero[0] < by_seed[0]
    assert by_much[1] > 3 * by_zero[1]
    chosen = Imitation(Recorded.of(base, encoded["dev"]), 0.0)
    assert chosen.score(imitator, encoded["dev"]) == pytest.approx(best_epoch(epochs).score)


@pytest.mark.slow
def test_an_adversary_sees_no_label():
    vocabulary, encoded = reviews()
    base, _ = trained(vocabulary, encoded, Training(epochs=1), 0)
    lies = {
        name: Encoded(split.text, 1 - split.labels if name == "train" else split.labels, split.keys)
        for name, split in encoded.items()
    }
    told, lied = (trained(vocabulary, given, Training(epochs=2), 1, 0.01, base)[0] for given in (encoded, lies))
    assert all(torch.equal(a, b) for a, b in zip(told.state_dict().values(), lied.state_dict().values(), strict=True))


def test_without_a_score_training_is_what_it_was():
    vocabulary, encoded = reviews()
    _, usual = trained(vocabulary, encoded, Training(epochs=2), 0)
    model = Classifier(SMALL, len(vocabulary), 2, torch.Generator().manual_seed(0))
    again = fit(model, encoded["train"], encoded["dev"], Training(epochs=2), seed=0, score=None)
    assert [(e.loss, e.score) for e in usual] == [(e.loss, e.score) for e in again]


SIZES = {"train": 3000, "dev": 400, "test": 600}


@pytest.mark.corpora
@pytest.mark.skipif("ATTENTEST_DATA" not in os.environ, reason="needs ATTENTEST_DATA")
def test_on_sst_an_adversary_of_weight_zero_is_nearer_than_another_seed():
    corpus = CORPORA.parse("sst").load()
    vocabulary = Vocabulary.from_split(corpus["train"], corpus.min_frequency)
    encoded = {name: Encoded.of(corpus[name].take(range(size)), vocabulary) for name, size in SIZES.items()}
    path = f"{os.environ['ATTENTEST_DATA']}/vectors/glove.840B.300d.filtered33k.npz"
    starts = [torch.from_numpy(load_vectors(path, vocabulary, seed=seed).matrix) for seed in (0, 1)]
    given = {"training": Training(epochs=3), "architecture": Architecture(ENCODERS.parse("bilstm(hidden=32)"))}
    base, _ = trained(vocabulary, encoded, seed=0, vectors=starts[0], **given)
    seed, _ = trained(vocabulary, encoded, seed=1, vectors=starts[1], **given)
    imitator, _ = trained(vocabulary, encoded, seed=1, vectors=starts[1], weight=0.0, base=base, **given)
    assert apart(imitator, base, encoded["test"])[0] < apart(seed, base, encoded["test"])[0]
