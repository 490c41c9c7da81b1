"""Structured attention against all 2^T ways to read a text, and through the seam."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.pairs import pair_model

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.structured import log_marginals
from attentest.models.shared_work.substitution import replace_each, replaceable

ENCODER_TEXTS = ("bilstm(hidden=8)", "convolution(filters=4)", "average(hidden=8)")


def enumerated(energies: list[float], steps: list[list[float]]) -> list[float]:
    """p(z_t = 1), from the energy of every one of 2^T assignments."""
    total, marginals = 0.0, [0.0] * len(energies)
    for z in itertools.product((0, 1), repeat=len(energies)):
        energy = sum(u for u, on in zip(energies, z, strict=True) if on)
        energy += sum(steps[a][b] for a, b in itertools.pairwise(z))
        total += math.exp(energy)
        for t, on in enumerate(z):
            marginals[t] += on * math.exp(energy)
    return [one / total for one in marginals]


def chained(encoder: str = "bilstm(hidden=8)", split: Split | None = None, query: str = "", classes: int = 2):
    made = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse("structured"), None, 10, query=query)
    model, encoded = classifier(made, made_up_split() if split is None else split, classes)
    with torch.no_grad():
        model.attention.keys.weight.mul_(3)
        model.attention.steps.copy_(torch.tensor([[0.5, -0.7], [-1.2, 0.9]]))
        model.attention.bias.fill_(-0.3)
    return model, encoded


@pytest.mark.parametrize("width", range(1, 11))
def test_marginals_are_those_of_all_assignments_and_tokens_outside_the_mask_are_no_part_of_the_chain(width):
    generator = torch.Generator().manual_seed(width)
    energies = 2 * torch.randn(4, width, generator=generator, dtype=torch.double)
    steps = torch.randn(2, 2, generator=generator, dtype=torch.double)
    mask = torch.rand(4, width, generator=generator) < torch.tensor([2.0, 0.7, 0.5, 0.3])[:, None]
    found = log_marginals(energies, mask, steps).exp()
    for row in range(4):
        expected = enumerated(energies[row][mask[row]].tolist(), steps.tolist())
        assert np.allclose(found[row][mask[row]].numpy(), expected, atol=1e-12)


def test_derivatives_are_differences():
    generator = torch.Generator().manual_seed(0)
    energies = torch.randn(3, 6, generator=generator, dtype=torch.double).requires_grad_()
    steps = torch.randn(2, 2, generator=generator, dtype=torch.double).requires_grad_()
    mask = torch.tensor([[True] * 6, [True, False, True, True, False, False], [False, True] + [False] * 4])
    assert torch.autograd.gradcheck(lambda e, s: log_marginals(e, mask, s)[mask], (energies, steps))
    assert torch.autograd.gradgradcheck(lambda e, s: log_marginals(e, mask, s)[mask], (energies, steps))


def test_long_texts_lose_no_digits_and_hard_energies_none_of_their_order():
    energies = 4 * torch.randn(2, 1500, generator=torch.Generator().manual_seed(1))
    mask, steps = torch.ones(2, 1500, dtype=torch.bool), torch.tensor([[1.0, -2.0], [-2.0, 3.0]])
    single, double = log_marginals(energies, mask, steps), log_marginals(energies.double(), mask, steps.double())
    assert torch.allclose(single.double(), double, atol=3e-5)
    network = ATTENTIONS.parse("structured").build(4)
    for shift in (-500.0, 500.0):
        weights = network.normalise(torch.tensor([[0.0, 1.0, 2.0]]) + shift, torch.ones(1, 3, dtype=torch.bool))
        expected = torch.tensor([[0.0, 1.0, 2.0]]).softmax(-1) if shift < 0 else torch.full((1, 3), 1 / 3)
        assert torch.allclose(weights, expected, atol=1e-6)
    nothing = network.normalise(torch.zeros(1, 3), torch.zeros(1, 3, dtype=torch.bool))
    assert torch.equal(nothing, torch.zeros(1, 3))


def test_without_steps_every_token_is_read_by_itself():
    energies, mask = torch.randn(3, 7).double(), torch.rand(3, 7) < 0.8
    found = log_marginals(energies, mask, torch.zeros(2, 2).double())
    assert torch.allclose(found[mask], energies.sigmoid().log()[mask], atol=1e-12)


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("query", ["", "own"])
def test_the_seam_padding_deletion_and_replacement_hold(encoder, query):
    split = made_up_split(low=2)
    model, encoded = chained(encoder, split, query)
    batch, vocabulary = whole(encoded), Vocabulary.from_split(split)
    with torch.no_grad():
        reading = model.read(batch)
        assert torch.allclose(reading.weights.sum(-1), torch.ones(len(batch)), atol=1e-6)
        assert (reading.weights[~reading.mask] == 0).all()
        assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-5)
        deleted = model.delete_each(batch)
        for row, text in enumerate(split.table["tokens"].to_pylist()):
            alone = model.read(encoded.batch(np.array([row])))
            assert torch.allclose(reading.weights[row, : alone.weights.shape[1]], alone.weights[0], atol=1e-6)
            shorter = [text[:t] + text[t + 1 :] for t in range(len(text))]
            made = Encoded.of(Split.of(["x"] * len(text), shorter, [0] * len(text)), vocabulary)
            assert torch.allclose(deleted[row, 1 : len(text) + 1], model.read(whole(made)).logits, atol=1e-4)
        assert replaceable(model) == (not query)
        if not query:
            instead = torch.randn(10, generator=torch.Generator().manual_seed(0))
            replaced = replace_each(model, batch, instead)
            for t in range(batch.mask.shape[1]):
                embeddings = model.embed(batch).clone()
                embeddings[:, t] = instead
                here = batch.mask[:, t]
                expected = model.read(batch, embeddings=embeddings).logits
                assert torch.allclose(replaced[here, t], expected[here], atol=1e-4)


def test_the_second_text_of_a_pair_asks_the_chain():
    model, encoded = pair_model("bilstm(hidden=6)", "structured", "joint", "separate")
    batch = whole(encoded)
    with torch.no_grad():
        reading, query = model.read(batch), model.queries_of(batch).attention
        energies = torch.einsum("bts,qs,bq->bt", reading.states, model.attention.keys.weight, query) / 12**0.5
        for row in range(len(batch)):
            real = batch.mask[row]
            marginals = enumerated((energies[row][real] + model.attention.bias).tolist(), [[0.0, 0.0], [0.0, 0.0]])
            expected = torch.tensor(marginals) / sum(marginals)
            assert torch.allclose(reading.weights[row][real], expected, atol=1e-5)


def test_relevance_holds_the_weights_and_differences_add_up():
    model, encoded = chained()
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        assert torch.isfinite(EXPLAINERS.parse("lrp").explain(model, batch, reading).scores).all()
        for path in ("full", "detached"):
            found = EXPLAINERS.parse(f"deep_lift(path={path!r})").explain(model, batch, reading)
            assert float(found.certificate["summation_gap"].max()) < 1e-4


def test_a_chain_is_no_gate_and_without_steps_it_is_one():
    split = made_up_split(10, low=3, high=9)
    for still in (False, True):
        model, encoded = chained(split=split)
        with torch.no_grad():
            if still:
                model.attention.steps.zero_()
            batch = whole(encoded)
            examined = Examination(
                model, batch, model.read(batch), 0, pa.concat_arrays(split.table["tokens"].chunks), texts=10
            )
            found = CHALLENGES.parse("gating").examine(examined).to_pylist()
        assert all(row["gate"] == still for row in found)
