from __future__ import annotations

import copy
import itertools
import math
import warnings

import numpy as np
import pytest
import torch
from captum.attr import DeepLift as CaptumDeepLift
from tests.conftest import classifier, made_up_split, whole
from torch import nn

from attentest.errors import InputError
from attentest.explainers.explainer import margin
from attentest.explainers.relevance.deep_lift import DeepLift
from attentest.models.networks.classifier import Architecture
from attentest.models.networks.signals import Difference
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS

ENCODER_TEXTS = (
    "bilstm(hidden=6)",
    "bilstm(hidden=5, layers=2, skip='residual')",
    "orthogonal_lstm(hidden=6)",
    "convolution(filters=3)",
    "average(hidden=8)",
    "average(hidden=8, activation='tanh')",
)
KINDS = list(itertools.product(ENCODER_TEXTS, ("additive", "dot", "uniform"), (2, 3)))


def made(encoder: str, classes: int = 2, attention: str = "additive", embedding: int = 10, high: int = 12):
    split = made_up_split(high=high)
    parts = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, embedding)
    model, encoded = classifier(parts, split, classes)
    batch = whole(encoded)
    with torch.no_grad():
        return model, encoded, batch, model.read(batch)


class Node:
    """One number for the input and one for the reference, and how a difference of it is shared by its parents."""

    def __init__(self, value: float, reference: float, parents: list[tuple[Node, float]] = ()) -> None:
        self.value, self.reference, self.parents, self.multiplier = value, reference, list(parents), 0.0

    @property
    def delta(self) -> float:
        return self.value - self.reference

    def __add__(self, other: Node) -> Node:
        return Node(self.value + other.value, self.reference + other.reference, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other: Node) -> Node:
        """Shapley: each factor's difference, the other at its reference half of the time."""
        share = (self.value + self.reference) / 2, (other.value + other.reference) / 2
        return Node(self.value * other.value, self.reference * other.reference, [(self, share[1]), (other, share[0])])

    def times(self, weight: float) -> Node:
        return Node(weight * self.value, weight * self.reference, [(self, weight)])

    def through(self, function) -> Node:
        """The rescale rule."""
        value, reference = function(self.value), function(self.reference)
        slope = (value - reference) / self.delta if self.delta else (function(self.value + 1e-6) - value) / 1e-6
        return Node(value, reference, [(self, slope)])


def constant(value: float) -> Node:
    return Node(value, value)


def total(nodes: list[Node]) -> Node:
    return Node(sum(n.value for n in nodes), sum(n.reference for n in nodes), [(n, 1.0) for n in nodes])


def affine(x: list[Node], weight: np.ndarray, bias: np.ndarray | None = None) -> list[Node]:
    out = [total([n.times(w) for n, w in zip(x, row, strict=True)]) for row in weight]
    return out if bias is None else [n + constant(b) for n, b in zip(out, bias, strict=True)]


def log_sum(nodes: list[Node]) -> Node:
    return total([n.through(math.exp) for n in nodes]).through(math.log)


def hand_back(output: Node) -> None:
    """Multipliers by the chain rule, every node after all that use it."""
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(output, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent, _ in node.parents)
    output.multiplier = 1.0
    for node in reversed(order):
        for parent, share in node.parents:
            parent.multiplier += share * node.multiplier


def orthogonal(raw: list[Node], before: list[Node]) -> list[Node]:
    inverse = total([n * n for n in before]).through(lambda v: 1 / v)
    along = total([a * b for a, b in zip(raw, before, strict=True)]) * inverse
    return [a + (along * b).times(-1.0) for a, b in zip(raw, before, strict=True)]


def lstm(x: list[list[Node]], weights: dict[str, np.ndarray], direction: str, *, apart: bool = False):
    into, recurrent = weights[f"{direction}.weight_ih_l0"], weights[f"{direction}.weight_hh_l0"]
    bias = weights[f"{direction}.bias_ih_l0"] + weights[f"{direction}.bias_hh_l0"]
    size = recurrent.shape[1]
    h = c = [constant(0.0)] * size
    states = []
    for word in x:
        before = affine(word + h, np.concatenate([into, recurrent], axis=1), bias)
        i, f, g, o = (before[n * size : (n + 1) * size] for n in range(4))
        i, f, o = ([n.through(lambda v: 1 / (1 + math.exp(-v))) for n in gate] for gate in (i, f, o))
        g = [n.through(math.tanh) for n in g]
        c = [a * b + d * e for a, b, d, e in zip(f, c, i, g, strict=True)]
        h = [gate * cell.through(math.tanh) for gate, cell in zip(o, c, strict=True)]
        if apart and states:
            h = orthogonal(h, [total(list(ns)) for ns in zip(*states, strict=True)])
        states.append(h)
    return states


