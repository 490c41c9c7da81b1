from __future__ import annotations

import math

import pytest
import torch
from captum.attr import InputXGradient, NoiseTunnel, Saliency
from scipy import stats
from tests.explainers.small_models import ENCODER_TEXTS, arguments, made, margins, targets

from attentest.explainers import EXPLAINERS
from attentest.explainers.gradient.smooth_grad import SmoothGrad, noise


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_scores_are_the_mean_of_captums_at_the_noisy_copies(encoder, classes):
    model, batch, reading = made(encoder, classes)
    embeddings, _, rows = arguments(model, batch)
    for target in targets(reading, classes):
        output = margins(model, batch, reading.predicted if target is None else target)
        sums, products = torch.zeros(2, *batch.mask.shape)
        for sample in range(4):
            noisy = embeddings + 0.3 * noise(batch.keys, batch.mask, embeddings, 5, sample)
            slope = Saliency(output).attribute(noisy.requires_grad_(), additional_forward_args=(rows,), abs=False)
            sums += slope.norm(dim=-1) / 4
            products += InputXGradient(output).attribute(noisy, additional_forward_args=(rows,)).detach().sum(-1) / 4
        for of, expected in (("gradient_norm", sums), ("gradient_x_input", products)):
            ours = SmoothGrad(of, 4, 0.3, relative=False, seed=5).scores(model, batch, reading, target)
            assert torch.allclose(ours, expected * batch.mask, atol=1e-5)


@pytest.mark.slow
def test_many_copies_agree_with_captums_noise_tunnel_within_their_errors():
    """Both are means over 800 draws: they differ by less than five of their joint standard errors."""
    model, batch, reading = made("bilstm(hidden=8)")
    embeddings, _, rows = arguments(model, batch)
    output = margins(model, batch, reading.predicted)

    def pinned(inputs: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return output(torch.where(batch.mask[rows][..., None], inputs, embeddings[rows]), rows)

    torch.manual_seed(0)
    theirs = NoiseTunnel(InputXGradient(pinned)).attribute(
        embeddings, nt_samples=800, nt_samples_batch_size=100, stdevs=0.3, additional_forward_args=(rows,)
    )
    found = SmoothGrad(nt_samples=800, stdevs=0.3, relative=False).explain(model, batch, reading)
    error = found.certificate["standard_error"][:, None]
    assert torch.all((found.scores - theirs.detach().sum(-1) * batch.mask).abs() <= 5 * math.sqrt(2) * error)
    assert float(error.max()) < 0.1 * float(found.scores.abs().max())


def test_without_noise_it_is_the_method_itself():
    model, batch, reading = made("convolution(filters=4)")
    for of in ("gradient_x_input(path='detached')", "gradient_norm(norm='l1')"):
        smooth = SmoothGrad(of, nt_samples=2, stdevs=0.0).explain(model, batch, reading)
        assert torch.allclose(smooth.scores, EXPLAINERS.parse(of).scores(model, batch, reading), atol=1e-6)
        assert torch.all(smooth.certificate["standard_error"] < 1e-6)


def test_relative_noise_is_a_share_of_the_range_of_the_texts_embeddings():
    model, batch, reading = made("average(hidden=8)", count=1)
    inside = model.embed(batch).detach()[0][batch.mask[0]]
    absolute = 0.2 * float(inside.max() - inside.min())
    relative = SmoothGrad(stdevs=0.2).scores(model, batch, reading)
    assert torch.allclose(
        relative, SmoothGrad(stdevs=absolute, relative=False).scores(model, batch, reading), atol=1e-5
    )


def test_the_noise_is_normal_and_belongs_to_text_place_copy_and_seed():
    keys, mask = torch.tensor([11, 12]), torch.ones(2, 60, dtype=torch.bool)
    like = torch.zeros(2, 60, 301)
    drawn = noise(keys, mask, like, 0, 0)
    assert stats.kstest(drawn.flatten().numpy(), "norm").pvalue > 0.01
    pairs = drawn[..., :300].reshape(-1, 2).numpy()
    assert abs(stats.pearsonr(pairs[:, 0], pairs[:, 1]).statistic) < 0.02
    assert not torch.equal(drawn[0], drawn[1])
    for seed, sample in ((1, 0), (0, 1)):
        assert not torch.equal(drawn, noise(keys, mask, like, seed, sample))
    # Another text first, start and padding around: the same numbers at the same tokens.
    wider = torch.zeros(1, 70, dtype=torch.bool)
    wider[:, 1:61] = True
    moved = noise(keys[1:], wider, torch.zeros(1, 70, 301), 0, 0)
    assert torch.equal(moved[0, 1:61], drawn[1])
    assert not moved[0, 61:].any()
