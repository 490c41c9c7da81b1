"""How explainers that were ranked stand beside attention, in words."""

from __future__ import annotations

from attentest.statistics.ranking import Standing
from attentest.tasks import TEXTS, Wording

__all__ = ["ATTENTION", "BESIDE", "beside", "place"]


ATTENTION = "attention"

#: What ``Ranking.told_apart`` says, beside attention.
BESIDE = {1: "significantly better", 0: "no significant difference", -1: "significantly worse"}


def beside(apart: int, few: bool, wording: Wording = TEXTS) -> str:
    """How an explainer stands beside attention, in words."""
    return f"too few {wording.wholes}" if few else BESIDE[apart]


def place(standing: Standing) -> str:
    """The ranks that a method may have, at 95 % for all methods together."""
    low, high = standing.rank_low, standing.rank_high
    return str(low) if low == high else f"{low} to {high}"
