"""Where the verdict draws its lines; the one place to change them.

PROVISIONAL. These are judgements, not measurements: they will be replaced by error rates of every challenge
on models whose attention is faithful, or unfaithful, by construction. A line counts as *supporting* or
*against* only when its whole 95 % interval lies beyond the threshold; anything else is *mixed*.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["THRESHOLDS", "Band", "band_of"]


@dataclass(frozen=True)
class Band:
    """Two marks on a scale, and which side of them speaks for attention."""

    against: float
    supports: float
    why: str


THRESHOLDS: dict[str, Band] = {
    "captured": Band(
        0.4,
        0.75,
        "How much of an effect the top words capture, between chance (0) and the best choice (1). Gradients reach "
        "about .75 of deletion on the built-in corpus: an attention that does as well may be read as they are. "
        "Below .4 most of what matters is elsewhere. This decides, not τ, because τ counts the order of words that "
        "do not matter.",
    ),
    "flips": Band(
        0.02,
        0.10,
        "Share of decisions that change when attention is switched off: one in fifty is within what another seed "
        "changes, one in ten is not.",
    ),
    "change": Band(
        0.05,
        0.15,
        "Median change of the predicted probability under shuffled weights: .05 is the smallest that a reader of "
        "rounded probabilities would notice, .15 moves a sure prediction to a doubtful one.",
    ),
    "ratio": Band(
        0.9,
        0.5,
        "ε-max JSD as a share of the largest possible: above .9 the prediction holds attention by almost nothing, "
        "below .5 it rules out the larger half of all differences.",
    ),
    "precision": Band(
        0.0,
        0.2,
        "Average precision above chance, as a share of what is left above it: no better than chance speaks against.",
    ),
}


def band_of(key: str, low: float, high: float) -> str:
    """``supports``, ``against`` or ``mixed``, by where the whole interval lies."""
    band = THRESHOLDS[key]
    if band.supports >= band.against:
        return "supports" if low >= band.supports else "against" if high <= band.against else "mixed"
    return "supports" if high <= band.supports else "against" if low >= band.against else "mixed"
