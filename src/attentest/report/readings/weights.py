"""How it is read what other weights do: shuffled, uniform, random, or the strongest adversary's."""

from __future__ import annotations

from attentest.report.readings.reading import Caption, Column, Plot, Reading, Results
from attentest.report.weights_lines import adversary_line, permutation_line, uniform_line
from attentest.store.findings import Findings

__all__ = ["ADVERSARY", "PERMUTATION", "RANDOM_WEIGHTS", "UNIFORM"]


def _permutation_figures() -> tuple[Plot, ...]:
    from attentest.report.figures import permutation_by_max_attention

    return (
        Plot(
            "permutation",
            "median_change",
            lambda found, results: permutation_by_max_attention(found, results.palette, results.wording),
            Caption(
                "Does it matter which word gets which weight?",
                "The weights of each {w.unit} are shuffled again and again; a point is the median change of its "
                "prediction. Points at the left mean that shuffled attention predicts the same. If attention "
                "were the reason, {w.units} with one dominant weight (top rows) would lie far to the right. "
                "Boxes hold the middle half, the thick mark is the median, whiskers run from the 5th to the 95th "
                "percentile.",
            ),
            points=True,
        ),
    )


PERMUTATION = Reading(
    "permutation",
    columns=(
        Column("tokens", "int32", "the number of tokens"),
        Column("max_attention", "double", "the largest attention weight"),
        Column("median_change", "double", "median change of the prediction (TVD) over the shuffles"),
        Column("mean_change", "double", "mean change"),
        Column("flips", "double", "share of shuffles that change the decision"),
        Column("draws", "int32", "shuffles taken"),
        Column("enumerated", "bool", "whether these were all orders there are"),
        Column("label", "int32", "the gold class"),
        Column("correct", "bool", "whether the prediction is right under the model's own weights"),
        Column("correct_permuted", "double", "share of shuffles under which it is right"),
        Column("gained", "double", "`correct_permuted − correct`, from −1 to 1"),
        Column(
            "margin",
            "double",
            "$z_1 - z_0$ under the model's own weights; this and the following only for two classes and an affine head",
        ),
        Column("margin_mean", "double", "its exact mean over all T! orders"),
        Column("margin_deviation", "double", "its exact standard deviation"),
        Column("margin_lowest", "double", "its exact lowest value"),
        Column("margin_highest", "double", "its exact highest value"),
        Column(
            "shuffled_captured",
            "double",
            "what weights shuffled once capture of the erasure effects that they themselves cause",
        ),
        Column("largest_change", "double", "the largest change of the prediction that any order makes"),
    ),
    lines=(lambda found, results: permutation_line(found, results.on_words, results.site, results.wording),),
    figures=_permutation_figures,
    in_study={"median_change": "change of ŷ, shuffled"},
)

UNIFORM = Reading(
    "uniform",
    columns=(
        Column("label", "int32", "the gold class"),
        Column("change", "double", "change of the prediction (TVD) under uniform weights"),
        Column("flipped", "bool", "whether the decision changes"),
        Column("correct", "bool", "whether the prediction is right under the model's own weights"),
        Column("correct_uniform", "bool", "whether it is right under uniform ones"),
        Column("gained", "double", "`correct_uniform − correct`: 1, 0 or −1"),
    ),
    lines=(lambda found, results: uniform_line(found, results.on_words, results.site, results.wording),),
    in_study={"flipped": "decisions changed, uniform"},
)

RANDOM_WEIGHTS = Reading(
    "random_weights",
    columns=(
        Column("label", "int32", "the gold class"),
        Column("change", "double", "change of the prediction (TVD) under random weights, mean over draws"),
        Column("flips", "double", "share of draws that change the decision"),
        Column("correct", "bool", "whether the prediction is right under the model's own weights"),
        Column("correct_random", "double", "share of draws under which it is right"),
        Column("gained", "double", "`correct_random − correct`, from −1 to 1"),
    ),
)

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


def _adversary_figures() -> tuple[Plot, ...]:
    from attentest.report import figures

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


ADVERSARY = Reading(
    "adversary",
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
    figures=_adversary_figures,
    in_study={"ratio": "could differ by, of 1"},
)
