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
        "Effect captured by the top words, between chance (0) and the best choice (1). It decides, not τ: τ counts the "
        "order of every two words alike, also of words that do not matter at all.",
    ),
    "flips": Band(0.02, 0.10, "Share of decisions that change when attention is switched off or shuffled."),
    "change": Band(0.05, 0.15, "Median change of the predicted probability under shuffled attention."),
    "ratio": Band(0.9, 0.5, "ε-max JSD as a share of the largest possible: near 1 nearly any attention would do."),
    "precision": Band(0.0, 0.2, "Average precision above chance, as a share of what is left above chance."),
}


def band_of(key: str, low: float, high: float) -> str:
    """``supports``, ``against`` or ``mixed``, by where the whole interval lies."""
    band = THRESHOLDS[key]
    if band.supports >= band.against:
        return "supports" if low >= band.supports else "against" if high <= band.against else "mixed"
    return "supports" if high <= band.supports else "against" if low >= band.against else "mixed"
