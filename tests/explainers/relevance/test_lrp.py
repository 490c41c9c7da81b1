from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.errors import InputError, NotApplicable
from attentest.explainers.explainer import margin
from attentest.explainers.gradient.gradient import Gradient
from attentest.explainers.relevance.lrp import LRP
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import Subject

ENCODER_TEXTS = (
    "bilstm(hidden=6)",
    "bilstm(hidden=4, layers=2)",
    "bilstm(hidden=4, skip='concat')",
    "bilstm(hidden=5, layers=2, skip='residual')",
    "orthogonal_lstm(hidden=6)",
    "convolution(filters=3, widths=(1, 3, 5))",
    "average(hidden=8)",
    "average(hidden=8, activation='tanh')",
)
KINDS = list(itertools.product(ENCODER_TEXTS, ("additive", "dot", "uniform"), (2, 3)))


def made(encoder: str, classes: int = 2, attention: str = "additive"):
    model, encoded = classifier(
        Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10), made_up_split(), classes
    )
    batch = whole(encoded)
    with torch.no_grad():
        return model, encoded, batch, model.read(batch)


class Literal:
    """LRP as Arras et al. write it, one text at a time: messages R_{i←j} = x_i w_ij / (z_j + ε sign z_j) · R_j."""

    def __init__(self, model, epsilon: float, omitted: bool) -> None:
        self.model, self.epsilon, self.omitted = model, epsilon, omitted
        self.kept = {"bias": 0.0, "epsilon": 0.0}

    def linear(self, lower, weights, bias, relevance):
        """Relevance of the lower units (lower [D], weights [D, M]) of one layer, several inputs side by side."""
        out = np.zeros(len(lower))
        for j in range(len(relevance)):
            sum_ = float(lower @ weights[:, j]) + (0.0 if self.omitted else bias[j])
            stabiliser = self.epsilon if sum_ >= 0 else -self.epsilon
            for i in range(len(lower)):
                out[i] += lower[i] * weights[i, j] / (sum_ + stabiliser) * relevance[j]
            self.kept["epsilon"] += stabiliser / (sum_ + stabiliser) * relevance[j]
            if not self.omitted:
                self.kept["bias"] += bias[j] / (sum_ + stabiliser) * relevance[j]
        return out

    def text(self, x: np.ndarray, alpha: np.ndarray, states: np.ndarray, target: int) -> np.ndarray:
        """Relevance [position] of one unpadded text."""
        head = {k: v.double().numpy() for k, v in self.model.head.state_dict().items()}
        weight, bias = head["linear.weight"], head["linear.bias"]
        context = alpha @ states
        z = weight @ context + bias
        if len(z) == 1:
            start = np.array([z[0] if target == 1 else -z[0]])
        else:
            rivals = np.exp(np.delete(z, target))
            start = np.insert(-rivals / rivals.sum() * np.delete(z, target), target, z[target])
        of_context = self.linear(context, weight.T, bias, start)
        of_states = np.zeros_like(states)
        for d in range(states.shape[1]):
            of_states[:, d] = self.linear(states[:, d], alpha[:, None], [0.0], [of_context[d]])
        return self.encoder(self.model.encoder, x, of_states).sum(-1)

    def encoder(self, network, x, of_states):
        """Relevance of the embeddings, whatever the encoder is built of."""
        kind = type(network).__name__
        if kind == "StackedNetwork":
            lower = [x]
            for layer in network.layers[:-1]:
                lower.append(self.states(layer, lower[-1]))
            for layer, below in zip(reversed(network.layers), reversed(lower), strict=True):
                of_states = self.encoder(layer, below, of_states)
            return of_states
        if kind == "SkipNetwork":
            size = network.encoder.size
            if network.skip == "concat":
                return self.encoder(network.encoder, x, of_states[:, :size]) + of_states[:, size:]
            of_encoder, of_x = np.zeros_like(of_states), np.zeros_like(of_states)
            states = self.states(network.encoder, x)
            for t, d in np.ndindex(of_states.shape):
                both = np.array([states[t, d], x[t, d]])
                of_encoder[t, d], of_x[t, d] = self.linear(both, np.ones((2, 1)), [0.0], [of_states[t, d]])
            return self.encoder(network.encoder, x, of_encoder) + of_x
        weights = {k: v.double().numpy() for k, v in network.state_dict().items()}
        known = {
            "BiLSTMNetwork": self.bilstm,
            "OrthogonalNetwork": self.orthogonal,
            "ConvolutionNetwork": self.convolution,
            "AverageNetwork": self.average,
        }
        return known[kind](x, of_states, weights)

    @staticmethod
    def states(network, x):
        with torch.no_grad():
            return copy.deepcopy(network).double()(torch.from_numpy(x)[None], torch.tensor([len(x)]))[0].numpy()

    def average(self, x, of_states, weights):
        layer = weights["linear.weight"].T, weights["linear.bias"]
        return np.stack([self.linear(x[t], *layer, of_states[t]) for t in range(len(x))])

    def convolution(self, x, of_states, weights):
        out, filters = np.zeros_like(x), 3
        for n, width in enumerate((1, 3, 5)):
            kernel, bias = weights[f"layers.{n}.weight"], weights[f"layers.{n}.bias"]
            for t in range(len(x)):
                near = [s for s in range(t - width // 2, t + width // 2 + 1) if 0 <= s < len(x)]
                taps = [s - t + width // 2 for s in near]
                lower = np.concatenate([x[s] for s in near])
                matrix = np.concatenate([kernel[:, :, tap].T for tap in taps])
                shares = self.linear(lower, matrix, bias, of_states[t, n * filters : (n + 1) * filters])
                for s, share in zip(near, np.split(shares, len(near)), strict=True):
                    out[s] += share
        return out

    def bilstm(self, x, of_states, weights):
        size = of_states.shape[1] // 2
        there = self.lstm(x, of_states[:, :size], weights, "rightward")
        back = self.lstm(x[::-1], of_states[::-1, size:], weights, "leftward")
        return there + back[::-1]

    def orthogonal(self, x, of_states, weights):
        return self.lstm(x, of_states, weights, "rightward", orthogonal=True)

    def lstm(self, x, of_states, weights, direction, orthogonal=False):
        into, recurrent = weights[f"{direction}.weight_ih_l0"], weights[f"{direction}.weight_hh_l0"]
        bias = weights[f"{direction}.bias_ih_l0"] + weights[f"{direction}.bias_hh_l0"]
        length, size = len(x), recurrent.shape[1]
        h, c = np.zeros((length + 1, size)), np.zeros((length + 1, size))  # the last row is the state before the first
        f_c, i_g, raw = (np.zeros((length, size)) for _ in range(3))
        keeps = np.tile(np.eye(size), (length, 1, 1))
        for t in range(length):
            i, f, g, o = np.split(into @ x[t] + recurrent @ h[t - 1] + bias, 4)
            i, f, o = (1 / (1 + np.exp(-v)) for v in (i, f, o))
            f_c[t], i_g[t] = f * c[t - 1], i * np.tanh(g)
            c[t] = f_c[t] + i_g[t]
            raw[t] = h[t] = o * np.tanh(c[t])
            if orthogonal and t:
                before = h[:t].sum(0)
                keeps[t] -= np.outer(before, before) / (before @ before)
                h[t] = keeps[t] @ raw[t]
        cell = slice(2 * size, 3 * size)
        layer = np.concatenate([into[cell].T, recurrent[cell].T])
        of_h, of_c, of_x = np.zeros((length + 1, size)), np.zeros((length + 1, size)), np.zeros_like(x)
        of_h[:length] += of_states
        for t in reversed(range(length)):
            of_c[t] += self.linear(raw[t], keeps[t], np.zeros(size), of_h[t]) if orthogonal and t else of_h[t]
            of_g = np.zeros(size)
            for d in range(size):
                of_c[t - 1, d], of_g[d] = self.linear(
                    np.array([f_c[t, d], i_g[t, d]]), np.ones((2, 1)), [0.0], [of_c[t, d]]
                )
            shares = self.linear(np.concatenate([x[t], h[t - 1]]), layer, bias[cell], of_g)
            of_x[t] = shares[: x.shape[1]]
            of_h[t - 1] += shares[x.shape[1] :]
        return of_x


@pytest.mark.parametrize("bias", ["absorbs", "omitted"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_lrp_equals_the_papers_messages_one_text_at_a_time(encoder, classes, bias):
    model, _, batch, reading = made(encoder, classes)
    twin = copy.deepcopy(model).double()
    with torch.no_grad():
        exact = twin.read(batch)
    found = LRP(epsilon=0.01, bias=bias).explain(model, batch, reading)
    for row in range(0, len(batch), 3):
        length = int(batch.text.lengths[row])
        literal = Literal(model, 0.01, bias == "omitted")
        x = twin.embed(batch)[row, :length].detach().numpy()
        alpha, states = (value[row, :length].numpy() for value in (exact.weights, exact.states))
        target = int(reading.predicted[row])
        relevance = literal.text(x, alpha, states, target)
        real = batch.mask[row, :length].numpy()
        assert np.allclose(found.scores[row, :length].numpy()[real], relevance[real], rtol=0, atol=1e-9)
        total = relevance.sum() + sum(literal.kept.values())
        shares = {**literal.kept, "symbols": relevance[~real].sum()}
        for name, share in shares.items():
            assert float(found.certificate[name][row]) * total == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize(("encoder", "attention", "classes"), KINDS)
def test_the_shares_of_words_symbols_biases_and_epsilon_add_up_to_the_output(encoder, attention, classes):
    model, _, batch, reading = made(encoder, classes, attention)
    for bias in ("absorbs", "omitted"):
        found = LRP(bias=bias).explain(model, batch, reading)
        assert float(found.certificate["conservation_gap"].max()) < 1e-5
        assert torch.all(found.scores[~batch.mask] == 0)
        if classes == 2:
            output = margin(copy.deepcopy(model).double().read(batch).logits, reading.predicted).detach()
            rest = sum(found.certificate[name] for name in ("bias", "epsilon", "symbols"))
            assert torch.allclose(found.scores.sum(-1) / output + rest, torch.ones(len(batch)).double(), atol=1e-5)
        if bias == "omitted":
            assert torch.all(found.certificate["bias"] == 0)


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_lrp_does_not_depend_on_the_batch_around_a_text(encoder, monkeypatch):
    model, encoded, batch, reading = made(encoder)
    together = LRP().explain(model, batch, reading)
    monkeypatch.setattr("attentest.explainers.relevance.lrp.texts_at_once", lambda *_: 1)
    in_parts = LRP().explain(model, batch, reading)
    assert torch.allclose(together.scores, in_parts.scores, atol=1e-12)
    for row in (0, 5, 11):
        alone = encoded.batch(np.array([row]))
        with torch.no_grad():
            score = LRP().explain(model, alone, model.read(alone)).scores[0]
        assert torch.allclose(together.scores[row, : len(score)], score, atol=1e-12)


def test_the_target_class_decides_whom_relevance_speaks_for():
    model, _, batch, reading = made("bilstm(hidden=6)", 2)
    zero, one = (torch.full((len(batch),), c) for c in (0, 1))
    assert torch.allclose(
        LRP().scores(model, batch, reading, zero), -LRP().scores(model, batch, reading, one), atol=1e-12
    )
    assert torch.equal(LRP().scores(model, batch, reading), LRP().scores(model, batch, reading, reading.predicted))


def test_without_biases_and_epsilon_a_relu_network_has_gradient_times_input_for_relevance():
    model, _, batch, reading = made("convolution(filters=4)", 3)
    with torch.no_grad():
        for layer in (*model.encoder.layers, model.head.linear):
            layer.bias.zero_()
        reading = model.read(batch)
    relevance = LRP(epsilon=1e-12).scores(model, batch, reading)
    gradient = Gradient(path="detached").scores(model, batch, reading)
    assert torch.allclose(relevance.abs(), gradient.double(), atol=1e-5)


def test_lrp_leaves_the_model_as_it_was():
    model, _, batch, reading = made("bilstm(hidden=6)")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    LRP().explain(model, batch, reading)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_subject_that_cannot_be_replayed_is_refused_with_advice():
    class Other(Subject):
        classes = 2
        device = torch.device("cpu")

        def embed(self, batch):
            return torch.zeros(len(batch), batch.mask.shape[1], 3)

        def baseline(self, kind):
            return torch.zeros(3)

        def read(self, batch, *, embeddings=None, detach_attention=False):
            raise AssertionError

        def delete_each(self, batch):
            raise AssertionError

    _, _, batch, reading = made("average(hidden=8)")
    with pytest.raises(NotApplicable, match="Use gradient_x_input or integrated_gradients"):
        LRP().explain(Other(), batch, reading)


@pytest.mark.parametrize(("fields", "said"), [({"epsilon": 0.0}, "above 0"), ({"bias": "shared"}, "'absorbs'")])
def test_wrong_parameters_are_refused_in_one_line(fields, said):
    with pytest.raises(InputError, match=said) as error:
        LRP(**fields)
    assert "\n" not in str(error.value)
