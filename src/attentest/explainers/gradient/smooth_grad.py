"""SmoothGrad: a gradient method averaged over noisy copies of the embeddings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.budget import in_slices, positions
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.gradient_norm import GradientNorm
from attentest.explainers.gradient.gradient_x_input import GradientXInput
from attentest.explainers.gradient.slopes import slopes, target_of
from attentest.measures.chance import uniforms
from attentest.models.copies import copies
from attentest.models.subject import Reading, Subject
from attentest.parameters import SEEDS, Within
from attentest.registry import Registry

__all__ = ["SmoothGrad", "noise"]

SMOOTHED: Registry[GradientNorm | GradientXInput] = Registry(
    "smoothed explainer", {"gradient_norm": GradientNorm, "gradient_x_input": GradientXInput}
)


@dataclass(frozen=True)
class SmoothGrad(Explainer):
    """The mean of a gradient method over copies of the text with normal noise on its tokens' embeddings.

    A gradient can jump from one spot to the next; its mean over copies of the text with a little noise on the
    embeddings is steadier. The noise belongs to the text and the seed, so a text gets the same scores in any batch.
    The certificate gives the standard error that so many copies leave.
    """

    name: ClassVar[str] = "smooth_grad"
    summary: ClassVar[str] = "a gradient method averaged over noisy embeddings"
    reference: ClassVar[str] = "Smilkov et al. 2017"
    cost: ClassVar[str] = "nt_samples forward and backward passes"
    certifies: ClassVar[tuple[str, ...]] = ("standard_error",)
    checked: ClassVar[str] = "the largest standard error of a token's mean over the noisy copies"
    signed: ClassVar[bool] = True
    of: Annotated[str, "What is averaged: `gradient_x_input` or `gradient_norm`, with their parameters."] = (
        "gradient_x_input"
    )
    nt_samples: Annotated[int, "Noisy copies of each text.", Within(1, 10_000)] = 25
    stdevs: Annotated[float, "The noise's standard deviation.", Within(0, 1000)] = 0.15
    relative: Annotated[
        bool,
        "`True`: the deviation is a share of the range of the text's embeddings, as in the paper; `False`: it is a "
        "number, as in captum.",
    ] = True
    seed: Annotated[int, "Another seed, other noise.", SEEDS] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        SMOOTHED.parse(self.of)

    def has_sign(self) -> bool:
        """As what is averaged."""
        return self.smoothed.has_sign()

    @property
    def smoothed(self) -> GradientNorm | GradientXInput:
        """What is averaged."""
        return SMOOTHED.parse(self.of)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """As many copies at a time as memory holds."""
        method, wanted = self.smoothed, target_of(reading, target)
        embeddings = subject.embed(batch).detach()
        spread = self.spread(embeddings, batch.mask)
        texts = torch.arange(len(batch), device=batch.mask.device)

        def some(part: slice) -> tuple[Tensor, Tensor]:
            samples = range(self.nt_samples)[part]
            rows = texts.repeat(len(samples))
            drawn = torch.cat([noise(batch.keys, batch.mask, embeddings, self.seed, sample) for sample in samples])
            noisy = embeddings[rows] + spread[rows] * drawn
            width = int(batch.text.lengths.max()) if len(batch) else 0
            slope = slopes(subject, copies(batch, rows), noisy[:, :width], wanted[rows], method.path)
            found = torch.zeros(noisy.shape[:2], dtype=torch.float64, device=noisy.device)
            found[:, :width] = method.of_slope(slope, noisy[:, :width]).double()
            found = found.view(len(samples), len(batch), -1)
            return found.sum(0), found.square().sum(0)

        size = positions(subject.device) // 2 // max(1, batch.mask.numel())
        sums, squares = (torch.stack(x).sum(0) for x in zip(*in_slices(some, self.nt_samples, size), strict=True))
        mean = sums / self.nt_samples
        variance = (squares / self.nt_samples - mean.square()).clamp(min=0) / max(1, self.nt_samples - 1)
        error = (variance.sqrt() * batch.mask).amax(-1)
        return Attribution(mean.to(embeddings.dtype) * batch.mask, {"standard_error": error})

    def spread(self, embeddings: Tensor, mask: Tensor) -> Float[Tensor, "batch 1 1"]:
        """The noise's standard deviation: absolute, or a share of the range of the text's embeddings."""
        real = mask[..., None]
        if not self.relative:
            return torch.full_like(embeddings[:, :1, :1], self.stdevs)
        high = embeddings.masked_fill(~real, -torch.inf).amax((1, 2), keepdim=True)
        low = embeddings.masked_fill(~real, torch.inf).amin((1, 2), keepdim=True)
        return self.stdevs * torch.where(mask.any(-1)[:, None, None], high - low, 0.0)


def noise(
    keys: Int[Tensor, " batch"],
    mask: Bool[Tensor, "batch token"],
    like: Float[Tensor, "batch token embedding"],
    seed: int,
    sample: int,
) -> Float[Tensor, "batch token embedding"]:
    """Standard normal numbers for every real token, zero elsewhere: two from every hash (Box & Muller 1958)."""
    size = like.shape[-1]
    pairs = (size + 1) // 2
    repeated = mask.repeat_interleave(pairs, dim=1)
    drawn = uniforms(keys, 1, repeated.shape[1], seed, f"smooth_grad/{sample}", repeated)[:, 0]
    # The 53 random bits of a number make two: 26 for the radius, 27 for the angle.
    whole = (drawn * 2**26).floor()
    angle = (2 * math.pi) * (drawn * 2**26 - whole).to(like.dtype)
    radius = (-2 * ((whole + 1) * 2.0**-26).to(like.dtype).log()).sqrt()
    normal = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=-1)
    return normal.view(*mask.shape, 2 * pairs)[..., :size] * mask[..., None]