def literal(model, x: np.ndarray, reference: np.ndarray, real: np.ndarray, target: int) -> np.ndarray:
    """DeepLIFT of one text, number by number: a BiLSTM with additive attention, an average with any."""
    weights = {k: v.double().numpy() for k, v in model.state_dict().items()}
    part = {name: {k[len(name) + 1 :]: v for k, v in weights.items() if k.startswith(name)} for name in model._modules}
    words = [[Node(v, r) for v, r in zip(*pair, strict=True)] for pair in zip(x, reference, strict=True)]
    if "linear.weight" in part["encoder"]:
        layer = part["encoder"]["linear.weight"], part["encoder"]["linear.bias"]
        function = math.tanh if model.encoder.activation is torch.tanh else (lambda v: max(v, 0.0))
        states = [[n.through(function) for n in affine(word, *layer)] for word in words]
    elif "leftward.weight_ih_l0" not in part["encoder"]:
        states = lstm(words, part["encoder"], "rightward", apart=True)
    else:
        there, back = lstm(words, part["encoder"], "rightward"), lstm(words[::-1], part["encoder"], "leftward")
        states = [a + b for a, b in zip(there, back[::-1], strict=True)]
    states = [state for state, one in zip(states, real, strict=True) if one]
    keys = [affine(s, part["attention"]["keys.weight"], part["attention"]["keys.bias"]) for s in states]
    layers = [[n.through(math.tanh) for n in key] for key in keys]
    energies = [affine(layer, part["attention"]["vector.weight"])[0] for layer in layers]
    partition = log_sum(energies).times(-1.0)
    alpha = [(energy + partition).through(math.exp) for energy in energies]
    context = [total([a * s[d] for a, s in zip(alpha, states, strict=True)]) for d in range(len(states[0]))]
    z = affine(context, part["head"]["linear.weight"], part["head"]["linear.bias"])
    z = [constant(0.0), *z] if len(z) == 1 else z
    output = z[target] + log_sum(z[:target] + z[target + 1 :]).times(-1.0)
    hand_back(output)
    return np.array([sum(n.multiplier * n.delta for n in word) for word in words])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "encoder",
    ["bilstm(hidden=3)", "orthogonal_lstm(hidden=3)", "average(hidden=4)", "average(hidden=4, activation='tanh')"],
)
def test_deep_lift_equals_a_graph_of_single_numbers(encoder, classes):
    model, _, batch, reading = made(encoder, classes, embedding=4, high=6)
    for kind in ("zero", "mask"):
        found = DeepLift(baselines=kind).scores(model, batch, reading)
        for row in range(0, len(batch), 4):
            length = int(batch.text.lengths[row])
            x = model.embed(batch)[row, :length].detach().double().numpy()
            real = batch.mask[row, :length].numpy()
            reference = np.where(real[:, None], model.baseline(kind).double().numpy(), x)
            slow = literal(model, x, reference, real, int(reading.predicted[row]))
            assert np.allclose(found[row, :length].numpy(), slow, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("encoder", "attention", "classes"), KINDS)
def test_scores_sum_to_the_difference_from_the_reference(encoder, attention, classes):
    model, _, batch, reading = made(encoder, classes, attention)
    for path, baselines in itertools.product(("full", "detached"), ("zero", "mean", "mask")):
        found = DeepLift(baselines, path).explain(model, batch, reading)
        assert float(found.certificate["summation_gap"].max()) < 1e-5
        assert torch.allclose(found.scores.sum(-1), found.certificate["delta"], atol=1e-5)
        assert torch.all(found.scores[~batch.mask] == 0)


class Plain(nn.Module):
    """A classifier with even weights, its activations as modules, which is what captum can see."""

    def __init__(self, model, batch) -> None:
        super().__init__()
        self.encoder, self.head = copy.deepcopy((model.encoder, model.head.linear))
        self.activation = nn.Tanh() if getattr(self.encoder, "activation", None) is torch.tanh else nn.ReLU()
        self.lengths, self.weights = batch.text.lengths, batch.mask.double() / batch.mask.sum(-1, keepdim=True)

    def forward(self, embeddings: torch.Tensor) -> torch.Tensor:
        both = len(embeddings) // len(self.weights)
        if hasattr(self.encoder, "linear"):
            before = self.encoder.linear(embeddings)
        else:
            inside = torch.arange(embeddings.shape[1]) < self.lengths.repeat(both)[:, None]
            x = (embeddings * inside[..., None]).mT
            before = torch.cat([layer(x) for layer in self.encoder.layers], dim=1).mT
        states = self.activation(before)
        logits: torch.Tensor = self.head((self.weights.repeat(both, 1)[:, None] @ states)[:, 0])
        return logits


