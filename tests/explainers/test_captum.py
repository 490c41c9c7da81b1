from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from captum.attr import DeepLift, InputXGradient
from tests.explainers.small_models import ENCODER_TEXTS, Plain, made, targets
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.errors import InputError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.explainers.captum_adapter import METHODS, REFUSED, Captum
from attentest.explainers.explainer import margin
from attentest.models.copies import copies
from attentest.models.subject import AffineReading, Reading, Subject

HOOKED = ("DeepLift", "GuidedBackprop", "Deconvolution")
#: Captum's methods, and what is the same by another name.
SAME = (
    ("captum(method='Saliency')", "gradient_norm(norm='l1')"),
    ("captum(method='InputXGradient')", "gradient_x_input"),
    ("captum(method='IntegratedGradients', n_steps=30)", "integrated_gradients(n_steps=30, most_steps=1)"),
    ("captum(method='FeatureAblation')", "occlusion"),
    ("captum(method='FeatureAblation', baselines='mask')", "occlusion(baselines='mask')"),
)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize(("theirs", "ours"), SAME)
def test_captums_methods_equal_those_here_that_are_the_same(theirs, ours, encoder, classes):
    model, batch, reading = made(encoder, classes)
    for subject in (model, Plain(model)):
        for target in targets(reading, classes):
            found, expected = (
                EXPLAINERS.parse(text).scores(subject, batch, reading, target).float() for text in (theirs, ours)
            )
            assert torch.allclose(found, expected, atol=1e-5)


#: Drawn methods, and the share of the largest score by which they may differ from the exact one.
NEAR = (
    ("captum(method='KernelShap', n_samples=1500)", "kernel_shap(n_samples=1022)", 0.06),
    ("captum(method='ShapleyValueSampling', n_samples=150)", "kernel_shap(n_samples=1022)", 0.1),
    ("captum(method='GradientShap', n_samples=400)", "integrated_gradients", 0.1),
)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("theirs", "ours", "apart"), NEAR)
def test_captums_drawn_methods_come_near_what_they_estimate(theirs, ours, apart, classes):
    model, batch, reading = made("bilstm(hidden=8)", classes, low=4, high=10, count=3)
    found, expected = (EXPLAINERS.parse(text).scores(model, batch, reading) for text in (theirs, ours))
    assert float((found - expected).abs().max()) < apart * float(expected.abs().max())


@pytest.mark.slow
def test_captums_lime_ranks_as_shapley_values_do():
    model, batch, reading = made("average(hidden=8)", low=5, high=8, count=6)
    found = Captum("Lime", n_samples=300).scores(model, batch, reading)
    expected = EXPLAINERS.parse("kernel_shap").scores(model, batch, reading)
    both = torch.stack([found.double()[batch.mask], expected[batch.mask]])
    assert float(torch.corrcoef(both)[0, 1]) > 0.9


@pytest.mark.slow
def test_feature_permutation_exchanges_a_token_for_another_of_its_text():
    model, batch, reading = made("bilstm(hidden=8)")
    found = Captum("FeaturePermutation", seed=3).scores(model, batch, reading)
    embeddings = model.embed(batch).detach()
    for row in range(len(batch)):
        places = batch.mask[row].nonzero()[:, 0].tolist()
        alone = copies(batch, torch.tensor([row]))
        for t in places:
            drops = []
            for other in (place for place in places if place != t or len(places) == 1):
                changed = embeddings[row : row + 1, : alone.mask.shape[1]].clone()
                changed[0, t] = embeddings[row, other]
                with torch.no_grad():
                    ends = torch.cat([reading.logits[row : row + 1], model.read(alone, embeddings=changed).logits])
                values = margin(ends, reading.predicted[row].expand(2))
                drops.append(float(values[0] - values[1]))
            assert min(abs(float(found[row, t]) - drop) for drop in drops) < 1e-5


@pytest.mark.parametrize("method", [method for method in METHODS if method not in HOOKED])
def test_a_texts_scores_depend_on_the_seed_and_the_text_and_leave_the_generators_alone(method):
    model, batch, reading = made("bilstm(hidden=4)", count=5)
    explainer = Captum(method, n_samples=20)
    torch.manual_seed(1)
    np.random.seed(1)
    states = torch.get_rng_state(), np.random.get_state()[1].copy()
    together = explainer.scores(model, batch, reading)
    assert torch.equal(states[0], torch.get_rng_state())
    assert np.array_equal(states[1], np.random.get_state()[1])
    torch.manual_seed(2)
    assert torch.allclose(together, explainer.scores(model, batch, reading), atol=1e-6)
    for row in range(len(batch)):
        alone = copies(batch, torch.tensor([row]))
        with torch.no_grad():
            found = explainer.scores(model, alone, model.read(alone))
        assert torch.allclose(together[row, : found.shape[1]], found[0], atol=1e-5)
    assert torch.all(together[~batch.mask] == 0)


