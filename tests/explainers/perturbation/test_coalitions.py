"""LIME and KernelSHAP: exact where every coalition is asked, captum's numbers where they are drawn."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import KernelShap as CaptumKernelShap
from captum.attr import LimeBase, ShapleyValues
from tests.explainers.small_models import ENCODER_TEXTS, arguments, made, margins, targets

from attentest.explainers.perturbation.coalitions import explained_share
from attentest.explainers.perturbation.kernel_shap import KernelShap
from attentest.explainers.perturbation.lime import Lime

PRESENT = pytest.mark.parametrize("encoder", ENCODER_TEXTS)


def presence(model, batch, target, row: int, baselines: str = "zero"):
    """One text's margin as a function of which of its tokens are there."""
    embeddings, start, _ = arguments(model, batch, baselines)
    output, places = margins(model, batch, target), batch.mask[row].nonzero()[:, 0]

    def of(there: torch.Tensor) -> torch.Tensor:
        kept = torch.ones(len(there), batch.mask.shape[1], dtype=torch.bool)
        kept[:, places] = there > 0.5
        inputs = torch.where(kept[..., None], embeddings[row], start[row])
        with torch.no_grad():
            return output(inputs, torch.full((len(there),), row))

    return of, places


def shapley(of, count: int) -> list[float]:
    """From the definition: a token's mean gain over all orders, coalition by coalition."""
    every = list(itertools.product((0, 1), repeat=count))
    value = dict(zip(every, of(torch.tensor(every).float()).tolist(), strict=True))
    found = []
    for t in range(count):
        total = 0.0
        for bits, less in value.items():
            if not bits[t]:
                size = sum(bits)
                weight = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
                total += weight * (value[(*bits[:t], 1, *bits[t + 1 :])] - less)
        found.append(total)
    return found


@pytest.mark.slow
@PRESENT
@pytest.mark.parametrize("classes", [2, 3])
def test_short_texts_get_their_exact_shapley_values(encoder, classes):
    model, batch, reading = made(encoder, classes, high=5, count=6)
    for target in targets(reading, classes):
        wanted = reading.predicted if target is None else target
        found = KernelShap(n_samples=64).explain(model, batch, reading, target)
        assert torch.all(found.certificate["exact"] == 1)
        assert torch.all(found.certificate["completeness_gap"] < 1e-9)
        for row in range(len(batch)):
            of, places = presence(model, batch, wanted, row)
            ours = found.scores[row, places]
            assert ours.tolist() == pytest.approx(shapley(of, len(places)), abs=1e-5)
            theirs = ShapleyValues(of).attribute(torch.ones(1, len(places)), perturbations_per_eval=len(places))[0]
            assert torch.allclose(ours.float(), theirs, atol=1e-5)


def test_drawn_coalitions_come_near_the_exact_values_and_nearer_with_more_of_them():
    model, batch, reading = made("bilstm(hidden=8)", low=9, high=10, count=8)
    exact = KernelShap(n_samples=1022).explain(model, batch, reading)
    assert torch.all(exact.certificate["exact"] == 1)
    scale = float(exact.scores.abs().max())
    errors = []
    for samples in (60, 400):
        found = KernelShap(n_samples=samples).explain(model, batch, reading)
        assert torch.all(found.certificate["exact"] == 0)
        assert torch.all(found.certificate["completeness_gap"] < 1e-9)
        errors.append(float((found.scores - exact.scores).abs().max()) / scale)
    assert errors[1] < errors[0]
    assert errors[1] < 0.03


@pytest.mark.slow
def test_captums_kernel_shap_agrees_within_a_twentieth_of_the_largest_score():
    model, batch, reading = made("bilstm(hidden=8)", low=8, high=10, count=4)
    ours = KernelShap(n_samples=1022).scores(model, batch, reading)
    torch.manual_seed(0)
    for row in range(len(batch)):
        of, places = presence(model, batch, reading.predicted, row)
        theirs = CaptumKernelShap(of).attribute(torch.ones(1, len(places)), n_samples=1500, perturbations_per_eval=100)[
            0
        ]
        assert float((ours[row, places] - theirs).abs().max()) < 0.05 * float(ours[row].abs().max())


