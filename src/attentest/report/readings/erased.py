"""How it is read what happens without some weights, and whether weights are a gate of each token alone."""

from __future__ import annotations

from attentest.report.erasure import order_line
from attentest.report.gating import gating_line
from attentest.report.readings.reading import NARROW, Caption, Column, Plot, Reading

__all__ = ["FLIP_SETS", "GATING", "SINGLE_WEIGHT"]


def _single_weight_figures() -> tuple[Plot, ...]:
    from attentest.report.erasure_figures import delta_js_by_weight, flip_square

    return (
        Plot(
            "single_weight",
            "delta_js",
            lambda found, results: delta_js_by_weight(found, results.palette),
            Caption(
                "Does the largest weight matter more than another one?",
                "The largest weight of a {w.unit} is removed, then, instead, another one drawn at random. ΔJS is how "
                "much more the first changes the prediction. Above the line the largest matters more, as it "
                "should; points below are {w.units} where the other one does. The further right, the more the "
                "two weights differ, and the higher ΔJS should lie. The black line is a running median.",
            ),
            points=True,
            section="erasure",
        ),
        Plot(
            "flip_square",
            "neither_flips",
            lambda found, _: flip_square(found),
            Caption(
                "Which of the two flips the decision?",
                "Shares of {w.units}, with 95 % intervals. Top right: only the largest weight flips the decision, as "
                "it should. "
                "Bottom left: only the other one does. Where neither does (bottom right), no single weight decides, "
                "and nothing "
                "is said about its rank.",
            ),
            section="erasure",
        ),
    )


SINGLE_WEIGHT = Reading(
    "single_weight",
    rows="One row per text. Positions count the text's tokens from 0.",
    columns=(
        Column("tokens", "int32", "the number of tokens"),
        Column("top", "int32", "the position of the largest weight"),
        Column("top_weight", "double", "that weight"),
        Column("other", "int32", "the position of the weight drawn to compare it with"),
        Column("other_weight", "double", "that weight"),
        Column("weight_difference", "double", "`top_weight − other_weight`"),
        Column(
            "js_top",
            "double",
            "Jensen–Shannon divergence (nats) of the prediction without the largest weight from the model's own",
        ),
        Column("js_other", "double", "the same without the other weight"),
        Column("delta_js", "double", "`js_top − js_other`"),
        Column("other_matters_more", "bool", "whether that is below zero"),
        Column("top_flips", "bool", "whether the decision flips without the largest weight"),
        Column("other_flips", "bool", "whether it flips without the other weight"),
        Column("both_flip", "bool", "whether it flips without the one and without the other"),
        Column("only_top_flips", "bool", "whether it flips without the largest weight only"),
        Column("only_other_flips", "bool", "whether it flips without the other weight only"),
        Column("neither_flips", "bool", "whether it flips in neither case"),
    ),
    figures=_single_weight_figures,
    in_study={"top_flips": "decisions flipped without the top weight"},
)


def _flip_sets_figures() -> tuple[Plot, ...]:
    from attentest.report.erasure_figures import flip_set_boxes, times_smallest_boxes

    return (
        Plot(
            "flip_sets",
            "flip_fraction",
            lambda found, _: flip_set_boxes(found),
            Caption(
                "How many weights must be removed before the decision flips?",
                "Weights are removed one by one, in five orders, until the decision flips. Boxes "
                "hold the middle half of the {w.units}, the thick mark is the median, whiskers end within 1.5 "
                "times the box. The further left, the better the order; nothing can be further left than the smallest "
                "set, where that is proved. Under each order, {w.units} that "
                "never flip are not in its box, as in Serrano & Smith; their share is at the right, and the table "
                "below counts them both ways.",
            ),
            lambda found, _: flip_set_boxes(found, width=NARROW),
            section="erasure",
            missing="no set of weights flips the decision",
        ),
        Plot(
            "times",
            "times_smallest",
            lambda found, _: times_smallest_boxes(found),
            Caption(
                "How far is each order from the best?",
                "The same as a multiple of the smallest set that flips the decision: 1 is the best that exists "
                "or, where that is not proved, the best that was found. Here too, {w.units} that an order never "
                "flips are left out. The scale is logarithmic.",
            ),
            lambda found, _: times_smallest_boxes(found, width=NARROW),
            section="erasure",
            missing="no set of weights flips the decision",
        ),
    )


FLIP_SETS = Reading(
    "flip_sets",
    rows=(
        "One row per text and order. The row `random` holds the means of the rows `random_1`, `random_2`, … "
        "of the single draws."
    ),
    columns=(
        Column(
            "order",
            "string",
            "in which order weights are removed: `attention`, `gradient`, `gradient_x_attention`, "
            "`random_1` and so on, `smallest` (the smallest set), `random`",
        ),
        Column("tokens", "int32", "the number of tokens"),
        Column(
            "removed",
            "double",
            "how many weights are removed when the decision first flips; null where it never does",
        ),
        Column("flip_fraction", "double", "`removed / tokens`; null where it never flips (Serrano & Smith 2019)"),
        Column("until_flip", "double", "the same, 1 where it never flips (Mohankumar et al. 2020)"),
        Column(
            "never",
            "double",
            "1 where the decision never flips, 0 where it does; in the row `random` the share of draws "
            "in which it never does",
        ),
        Column("mass", "double", "the sum of the removed weights"),
        Column("times_smallest", "double", "`removed`, as a multiple of the smallest set's; null where it never flips"),
        Column(
            "times_smallest_counted",
            "double",
            "the same, with all tokens removed where it never flips; null where no set flips the decision",
        ),
        Column(
            "proved",
            "bool",
            "whether no smaller set than the smallest one flips the decision: always with an affine "
            "head, otherwise where that is a single weight",
        ),
        Column(
            "items",
            "list of int32",
            "the positions of the smallest set's tokens, counted from 0; in the row `smallest` only",
        ),
    ),
    lines=(lambda found, results: order_line(found, results.on_words, results.wording),),
    figures=_flip_sets_figures,
    in_study={"attention.times": "times the smallest flip set"},
)

GATING = Reading(
    "gating",
    rows="One row per text and swap; what only the other swap measures is null.",
    columns=(
        Column(
            "swapped",
            "string",
            "what was swapped: `rest`, the states of half of the tokens, or `query`, the second text; in "
            "a translation, the step",
        ),
        Column(
            "gate",
            "bool",
            "whether every weight is a function of its token's state alone, as far as both swaps show; "
            "null where one of them is not judged",
        ),
        Column(
            "rest_jsd",
            "double",
            "Jensen–Shannon divergence (nats) of the weights of the tokens kept, normalised among "
            "themselves, before and after",
        ),
        Column("rest_log_ratio", "double", "the largest change of ln(α_t/α_s) of two tokens kept"),
        Column(
            "gate_jsd",
            "double",
            "divergence of all weights after the swap from those of the states that the tokens were given",
        ),
    ),
    notes=(
        "Where there is a query, there are three more:\n\n"
        "| columns | type | meaning |\n"
        "| --- | --- | --- |\n"
        "| `query_jsd`, `query_change` | double | another query asked: divergence of the weights, and total "
        "variation distance of the prediction under them from the model's own |\n"
        "| and `query_flipped` | bool | whether those weights change the decision |"
    ),
    lines=(lambda found, results: gating_line(found, results.wording),),
)
