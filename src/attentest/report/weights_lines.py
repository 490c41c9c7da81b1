"""Lines on weights that are replaced: by uniform ones, by shuffled ones, by the strongest adversary's."""

from __future__ import annotations

from attentest.report.held import Site, dependence, freedom
from attentest.report.thresholds import percent, said, tone_of
from attentest.report.verdict import Line, Tone
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["adversary_line", "permutation_line", "uniform_line"]


def uniform_line(
    uniform: Findings, share: Estimate | None = None, site: Site | None = None, wording: Wording = TEXTS
) -> Line:
    """Does the output change under uniform attention?"""
    flipped, before, after = (estimate(uniform, m) for m in ("flipped", "accuracy", "accuracy_uniform"))
    under = "Uniform attention" if site is None else f"Uniform attention at {site.name}"
    words = {
        "supports": f"{under} flips many decisions: the model uses where it looks.",
        "against": f"{under} flips almost no decision: the model hardly uses where it looks.",
        "mixed": f"{under} flips some decisions.",
    }
    reading = dependence(words, "flips", flipped, share, wording)
    return Line(
        "uniform",
        "Do decisions flip under uniform attention?",
        f"{flipped} of decisions flip",
        f"{reading.words} Accuracy {before.value:.3f} → {after.value:.3f}.{site.words if site else ''}",
        reading.tone,
        flipped,
        "states",
        "Does uniform attention flip decisions?",
        scale="flips",
        held=reading.held,
    )


def permutation_line(
    permutation: Findings, share: Estimate | None = None, site: Site | None = None, wording: Wording = TEXTS
) -> Line:
    """Does it matter which state gets which weight?"""
    change, flips = (estimate(permutation, m) for m in ("median_change", "flips"))
    which = f"which {wording.item} gets which weight"
    shuffling = "Shuffling the weights" if site is None else f"Shuffling {site.name}'s weights"
    words = {
        "supports": f"{shuffling} moves the prediction: it matters {which}.",
        "against": f"{shuffling} hardly moves the prediction: it hardly matters {which}.",
        "mixed": f"{shuffling} moves the prediction somewhat.",
    }
    reading = dependence(words, "change", change, share, wording)
    return Line(
        "permutation",
        f"Does it matter {which}? (permutation)",
        f"{change} median change of ŷ",
        f"{reading.words} It flips the decision in {percent(flips.value)} of shuffles.{site.words if site else ''}",
        reading.tone,
        change,
        "states",
        "Does shuffling weights matter?",
        scale="change",
        held=reading.held,
    )


def adversary_line(
    adversary: Findings, share: Estimate | None = None, site: Site | None = None, wording: Wording = TEXTS
) -> Line:
    """Would a quite different attention have done?"""
    ratio, top, possible = (estimate(adversary, m) for m in ("ratio", "top_changed", "ratio_upper"))
    words = {
        "supports": "Attention could hardly be different without changing the prediction.",
        "against": "Nearly any other attention would give this prediction; this one is not unique.",
        "mixed": "Quite different attentions give this prediction.",
    }
    tone: Tone = tone_of("ratio", ratio)
    told = said(words, "ratio", tone, ratio, wording)
    if tone == "supports" and not possible.judged:
        # What a search does not find may be there all the same.
        tone, told = "unsettled", "A search found no very different attention, which proves nothing."
    elif tone == "supports" and tone_of("ratio", possible) != "supports":
        tone, told = "unsettled", "No very different attention was found, but none is ruled out."
    shares = f"The difference is between the shares of the {wording.items}"
    reading = freedom(tone, told, share, shares, wording)
    return Line(
        "adversary",
        "Could attention be different, with the same prediction? (adversary)",
        f"{ratio} of the largest possible difference, within ε = {adversary.parameters['epsilon']:g}",
        f"{reading.words} In {percent(top.value)} of {wording.units} even the top {wording.item} can change. "
        f"{_proof(adversary, ratio, possible, wording)}{site.words if site else ''}",
        reading.tone,
        ratio,
        "states",
        "Would other weights do?",
        scale="ratio",
        held=reading.held,
    )


def _proof(adversary: Findings, ratio: Estimate, possible: Estimate, wording: Wording) -> str:
    """How sure the largest difference is, and how far the published search falls short of it."""
    met, short, often = (estimate(adversary, m) for m in ("certified", "shortfall", "short_by_05"))
    if not possible.judged:
        return "The largest difference was searched for: more may be possible."
    kept = "adversarial_probabilities" in adversary.table.column_names
    exact = kept and len(adversary.table["adversarial_probabilities"][0]) == 2
    proof = f"That no larger difference is possible is proved{'' if exact else ', to within .01,'} for "
    if met.value == 1:
        proof += f"every {wording.unit}."
    else:
        proof += f"{percent(met.value)} of {wording.units}; for the rest" if met.value else f"no {wording.unit}:"
        proof += " only bounds are known. On average the largest difference lies between "
        proof += f"{ratio.value:.3f} and {possible} of the largest possible one."
    if short.judged:
        proof += f" The published search falls short by {short.value:.3f} JSD on average"
        proof += f", by more than .05 in {percent(often.value)} of {wording.units}."
    return proof