def test_a_text_with_more_tokens_than_coalitions_still_gets_complete_scores():
    model, batch, reading = made("average(hidden=8)", low=11, high=12, count=5)
    found = KernelShap(n_samples=6).explain(model, batch, reading)
    assert torch.isfinite(found.scores).all()
    assert torch.all(found.certificate["completeness_gap"] < 1e-8)
    assert found.certificate["fit"].isnan().all()


@pytest.mark.parametrize("samples", [12, 13, 14, 40])
def test_r_squared_is_adjusted_and_is_none_for_too_few_samples(samples):
    """Pure noise, fitted by ordinary least squares with an intercept: plain R² is far above zero."""
    generator = torch.Generator().manual_seed(0)
    design, outputs = (torch.randn(300, samples, k, generator=generator).double() for k in (12, 1))
    design, outputs = design - design.mean(1, keepdim=True), outputs - outputs.mean(1, keepdim=True)
    fitted = (design @ torch.linalg.pinv(design) @ outputs)[..., 0]
    weight, tokens = torch.ones(300, samples).double(), torch.full((300,), 12)
    found = explained_share(outputs[..., 0], fitted, weight, tokens)
    plain = explained_share(outputs[..., 0], fitted, weight, tokens, torch.ones(300, dtype=torch.bool))
    assert torch.all((plain > 0) & (plain < 1 + 1e-9))
    if samples <= 13:
        assert found.isnan().all()
    else:
        expected = 1 - (1 - plain) * (samples - 1) / (samples - 13)
        assert torch.allclose(found, expected)
        if samples == 40:
            assert float(plain.mean()) > 0.25
            assert abs(float(found.mean())) < 0.05


@PRESENT
@pytest.mark.parametrize("classes", [2, 3])
def test_lime_equals_captums_with_ridge_regression_on_the_same_samples(encoder, classes):
    model, batch, reading = made(encoder, classes, count=6)
    explainer = Lime(n_samples=80, alpha=0.5, kernel_width=0.4, baselines="mean")
    keep = explainer.samples(batch)
    weight = explainer.similarity(keep, batch.mask)
    for target in targets(reading, classes):
        ours = explainer.scores(model, batch, reading, target)
        for row in range(len(batch)):
            wanted = reading.predicted if target is None else target
            of, places = presence(model, batch, wanted, row, "mean")
            samples = keep[row][:, places].long()

            def drawn(inputs, samples=samples, **options):
                yield from (sample[None] for sample in samples)

            ordered = iter(weight[row])
            theirs = LimeBase(
                of,
                SkLearnRidge(alpha=0.5),
                lambda *given, ordered=ordered, **options: next(ordered),
                drawn,
                perturb_interpretable_space=True,
                from_interp_rep_transform=lambda sample, inputs, **options: sample.float(),
                to_interp_rep_transform=None,
            ).attribute(torch.ones(1, len(places)), n_samples=80, perturbations_per_eval=80)
            assert torch.allclose(ours[row, places].float(), theirs.flatten(), atol=1e-5)


def test_limes_samples_are_the_text_and_subsets_of_every_size():
    _, batch, _ = made("average(hidden=8)", low=4, high=4, count=3)
    keep = Lime(n_samples=2001).samples(batch)
    assert torch.equal(keep[:, 0], batch.mask)
    sizes = keep[:, 1:].sum(-1)
    for size in range(4):
        assert float((sizes == size).double().mean()) == pytest.approx(0.25, abs=0.03)
    assert torch.allclose(keep[:, 1:].double().mean(1)[batch.mask], torch.tensor(0.375).double(), atol=0.05)
    assert not (keep & ~batch.mask[:, None]).any()


def test_where_the_model_is_linear_in_presence_lime_and_shapley_values_find_its_coefficients():
    """The average encoder under uniform weights: every token adds its own share, whatever the others do."""
    model, batch, reading = made("average(hidden=8)", low=3, count=6)
    with torch.no_grad():
        model.attention.vector.weight.zero_()
        reading = model.read(batch)
    shap = KernelShap().explain(model, batch, reading)
    assert torch.all(shap.certificate["fit"] > 1 - 1e-6)
    lime = Lime(alpha=1e-6).explain(model, batch, reading)
    assert torch.all(lime.certificate["fit"] > 1 - 1e-6)
    assert torch.allclose(shap.scores, lime.scores, atol=1e-4)
