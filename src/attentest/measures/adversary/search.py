"""Jain & Wallace's relaxed search for k diverse adversaries: gradient ascent on eq. 2 with a penalty.

The paper prints the penalty with a plus sign while maximising; it is subtracted here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.measures.packing import by_length, positions

__all__ = ["Searched", "relaxed_search", "relaxed_search_affine"]

Decode = Callable[[Float[Tensor, "batch k token"]], Float[Tensor, "batch k outcome"]]
_Penalise = Callable[[Float[Tensor, "k rows token"], Float[Tensor, "k rows token"]], None]

# Weights moved together through all steps: few stay in a core's cache, many make a GPU's steps worth their launch.
NUMBERS_AT_ONCE = {"cpu": 1 << 15, "cuda": 1 << 23}
# From so many margins on one product with all of them is faster than one with each.
_MANY = 8
_NOWHERE = -690.0  # the logit of padding: softmax makes it 1e-300, whose logarithm is still a number


class Searched(NamedTuple):
    """Where k searches ended: weights, JSD from the attention and TVD from the prediction, in float64."""

    weights: Float[Tensor, "batch k token"]
    divergence: Float[Tensor, "batch k"]
    change: Float[Tensor, "batch k"]


def relaxed_search(
    decode: Decode,
    weights: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    probabilities: Float[Tensor, "batch outcome"],
    epsilon: float,
    noise: Float[Tensor, "batch k token"],
    *,
    spread: float = 3.0,
    penalty: float = 500.0,
    rate: float = 0.01,
    steps: int = 500,
) -> Searched:
    """Σ JSD(α⁽ⁱ⁾, α) + Σ_{i<j} JSD(α⁽ⁱ⁾, α⁽ʲ⁾) / k(k−1) − λ/k Σ max(0, TVD⁽ⁱ⁾ − ε), climbed by Adam.

    ``noise`` holds standard normals and the first logits are ``spread`` times them. ``decode`` is any
    differentiable map from weights to probabilities; it is given weights of the dtype of ``weights``.
    """
    alpha, reference = weights.double().masked_fill(~mask, 0.0), probabilities.double()[:, None]
    outside, strength = ~mask[:, None], penalty / noise.shape[1]

    def penalise(moved: Float[Tensor, "k batch token"], gradient: Float[Tensor, "k batch token"]) -> None:
        given = moved.transpose(0, 1).masked_fill(outside, 0.0).to(weights.dtype).requires_grad_()
        with torch.enable_grad():
            beyond = (total_variation(decode(given), reference) - epsilon).relu().sum()
            (slope,) = torch.autograd.grad(beyond, given)
        gradient.sub_(slope.double().transpose(0, 1), alpha=strength)

    with torch.no_grad():
        start = (noise.double() * spread).masked_fill(outside, -torch.inf)
        moved = _climbed(start, alpha, penalise, rate, steps).masked_fill(outside, 0.0)
        change = total_variation(decode(moved.to(weights.dtype)), reference)
    return Searched(moved, jensen_shannon(moved, alpha[:, None]), change)


def relaxed_search_affine(
    token_logits: Float[Tensor, "batch token outcome"],
    weights: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    epsilon: float,
    noise: Float[Tensor, "batch k token"],
    *,
    spread: float = 3.0,
    penalty: float = 500.0,
    rate: float = 0.01,
    steps: int = 500,
) -> Searched:
    """The same search for a head that is affine in the context, with the gradient written by hand.

    The prediction is softmax(Σ α_t z_t); one sigmoid is two outcomes with z₀ = 0.
    """
    alpha = weights.detach().double().masked_fill(~mask, 0.0)
    z = token_logits.detach().double().masked_fill(~mask[:, :, None], 0.0)
    lengths, places = mask.sum(-1), positions(mask)
    moved = torch.zeros_like(noise, dtype=torch.float64)
    some = lengths.nonzero().squeeze(-1)
    for part, longest in by_length(
        lengths[some], NUMBERS_AT_ONCE.get(mask.device.type, NUMBERS_AT_ONCE["cpu"]) // noise.shape[1]
    ):
        rows = some[part]
        here = places[rows, :longest]
        each = here[:, None].expand(-1, noise.shape[1], -1)
        outside = (torch.arange(longest, device=mask.device) >= lengths[rows, None])[:, None]
        start = (noise[rows].gather(-1, each).double() * spread).masked_fill(outside, -torch.inf)
        local_alpha = alpha[rows].gather(-1, here)
        local_z = z[rows].gather(1, here[:, :, None].expand(-1, -1, z.shape[-1]))
        penalise = _AffinePenalty(local_alpha, local_z, epsilon, penalty / noise.shape[1])
        found = _climbed(start, local_alpha, penalise, rate, steps).masked_fill(outside, 0.0)
        moved[rows] = moved[rows].scatter_(-1, each, found)
    reference = (alpha[:, None] @ z).softmax(-1)
    return Searched(moved, jensen_shannon(moved, alpha[:, None]), total_variation((moved @ z).softmax(-1), reference))


def _climbed(
    start: Float[Tensor, "rows k token"],
    alpha: Float[Tensor, "rows token"],
    penalise: _Penalise,
    rate: float,
    steps: int,
) -> Float[Tensor, "rows k token"]:
    """Where gradient ascent by Adam (Kingma & Ba 2015, algorithm 1) arrives; every element moves for itself.

    ∂JSD(q, p)/∂q = ½ ln(q / m). Terms that are the same for every token are dropped, because the softmax
    between logits and weights takes them out again.
    """
    # Softmax does not see a shift; with the largest logit at zero the exponentials cannot overflow.
    logits = (start - start.amax(-1, keepdim=True)).clamp_(min=_NOWHERE).transpose(0, 1).contiguous()
    weights, gradient, scratch = (torch.empty_like(logits) for _ in range(3))
    first, second = torch.zeros_like(logits), torch.zeros_like(logits)
    k = len(logits)
    diversity = 0.5 / (k * (k - 1)) if k > 1 else 0.0
    for step in range(1, steps + 1):
        torch.exp(logits, out=weights)
        weights.div_(weights.sum(-1, keepdim=True))

        torch.mul(logits, 0.5 + diversity * (k - 1), out=gradient)
        torch.add(weights, alpha, out=scratch).log_()
        gradient.sub_(scratch, alpha=0.5)
        for apart in range(1, k):
            middle = torch.add(weights[:-apart], weights[apart:], out=scratch[:-apart]).log_()
            gradient[:-apart].sub_(middle, alpha=diversity)
            gradient[apart:].sub_(middle, alpha=diversity)
        penalise(weights, gradient)

        torch.mul(weights, gradient, out=scratch)
        gradient.sub_(scratch.sum(-1, keepdim=True)).mul_(weights)
        first.lerp_(gradient, 0.1)
        second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        torch.sqrt(second, out=scratch).div_((1 - 0.999**step) ** 0.5).add_(1e-8)
        logits.addcdiv_(first, scratch, value=rate / (1 - 0.9**step))
    return logits.softmax(-1).transpose(0, 1)


class _AffinePenalty:
    """Takes the gradient of λ/k max(0, TVD(softmax(Σ α'_t z_t), softmax(Σ α_t z_t)) − ε) off another."""

    def __init__(
        self,
        alpha: Float[Tensor, "rows token"],
        z: Float[Tensor, "rows token outcome"],
        epsilon: float,
        strength: float,
    ) -> None:
        self.epsilon, self.strength = epsilon, strength
        self.margins = (z[..., 1:] - z[..., :1]).movedim(-1, 0).contiguous()
        self.reference = self._predicted(alpha[None])

    def __call__(self, weights: Float[Tensor, "k rows token"], gradient: Float[Tensor, "k rows token"]) -> None:
        predicted = self._predicted(weights)
        difference = predicted - self.reference
        beyond = difference.abs().sum(-1, keepdim=True) / 2 > self.epsilon
        signs = difference.sign_().mul_(beyond).mul_(0.5 * self.strength)
        slopes = predicted * (signs - (signs * predicted).sum(-1, keepdim=True))
        if len(self.margins) < _MANY:
            for margin, slope in zip(self.margins, slopes[..., 1:, None].unbind(-2), strict=True):
                gradient.addcmul_(margin, slope, value=-1.0)
        else:
            gradient.sub_(torch.einsum("krc,crt->krt", slopes[..., 1:], self.margins))

    def _predicted(self, weights: Float[Tensor, "k rows token"]) -> Float[Tensor, "k rows outcome"]:
        if len(self.margins) < _MANY:
            logits = torch.stack([(weights * margin).sum(-1) for margin in self.margins], -1)
        else:
            logits = torch.einsum("krt,crt->krc", weights, self.margins)
        return torch.nn.functional.pad(logits, (1, 0)).softmax(-1)
