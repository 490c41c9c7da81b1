"""What people see of adversary: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.line import Line, Tone
from attentest.presentation.presentation import Caption, Column, Plot, Presentation, Results
from attentest.presentation.site import Site, freedom
from attentest.presentation.thresholds import percent, said, tone_of
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "adversary_line"]


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


DIVERGENCE = Caption(
    "How different could the attention be?",
    "For each {w.unit}, the most different attention that leaves the prediction as it is. Those at the right, "
    "near ln 2, could have nearly any other attention. Filled: proved by calculation. Line: what the published "
    "search finds, of the {w.units} where it finds anything.",
)

DIVERGENCE_PROVED = Caption(
    "How different could the attention be?",
    "For each {w.unit}, the most different attention that leaves the prediction as it is, proved by calculation. "
    "Those at the right, near ln 2, could have nearly any other attention.",
)

DIVERGENCE_REACHED = Caption(
    "How different could the attention be?",
    "For each {w.unit}, the most different attention known that leaves the prediction as it is. Those at the "
    "right, near ln 2, could have nearly any other attention. Filled: the most that was reached; where the "
    "bounds do not meet, more may be possible. Line, where there is one: what the published search finds, of the "
    "{w.units} where it finds anything.",
)

DIVERGENCE_FOUND = Caption(
    "How different could the attention be?",
    "For each {w.unit}, the most different attention found by searching that leaves the prediction as it is. "
    "Those at the right, near ln 2, could have nearly any other attention. A search proves no limit: at the "
    "left, more may be possible than was found.",
)

MAX_ATTENTION = Caption(
    "Is concentrated attention harder to replace?",
    "Each point is a {w.unit}. Points near the dashed line, ln 2, can have a wholly different attention; points "
    "near zero cannot. The solid line is what could be reached if the prediction were free to change: a point "
    "just below it is held back by hardly anything.",
)

MAX_ATTENTION_FOUND = Caption(
    "Is concentrated attention harder to replace?",
    "Each point is a {w.unit}, at the most different attention that was found by searching. Points near the "
    "dashed line, ln 2, can have a wholly different attention; of points near zero no such attention was found, "
    "which does not prove that there is none. The solid line is what could be reached if the prediction were "
    "free to change.",
)

SEARCH = Caption(
    "How far does the published search fall short?",
    "On the line, the search found the best that exists. Below it, the search understates how replaceable "
    "attention is.",
)

SEARCH_REACHED = Caption(
    "How far does the published search fall short?",
    "On the line, the search found the most different attention known. Below it, the search understates how "
    "replaceable attention is. Where the bounds do not meet, both may.",
)


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.adversary import figures

    def divergence(adversary: Findings, _: Results) -> Caption:
        """What the figure may claim: a proof, beside a search or not, a largest one known, or a search alone."""
        if not figures.bounded(adversary):
            return DIVERGENCE_FOUND
        if not figures.certified(adversary):
            return DIVERGENCE_REACHED
        return DIVERGENCE if figures.searched(adversary) else DIVERGENCE_PROVED

    return (
        Plot(
            "divergence",
            "lower",
            lambda found, results: figures.divergence_histogram(found, results.wording),
            divergence,
        ),
        Plot(
            "max_attention",
            "lower",
            lambda found, results: figures.divergence_by_max_attention(found, results.palette),
            lambda found, _: MAX_ATTENTION if figures.certified(found) else MAX_ATTENTION_FOUND,
            points=True,
        ),
        Plot(
            "search",
            "searched_divergence",
            lambda found, results: figures.searched_against_certified(found, results.palette),
            lambda found, _: SEARCH if figures.certified(found) else SEARCH_REACHED,
            points=True,
            applies=lambda found: figures.bounded(found) and figures.searched(found),
            missing="the search found nothing within ε",
        ),
    )


PRESENTATION = Presentation(
    "adversary",
    place=190,
    columns=(
        Column("tokens", "int32", "the number of tokens"),
        Column("max_attention", "double", "the largest attention weight"),
        Column(
            "lower",
            "double",
            "largest divergence (JSD, nats) from the model's attention that was reached within ε",
        ),
        Column(
            "upper",
            "double",
            "no attention within ε diverges more than this (proved); null where the head is not affine",
        ),
        Column("certified", "bool", "whether the two meet (difference < .01)"),
        Column("unconstrained", "double", "largest divergence if the prediction were free"),
        Column("ratio", "double", "`lower / unconstrained`"),
        Column("ratio_upper", "double", "`upper / unconstrained`"),
        Column("top_changed", "bool", "whether the adversary's top token is another one"),
        Column("decision_kept", "bool", "whether the predicted class stays; within ε of an even chance it may turn"),
        Column("adversarial_attention", "list of double", "the attention that reaches `lower`"),
        Column("adversarial_probabilities", "list of double", "the prediction under it"),
        Column("adversarial_change", "double", "how far that is from the model's own (TVD)"),
        Column("searched_divergence", "double", "the largest divergence that the paper's search found within ε"),
        Column("searched_change", "double", "how far the prediction moved there"),
        Column("search_failed", "bool", "whether the search found nothing within ε"),
        Column("shortfall", "double", "`lower − searched_divergence`; all of `lower` where the search found nothing"),
        Column("short_by_05", "bool", "whether the search falls short by more than .05, or found nothing"),
    ),
    lines=(lambda found, results: adversary_line(found, results.on_words, results.site, results.wording),),
    figures=_figures,
    in_study={"ratio": "could differ by, of 1"},
)
