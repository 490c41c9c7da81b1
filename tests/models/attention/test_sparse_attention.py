"""Sparsemax and entmax attention against their definitions, a peer, and derivatives by differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from entmax import entmax15, entmax_bisect, sparsemax
from scipy.optimize import minimize
from tests.conftest import classifier, made_up_split, whole
from tests.support.pairs import pair_model

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.models.networks.classifier import Architecture
from attentest.models.networks.signals import Difference
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.normalisers import NORMALISERS, masked_softmax, normalised
from attentest.models.shared_work.substitution import replace_each, replaceable
from attentest.registry import text_of

SPARSE = ("sparsemax", "entmax15")
ATTENTION_TEXTS = tuple(f"{name}(normaliser={kind!r})" for name in ("additive", "dot") for kind in SPARSE)
ENCODER_TEXTS = ("bilstm(hidden=8)", "convolution(filters=4)", "average(hidden=8)")


def sparse(encoder: str = "bilstm(hidden=8)", attention: str = ATTENTION_TEXTS[0], split: Split | None = None):
    made = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10)
    model, encoded = classifier(made, made_up_split() if split is None else split)
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter.mul_(8)
    return model, encoded


@pytest.mark.parametrize("kind", SPARSE)
def test_weights_are_those_of_the_package_inside_the_mask_and_exactly_zero_outside(kind):
    generator = torch.Generator().manual_seed(0)
    energies = 3 * torch.randn(30, 9, generator=generator, dtype=torch.double)
    mask = torch.rand(30, 9, generator=generator) < 0.6
    mask[0], mask[1] = False, torch.arange(9) == 4
    found = normalised(energies, mask, kind)
    peer = {"sparsemax": sparsemax, "entmax15": entmax15}[kind]
    for row in range(30):
        real = mask[row]
        assert (found[row, ~real] == 0).all()
        if real.any():
            assert torch.allclose(found[row, real], peer(energies[row, real], -1), atol=1e-12)
            bisected = entmax_bisect(energies[row, real][None], alpha=2.0 if kind == "sparsemax" else 1.5)[0]
            assert torch.allclose(found[row, real], bisected, atol=1e-7)
    assert float(found[1, 4]) == 1
    assert ((found == 0) & mask).sum() > 20


def test_sparsemax_is_the_nearest_distribution_and_entmax_the_best_by_its_entropy():
    energies = np.array([0.7, 0.4, -0.2, 1.1])
    rules = {
        "sparsemax": lambda p: ((p - energies) ** 2).sum(),
        "entmax15": lambda p: -(p @ energies) - (4 / 3) * (1 - (np.clip(p, 0, None) ** 1.5).sum()),
    }
    for kind, cost in rules.items():
        best = minimize(
            cost, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints={"type": "eq", "fun": lambda p: p.sum() - 1}
        ).x
        found = normalised(torch.from_numpy(energies)[None], torch.ones(1, 4, dtype=torch.bool), kind)[0]
        assert np.allclose(found.numpy(), best, atol=1e-3)


@pytest.mark.parametrize("kind", NORMALISERS)
def test_first_and_second_derivatives_are_differences(kind):
    energies = torch.randn(4, 6, generator=torch.Generator().manual_seed(2), dtype=torch.double).requires_grad_()
    mask = torch.ones(4, 6, dtype=torch.bool)
    mask[1, 3:], mask[2, 1:], mask[3] = False, False, False
    assert torch.autograd.gradcheck(lambda e: normalised(e, mask, kind), energies)
    assert torch.autograd.gradgradcheck(lambda e: normalised(e, mask, kind), energies)


@pytest.mark.parametrize("kind", SPARSE)
def test_hard_energies_give_distributions_or_say_that_they_are_no_numbers(kind):
    for energies in (torch.randn(3, 2000) * 0.01, torch.tensor([[1e6, -1e6, 0.0]]), torch.zeros(2, 5)):
        weights = normalised(energies, torch.ones_like(energies, dtype=torch.bool), kind)
        assert torch.allclose(weights.double().sum(-1), torch.ones(len(weights)).double(), atol=1e-6)
    mask = torch.ones(2, 3, dtype=torch.bool)
    found = normalised(torch.tensor([[1.0, math.nan, 2.0], [math.inf, 0.0, 1.0]]), mask, kind)
    assert found.isnan().all()


def test_softmax_is_what_it_was():
    energies, mask = torch.randn(3, 2, 5), torch.rand(3, 1, 5) < 0.7
    assert torch.equal(normalised(energies, mask), masked_softmax(energies, mask))
    assert text_of(ATTENTIONS.parse("additive(normaliser='softmax')")) == "additive"
    with pytest.raises(InputError, match="softmax, sparsemax, entmax15"):
        ATTENTIONS.parse("dot(normaliser='entmax')")


@pytest.mark.parametrize(("encoder", "attention"), list(itertools.product(ENCODER_TEXTS, ATTENTION_TEXTS)))
def test_the_seam_deletion_and_replacement_hold_for_sparse_weights(encoder, attention):
    split = made_up_split(low=2)
    model, encoded = sparse(encoder, attention, split)
    batch, vocabulary = whole(encoded), Vocabulary.from_split(split)
    instead = torch.randn(10, generator=torch.Generator().manual_seed(0))
    assert replaceable(model)
    with torch.no_grad():
        reading = model.read(batch)
        assert ((reading.weights == 0) & reading.mask).any()
        assert torch.allclose(reading.weights.sum(-1), torch.ones(len(batch)), atol=1e-6)
        assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-5)
        deleted, replaced = model.delete_each(batch), replace_each(model, batch, instead)
        for row, text in enumerate(split.table["tokens"].to_pylist()):
            shorter = [text[:t] + text[t + 1 :] for t in range(len(text))]
            made = Encoded.of(Split.of(["x"] * len(text), shorter, [0] * len(text)), vocabulary)
            assert torch.allclose(deleted[row, 1 : len(text) + 1], model.read(whole(made)).logits, atol=2e-4)
        for t in range(batch.mask.shape[1]):
            embeddings = model.embed(batch).clone()
            embeddings[:, t] = instead
            expected, here = model.read(batch, embeddings=embeddings).logits, batch.mask[:, t]
            assert torch.allclose(replaced[here, t], expected[here], atol=2e-4)


@pytest.mark.parametrize("attention", ATTENTION_TEXTS)
def test_a_query_of_a_second_text_or_of_its_own_asks_sparse_attention_too(attention):
    model, encoded = pair_model("bilstm(hidden=6)", attention, "joint", "separate")
    with torch.no_grad():
        reading = model.read(whole(encoded))
    assert torch.allclose(reading.weights.sum(-1), torch.ones(len(encoded)), atol=1e-6)
    made = Architecture(ENCODERS.parse("bilstm(hidden=6)"), ATTENTIONS.parse(attention), None, 10, query="own")
    model, encoded = classifier(made, made_up_split())
    with torch.no_grad():
        reading = model.read(whole(encoded))
    assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-5)


@pytest.mark.parametrize("attention", ATTENTION_TEXTS)
@pytest.mark.parametrize("path", ["full", "detached"])
def test_relevance_is_finite_and_differences_add_up_through_sparse_weights(attention, path):
    model, encoded = sparse(attention=attention)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        relevance = EXPLAINERS.parse("lrp").explain(model, batch, reading)
        found = EXPLAINERS.parse(f"deep_lift(path={path!r})").explain(model, batch, reading)
    assert torch.isfinite(relevance.scores).all()
    assert float(found.certificate["delta"].abs().max()) > 0.5
    assert float(found.certificate["summation_gap"].max()) < 1e-4


@pytest.mark.parametrize("kind", NORMALISERS)
def test_a_replayed_function_of_all_energies_is_its_slope_where_little_changes(kind):
    generator = torch.Generator().manual_seed(3)
    before = torch.randn(4, 6, generator=generator, dtype=torch.double)
    mask = torch.arange(6) < torch.tensor([6, 4, 2, 1])[:, None]
    upstream = torch.randn(4, 6, generator=generator, dtype=torch.double)
    difference = (1e-6 * torch.randn(4, 6, generator=generator, dtype=torch.double)).requires_grad_()
    signal = Difference(before, difference).weights(mask, lambda e: normalised(e, mask, kind))
    (multipliers,) = torch.autograd.grad(signal.difference, difference, upstream)
    leaf = before.clone().requires_grad_()
    (slope,) = torch.autograd.grad(normalised(leaf, mask, kind), leaf, upstream)
    assert torch.allclose(multipliers, slope, atol=1e-5)
    wide = (1e6 * difference.detach()).requires_grad_()
    signal = Difference(before, wide).weights(mask, lambda e: normalised(e, mask, kind))
    (multipliers,) = torch.autograd.grad(signal.difference, wide, upstream)
    assert torch.allclose((multipliers * wide).sum(-1), (upstream * signal.difference).sum(-1), atol=1e-12)
    change = normalised(before + wide, mask, kind) - normalised(before, mask, kind)
    assert torch.allclose(signal.difference, change, atol=1e-12)
