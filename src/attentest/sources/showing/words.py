"""How results are said: the headline, the counts, and how numbers are written."""

from __future__ import annotations

import math

from attentest.registry import name_in_words
from attentest.sources.auditing import SourcesAudit
from attentest.sources.judging.verdict import Ruling
from attentest.statistics.intervals import Interval

__all__ = ["STATUS", "between", "came_from", "headline", "named", "of_layers", "of_others"]

STATUS = {
    "sources": "hangs on its sources",
    "known": "the model knew it anyway",
    "none": "no source mattered, and the model did not know it",
}


def named(ruling: Ruling) -> str:
    """What people call a method."""
    return name_in_words(ruling.judged.method)


def between(found: Interval, *, percent: bool = False, digits: int = 2) -> str:
    """An estimate with its interval; a dash where there is none."""
    if math.isnan(found.value):
        return "—"
    scale, digits = (100, 0) if percent else (1, digits)
    value, low, high = (f"{scale * each:.{digits}f}".replace("-", "−") for each in found)
    return value if math.isnan(found.low) else f"{value} [{low}, {high}]"


def headline(found: SourcesAudit) -> str:
    """May attention be shown as where the answers came from?"""
    looking = [
        ruling for ruling in found.rulings if ruling.judged.method.startswith(("attention", "rollout", "learnt"))
    ]
    if not looking:
        return "No way of reading attention was asked for."
    if all(ruling.tone == "too few" for ruling in looking):
        return f"Too few answers hang on their sources for a verdict: {looking[0].reading}."
    good = [ruling for ruling in looking if ruling.tone == "supports"]
    if good:
        best = max(good, key=lambda ruling: ruling.judged.share.value)
        return f"Attention may be shown as where an answer came from, read as {named(best)}."
    if all(ruling.tone == "against" for ruling in looking):
        return "Attention does not tell where an answer came from, however it is read."
    return "Attention tells only in part where an answer came from: show it with care, or leave sources out instead."


def came_from(found: SourcesAudit) -> str:
    """How many answers hang on their sources at all."""
    a = found.answered
    said = (
        f"{a.questions} questions: {a.sources} answers hang on the sources, {a.known} the model knew anyway, "
        f"in {a.none} no source mattered"
    )
    if a.planted:
        said += (
            f"; of {a.planted} with a planted source, {a.right} are answered by it, and in {a.confirmed} exchanging it "
            "turns the answer"
        )
    return f"{said}."


def of_others(found: SourcesAudit) -> str:
    """Whether other weights over the sources would have done."""
    tried = found.others
    if not tried.questions:
        return ""
    return (
        f"Would other weights do? {between(tried.stays, percent=True)} % of {tried.questions} answers stay as probable "
        "where more than half of what their sources get goes to other ones (that many at least: not all weights were "
        f"tried). Handed out evenly, the log-probability falls by {between(tried.uniform)}, at random by "
        f"{between(tried.permuted)}."
    )


def of_layers(found: SourcesAudit) -> str:
    """The best and the worst layer."""
    judged = [(ruling.judged.share.value, number, ruling) for number, ruling in enumerate(found.layers, 1)]
    judged = [each for each in judged if not math.isnan(each[0])]
    if len(judged) < 2:
        return ""
    (_, worst, low), (_, best, high) = min(judged, key=lambda e: e[:2]), max(judged, key=lambda e: e[:2])
    return (
        f"By layer: {best} has most ({between(high.judged.share)}), {worst} least ({between(low.judged.share)}) of the "
        "largest fall."
    )