class Stack(nn.Module, Subject):
    """An even average of per-token layers: every non-linearity is a module, as captum wants it."""

    def __init__(self, model, hidden: bool = False) -> None:
        nn.Module.__init__(self)
        generator = torch.Generator().manual_seed(0)
        self.classes, self.embedding, self.hidden = 2, model.embedding, hidden
        self.first, self.second = nn.Linear(10, 6), nn.Linear(6, 2)
        self.relu = nn.ReLU()
        with torch.no_grad():
            for parameter in (*self.first.parameters(), *self.second.parameters()):
                parameter.copy_(torch.randn(parameter.shape, generator=generator))

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device

    def embed(self, batch: Batch) -> Tensor:
        return self.embedding(batch.text.tokens)

    def baseline(self, kind: str) -> Tensor:
        return torch.zeros_like(self.embedding.weight[0])

    def read(self, batch: Batch, *, embeddings: Tensor | None = None, detach_attention: bool = False) -> Reading:
        embedded = self.embed(batch) if embeddings is None else embeddings
        states = self.relu(self.first(embedded))
        if self.hidden:
            states = states.square()
        weights = batch.mask / batch.mask.sum(-1, keepdim=True)
        logits = self.second((weights[:, None] @ states)[:, 0])
        return AffineReading(logits, weights, batch.mask, states, embedded, self.second(states))

    def delete_each(self, batch: Batch) -> Tensor:
        raise NotImplementedError


def test_where_every_non_linearity_is_a_module_captums_deep_lift_adds_up():
    model, batch, _ = made("average(hidden=8)")
    stack = Stack(model)
    with torch.no_grad():
        reading = stack.read(batch)
    found = Captum("DeepLift").explain(stack, batch, reading)
    assert torch.all(found.certificate["completeness_gap"] < 1e-4)
    gradient = Captum("InputXGradient").scores(stack, batch, reading)
    assert not torch.allclose(found.scores, gradient, atol=1e-3)
    # The hooks were on a copy.
    assert not stack.relu._forward_hooks
    assert not stack.relu._backward_hooks
    for method in ("GuidedBackprop", "Deconvolution"):
        assert Captum(method).scores(stack, batch, reading).abs().max() > 0


def test_where_one_is_hidden_captums_deep_lift_is_refused():
    model, batch, _ = made("average(hidden=8)")
    stack = Stack(model, hidden=True)
    with torch.no_grad():
        reading = stack.read(batch)
    with pytest.raises(NotApplicable, match=r"misses F\(text\) − F\(baseline\) by up to .* Use deep_lift"):
        Captum("DeepLift").scores(stack, batch, reading)


@pytest.mark.parametrize("method", HOOKED)
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_methods_that_hook_modules_are_refused_where_there_is_nothing_to_see(encoder, method):
    model, batch, reading = made(encoder)
    why = "it cannot see inside a recurrent layer" if encoder.startswith("bilstm") else "has none that it can see"
    with pytest.raises(NotApplicable, match=why):
        Captum(method).scores(model, batch, reading)
    with pytest.raises(NotApplicable, match="no torch module"):
        Captum(method).scores(Plain(model), batch, reading)


@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
def test_inside_a_recurrent_layer_captums_deep_lift_is_the_plain_gradient():
    """This is why it is refused there."""

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(5, 4, batch_first=True)

        def forward(self, inputs: Tensor) -> Tensor:
            return self.lstm(inputs)[0].sum((1, 2))

    torch.manual_seed(0)
    net, inputs = Recurrent(), torch.randn(3, 6, 5).requires_grad_()
    lifted, missed = DeepLift(net).attribute(inputs, torch.zeros_like(inputs), return_convergence_delta=True)
    assert torch.allclose(lifted, InputXGradient(net).attribute(inputs), atol=1e-6)
    assert float(missed.abs().max()) > 0.01


@pytest.mark.parametrize("method", list(REFUSED))
def test_methods_that_make_no_sense_here_are_refused_with_the_reason(method):
    with pytest.raises(InputError, match=f"method='{method}' is not to be had: .* Use "):
        EXPLAINERS.parse(f"captum(method={method!r})")


def test_an_unknown_method_is_named():
    with pytest.raises(InputError, match="method='Shap' must be one of Saliency"):
        EXPLAINERS.parse("captum(method='Shap')")


def test_without_captum_one_line_says_what_to_install(monkeypatch):
    model, batch, reading = made("average(hidden=8)")
    monkeypatch.setitem(sys.modules, "captum", None)
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    with pytest.raises(InputError, match=r"install 'attentest\[captum\]'"):
        EXPLAINERS.parse("captum").scores(model, batch, reading)
    EXPLAINERS.parse("kernel_shap").scores(model, batch, reading)


def test_what_captum_itself_lacks_is_named_too(monkeypatch):
    model, batch, reading = made("average(hidden=8)")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InputError, match=r"needs scikit-learn: install 'attentest\[captum\]'"):
        EXPLAINERS.parse("captum(method='Lime')").scores(model, batch, reading)
    EXPLAINERS.parse("captum(method='Saliency')").scores(model, batch, reading)
