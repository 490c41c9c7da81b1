"""How explainers that were ranked compare with attention, in words."""

from __future__ import annotations

from attentest.statistics.ranking import Standing
from attentest.tasks import TEXTS, Wording

__all__ = ["ATTENTION", "BESIDE", "place", "standing_cells"]

ATTENTION = "attention"
#: What ``Ranking.told_apart`` says, beside attention.
BESIDE = {1: "significantly better", 0: "no significant difference", -1: "significantly worse"}
#: How an explainer compares with attention whose own check failed.
FAILED = "failed its check"


def place(standing: Standing) -> str:
    """The ranks that a method may have, at 95 % for all methods together."""
    low, high = standing.rank_low, standing.rank_high
    return str(low) if low == high else f"{low} to {high}"


def standing_cells(
    standing: Standing | None, apart: int, *, few: bool, wording: Wording = TEXTS, failed: frozenset[str] = frozenset()
) -> dict[str, str]:
    """An explainer's rank, and how it compares with attention; ``few``: on too few texts to say."""
    if standing is None:
        return {"rank": "–", "beside": "–"}
    beside = f"too few {wording.wholes}" if few else BESIDE[apart]
    if standing.name == ATTENTION or standing.name in failed:
        beside = "–" if standing.name == ATTENTION else FAILED
    return {"rank": "–" if few else place(standing), "beside": beside}
