"""What is lost when tokens are gone: the fall of the target's margin, or of its probability."""

from __future__ import annotations

from jaxtyping import Float, Float64, Int
from torch import Tensor

from attentest.errors import InputError
from attentest.explainers.explainer import margin

__all__ = ["OUTPUTS", "check_output", "output_of"]

OUTPUTS = ("margin", "probability")


def check_output(explainer: str, output: str) -> None:
    """Refuse an output that is neither the margin nor the probability."""
    if output not in OUTPUTS:
        raise InputError(f"{explainer}: output={output!r} must be 'margin' (log-odds) or 'probability'.")


def output_of(
    logits: Float[Tensor, "batch *alternative class"], target: Int[Tensor, " batch"], output: str
) -> Float64[Tensor, " batch *alternative"]:
    """The target's margin, or probability, in double precision."""
    wanted = target.view(-1, *[1] * (logits.dim() - 2)).expand(logits.shape[:-1])
    margins = margin(logits.double(), wanted)
    return margins if output == "margin" else margins.sigmoid()
