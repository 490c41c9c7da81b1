"""What only a translator can be asked: how it translates under other weights, and whether it looks at its source."""

from __future__ import annotations

from attentest.report.verdict import Line
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate

__all__ = ["alignment_line", "bleu_line"]


def bleu_line(bleu: Findings) -> Line:
    """Does it translate as well without its attention, when whole texts are written?"""
    own, without, lost = (estimate(bleu, name) for name in ("own.bleu", "uniform.bleu", "uniform.change"))
    others = [(kind, estimate(bleu, f"{kind}.bleu")) for kind in ("random", "permuted")]
    beside = ", ".join(f"{kind} {found.value:.1f}" for kind, found in others)
    said = "It cannot translate without its attention." if without.high < own.low / 2 else ""
    if lost.low <= 0 <= lost.high:
        said = "Whether it translates worse without its attention is not settled."
    elif lost.low > 0:
        said = "It translates no worse without its attention."
    said = said or "It translates worse without its attention."
    return Line(
        "bleu",
        "Does it translate as well with uniform weights at every step? (BLEU)",
        f"{_one(own)} → {_one(without)} BLEU",
        f"{said} BLEU under other weights: {beside}.",
        "context",
        lost,
        "states",
        "Change under uniform attention? (BLEU)",
        "bleu_change",
    )


def alignment_line(alignment: Findings) -> Line | None:
    """Does it look at the words it translates?"""
    names = {measure.where["explainer"] for measure in alignment.measures}
    if "attention" not in names:
        return None
    own = estimate(alignment, "attention.aer")
    others = ((name, estimate(alignment, f"{name}.aer")) for name in sorted(names - {"attention"}))
    beside = ", ".join(f"{name} {found.value:.2f}" for name, found in others)
    links = "It proposes one link for every word, also for those that have none, so the rate cannot reach 0 there."
    return Line(
        "alignment",
        "Does attention point at the word that is being translated? (alignment error rate)",
        f"{own} AER (0 best, 1 worst)",
        f"{links} Beside it: {beside}." if beside else links,
        "context",
        own,
        "tokens",
        "How wrong are its links?",
    )


def _one(found: Estimate) -> str:
    return f"{found.value:.1f} [{found.low:.1f}, {found.high:.1f}]"
