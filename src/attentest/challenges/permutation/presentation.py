"""What people see of permutation: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.presentation.presentation import Caption, Column, Plot, Presentation
from attentest.presentation.site import Site, dependence
from attentest.presentation.thresholds import percent
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "permutation_line"]


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


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.permutation.figures import permutation_by_max_attention

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


PRESENTATION = Presentation(
    "permutation",
    place=160,
    columns=(
        Column("tokens", "int32", "the number of tokens"),
        Column("max_attention", "double", "the largest attention weight"),
        Column("median_change", "double", "median change of the prediction (TVD) over the shuffles"),
        Column("mean_change", "double", "mean change"),
        Column(
            "median_moved",
            "double",
            "median, over the shuffles, of the largest change of a difference between the predicted class's logit and "
            "another's, over what all weight on one state can change: free of temperature and bias; null where no "
            "weights change anything",
        ),
        Column("flips", "double", "share of shuffles that change the decision"),
        Column(
            "decided",
            "int32",
            "the class decided under the first shuffle; where all orders are taken, under a random one",
        ),
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
    figures=_figures,
    in_study={"median_change": "change of ŷ, shuffled"},
)
