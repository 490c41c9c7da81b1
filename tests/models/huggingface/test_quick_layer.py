"""Layers of BERT's kind in few operations give what the library's own layers give."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.models.huggingface.test_pretrained import BATCH, subject_of

from attentest.models.huggingface.attending import LogitsAlone, Pass, under_way
from attentest.models.huggingface.partial_forward.erased_texts import logits_of_many
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.quick_layer import QuickLayer, is_quick


def encoder(subject: Pretrained) -> torch.nn.ModuleList:
    return subject.model.base_model.encoder.layer


def other_weights(subject: Pretrained) -> None:
    """As training does: no bias is zero, no scale one."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in subject.model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))


@pytest.mark.parametrize(
    ("family", "quick"), [("bert", True), ("roberta", True), ("electra", True), ("distilbert", False), ("gpt2", False)]
)
def test_layers_are_known_by_their_parts(family: str, quick: bool) -> None:
    subject = subject_of(family)
    assert subject.places.quick == subject.quick == quick
    if not quick:
        return
    other_weights(subject)
    with torch.no_grad():
        wanted = subject.logits(BATCH)
        torch.testing.assert_close(logits_of_many(subject, BATCH), wanted, atol=1e-4, rtol=1e-4)
        subject.quick = False
        torch.testing.assert_close(logits_of_many(subject, BATCH), wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("fused", [True, False])
def test_layers_know_that_training_changed_their_weights(fused: bool) -> None:
    subject = subject_of("bert")
    other_weights(subject)
    with torch.no_grad():
        before = logits_of_many(subject, BATCH)
    optimizer = torch.optim.Adam(subject.model.parameters(), lr=0.1, fused=fused)  # a fused one leaves no trace
    subject.train()
    subject.read(BATCH).logits[:, 0].sum().backward()
    optimizer.step()
    subject.eval()
    with torch.no_grad():
        after, wanted = logits_of_many(subject, BATCH), subject.logits(BATCH)
    assert not torch.allclose(before, wanted, atol=0.1)
    torch.testing.assert_close(after, wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("part", ["relu", "more weights", "no bias"])
def test_what_is_not_quite_such_a_layer_is_left_to_the_library(part: str) -> None:
    layer = copy.deepcopy(encoder(subject_of("bert"))[0])
    assert is_quick(layer)
    if part == "relu":
        layer.intermediate.intermediate_act_fn = torch.nn.ReLU()
    elif part == "more weights":
        layer.attention.self.distance = torch.nn.Embedding(3, 4)
    else:
        layer.output.dense = torch.nn.Linear(4, 4, bias=False)
    assert not is_quick(layer)


@torch.no_grad()
@pytest.mark.parametrize("padded", [False, True])
def test_a_layer_gives_the_same_states(padded: bool) -> None:
    subject = subject_of("bert")
    other_weights(subject)
    layer = encoder(subject)[0]
    assert isinstance(layer, QuickLayer)
    states = torch.randn(5, 7, subject.model.config.hidden_size)
    real = torch.arange(7) < torch.tensor([7, 3, 6, 2, 7])[:, None] if padded else None
    added = None if real is None else torch.where(real, 0.0, torch.finfo().min)[:, None, None]
    wanted = layer(states, added)
    shown = torch.ones(5, 7, dtype=torch.bool) if real is None else real
    for last, rows in ((1, 7), (0, 1)):
        with under_way(Pass(logits_alone=LogitsAlone(real, last))):
            found = layer(states)
        assert found.shape[1] == rows
        torch.testing.assert_close(found[shown[:, :rows]], wanted[:, :rows][shown[:, :rows]], atol=1e-4, rtol=1e-4)


def test_training_and_gradients_are_the_librarys() -> None:
    subject = subject_of("bert")
    layer, states = encoder(subject)[0], torch.randn(2, 3, subject.model.config.hidden_size, requires_grad=True)
    with under_way(Pass(logits_alone=LogitsAlone(None, 0))):
        found = layer(states)
        torch.testing.assert_close(found, layer(states.detach()))
        assert found.shape[1] == 3
        assert torch.autograd.grad(found.sum(), states)[0].shape == states.shape


def test_where_the_attended_is_given_only_what_follows_is_computed() -> None:
    subject, size = subject_of("bert"), 16
    other_weights(subject)
    layer, states = encoder(subject)[0], torch.randn(5, 1, size)
    heads = layer.attention.self.num_attention_heads
    place = layer.attention.self.attentest_place
    found = []
    for held in (False, True):
        attended = torch.linspace(-1, 1, 5 * size).view(5, 1, heads, -1).requires_grad_()
        with under_way(Pass(given={place: attended}, held=held)):
            made = layer(states)
        found.append((made, *torch.autograd.grad(made.square().sum(), attended)))
    for wanted, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, wanted, atol=1e-4, rtol=1e-4)