def captums(module: nn.Module, given: torch.Tensor, absent: torch.Tensor, target: int) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum announces its hooks
        return CaptumDeepLift(module).attribute(given, absent, target=target).sum(-1).detach()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS[3:])
def test_without_products_deep_lift_equals_captums(encoder, classes):
    model, _, batch, reading = made(encoder, classes, "uniform")
    given = model.embed(batch).detach()
    absent = torch.where(batch.mask[..., None], 0.0, given)
    outputs = 1 if classes == 2 else classes
    for c in range(outputs):
        expected = captums(Plain(model, batch).double(), given.double(), absent.double(), c)
        difference = (given - absent).double().requires_grad_()
        replayed = model.replay(batch, Difference(absent.double(), difference))
        (multipliers,) = torch.autograd.grad(replayed.difference[:, c - outputs].sum(), difference)
        assert torch.allclose((multipliers * difference).sum(-1), expected, atol=1e-9)
        if classes == 2:
            ours = DeepLift().scores(model, batch, reading, torch.ones(len(batch), dtype=torch.long))
            assert torch.allclose(ours, expected * batch.mask, atol=1e-9)


def test_captum_does_not_see_into_an_lstm_so_it_is_no_oracle_there():
    model, _, batch, _ = made("bilstm(hidden=6)")

    class Read(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, embeddings: torch.Tensor) -> torch.Tensor:
            if len(embeddings) == len(batch):
                return self.model.read(batch, embeddings=embeddings).logits
            halves = [self.model.read(batch, embeddings=half).logits for half in embeddings.chunk(2)]
            return torch.cat(halves)

    given = model.embed(batch).detach()
    absent = torch.where(batch.mask[..., None], 0.0, given)
    theirs = captums(Read(), given, absent, 1)
    leaf = given.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(Read()(leaf)[:, 1].sum(), leaf)
    assert torch.allclose(theirs, (gradient * (given - absent)).sum(-1), atol=1e-5)
    with torch.no_grad():
        delta = Read()(given)[:, 1] - Read()(absent)[:, 1]
    assert float((theirs.sum(-1) - delta).abs().max()) > 0.01


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_deep_lift_does_not_depend_on_the_batch_around_a_text(encoder, monkeypatch):
    model, encoded, batch, reading = made(encoder)
    together = DeepLift().scores(model, batch, reading)
    monkeypatch.setattr("attentest.explainers.relevance.deep_lift.texts_at_once", lambda *_: 1)
    assert torch.allclose(together, DeepLift().scores(model, batch, reading), atol=1e-12)
    for row in (0, 5, 11):
        alone = encoded.batch(np.array([row]))
        with torch.no_grad():
            score = DeepLift().scores(model, alone, model.read(alone))[0]
        assert torch.allclose(together[row, : len(score)], score, atol=1e-12)


def test_the_target_class_is_honoured():
    model, _, batch, reading = made("bilstm(hidden=6)", 3)
    for c in range(3):
        target = torch.full((len(batch),), c)
        found = DeepLift().explain(model, batch, reading, target)
        absent = torch.where(batch.mask[..., None], 0.0, model.embed(batch))
        with torch.no_grad():
            delta = margin(reading.logits, target) - margin(model.read(batch, embeddings=absent).logits, target)
        assert torch.allclose(found.scores.sum(-1), delta.double(), atol=1e-5)


def test_a_word_that_is_the_reference_gets_nothing_even_where_every_word_is():
    model, _, batch, _ = made("bilstm(hidden=6)")
    with torch.no_grad():
        model.embedding.weight[4:] = model.embedding.weight[1]
        reading = model.read(batch)
    assert torch.all(DeepLift("mask").scores(model, batch, reading) == 0)


@pytest.mark.parametrize(
    ("fields", "said"), [({"baselines": "noise"}, "zero, mean, mask"), ({"path": "half"}, "'detached'")]
)
def test_wrong_parameters_are_refused_in_one_line(fields, said):
    with pytest.raises(InputError, match=said) as error:
        DeepLift(**fields)
    assert "\n" not in str(error.value)
