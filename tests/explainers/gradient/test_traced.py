"""Traced scores against the explainers' own, and their slopes against differences of the explainers' own scores."""

from __future__ import annotations

import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.hierarchy import hierarchical, texts
from tests.support.pairs import made_up_pairs, pair_model
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.devices import second_core
from attentest.explainers import EXPLAINERS
from attentest.explainers.gradient.slopes import differentiable
from attentest.explainers.gradient.traced import traceable, traced
from attentest.models.architecture import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.selectors import SELECTORS

#: Of attention held fixed, slopes are what is left of them.
HELD = (
    "gradient",
    "gradient_state",
    "gradient_x_input(path='detached')",
    "smooth_grad(of=\"gradient_norm(path='detached')\")",
)
#: Every explainer that can be traced, and the other forms of some; integrated gradients with a few steps and no more.
FORMS = (
    *(name for name, kind in EXPLAINERS.items() if traceable(kind) and name not in (*HELD, "integrated_gradients")),
    "attention(shuffled=True)",
    "gradient(path='full')",
    "gradient_state(path='full')",
    "integrated_gradients(n_steps=4, most_steps=1)",
    "integrated_gradients(n_steps=3, most_steps=1, path='detached')",
    "smooth_grad(nt_samples=3, of='gradient_norm')",
    "smooth_grad(nt_samples=3, relative=False)",
    "lrp(bias='omitted', epsilon=0.1)",
    "deep_lift(path='detached', baselines='mean')",
)
#: What each kind of model can go wrong in.
REPLAYED = ("gradient_x_input", "smooth_grad(nt_samples=2)", "lrp", "deep_lift")
#: Encoder and attention.
PARTS = (
    ("lstm(hidden=4)", "dot"),
    ("bilstm(hidden=3, layers=2, skip='residual')", "additive"),
    ("bigru(hidden=3)", "additive"),
    ("orthogonal_lstm(hidden=4)", "additive"),
    ("convolution(filters=4)", "additive(normaliser='entmax15')"),
    ("average(hidden=5, activation='tanh')", "additive(normaliser='sparsemax')"),
    ("none", "structured"),
    ("average(hidden=5)", "random"),
)
#: A change so small that curvature is nothing beside it, and so large that rounding is not.
STEP = 1e-6


def single(encoder: str = "bilstm(hidden=4)", attention: str = "additive", query: str = "", selector: str = ""):
    model, encoded = classifier(
        Architecture(
            ENCODERS.parse(encoder),
            ATTENTIONS.parse(attention),
            embedding=6,
            query=query,
            selector=SELECTORS.parse(selector) if selector else None,
        ),
        made_up_split(6, low=2, high=6),
        3,
    )
    return model.double(), whole(encoded)


def pairs(head: str, query: str):
    split = made_up_pairs(5, low=2, high=5)
    model, encoded = pair_model("bilstm(hidden=4)", "additive", head, query, split=split)
    return model.double(), whole(encoded)


def levels(site: str):
    model, encoded = hierarchical(texts(count=4))
    return model.double().at(site), whole(encoded)


def agrees(subject, batch: Batch, method: str, *, slopes: bool = True) -> None:
    """The scores are the explainer's own, and so are the slopes of a sum of them, however it is weighed."""
    explainer, network = EXPLAINERS.parse(method), subject if isinstance(subject, nn.Module) else subject.network
    with torch.no_grad():
        own, target = network.embed(batch), subject.read(batch).predicted
    draw = torch.Generator().manual_seed(1)

    def scores(embeddings: Tensor) -> Tensor:
        network.embed = lambda _: embeddings
        with torch.no_grad():
            reading = subject.read(batch, embeddings=embeddings)
            found = reading.pooled(explainer.scores(subject, batch, reading, target))
        del network.embed
        return found * reading.mask

    with differentiable(subject):
        leaf = own.clone().requires_grad_()
        there = traced(explainer, subject, batch, leaf, target)
        mask = subject.read(batch).mask
        weights = torch.randn(there.scores.shape, generator=draw, dtype=torch.double) * mask
        asked = (weights * there.scores).sum()
        (slope,) = torch.autograd.grad(asked, leaf, allow_unused=True, materialize_grads=True)
    torch.testing.assert_close(there.scores.double() * mask, scores(own).double(), atol=1e-9, rtol=1e-7)
    for _ in range(3 * slopes):
        way = torch.randn(own.shape, generator=draw, dtype=torch.double) * batch.mask[..., None]
        up, down = ((weights * scores(own + sign * STEP * way)).sum(-1) for sign in (1, -1))
        expected, found = (up - down) / (2 * STEP), (slope * way).sum((1, 2))
        torch.testing.assert_close(found, expected, atol=2e-6, rtol=2e-4)


@pytest.mark.parametrize("method", FORMS)
def test_scores_and_slopes_are_those_of_the_explainers_own_scores(method):
    agrees(*single(), method)


@pytest.mark.parametrize("method", HELD)
def test_scores_are_the_explainers_own_where_attention_is_held_fixed(method):
    agrees(*single(), method, slopes=False)


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "attention"), PARTS)
@pytest.mark.parametrize("method", REPLAYED)
def test_they_are_for_every_part_that_can_be_replayed(method, encoder, attention):
    agrees(*single(encoder, attention), method)


@pytest.mark.parametrize("method", REPLAYED)
def test_they_are_where_a_text_asks_with_its_own_summary(method):
    agrees(*single(query="own"), method)


@pytest.mark.parametrize("method", ["attention", "attention_x_gradient", "gradient_state(path='full')", *REPLAYED])
def test_they_are_on_two_cores(method):
    with second_core(2):
        agrees(*single(query="own"), method)


@pytest.mark.parametrize("method", REPLAYED)
def test_they_are_of_the_words_that_are_selected(method):
    agrees(*single(selector="lei"), method)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "query"), [("joint", "separate"), ("joint_tanh", "conditional"), ("softmax", "aspect")]
)
@pytest.mark.parametrize("method", REPLAYED)
def test_they_are_for_pairs(method, head, query):
    agrees(*pairs(head, query), method)


@pytest.mark.slow
@pytest.mark.parametrize("site", ["sentence", "word"])
@pytest.mark.parametrize("method", ["attention_x_gradient", "state_evidence", *REPLAYED])
def test_they_are_at_either_level_of_a_hierarchy(method, site):
    agrees(*levels(site), method)
