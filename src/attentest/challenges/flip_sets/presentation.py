"""What people see of flip_sets: lines, figures, columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.line import Line, Tone
from attentest.presentation.presentation import NARROW, Caption, Column, Plot, Presentation, Section
from attentest.presentation.seeds import estimated, with_resamples
from attentest.presentation.site import freedom
from attentest.presentation.text import interval_of, value_of
from attentest.presentation.thresholds import said, tone_of
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate, sentences_of
from attentest.tasks import TEXTS, Wording

__all__ = ["ORDERS", "PRESENTATION", "erasure_table", "order_line"]


#: The orders of flip_sets, from the best to the one that knows nothing, as a reader writes them.
ORDERS = {
    "smallest": "smallest set",
    "gradient_x_attention": "gradient × attention",
    "gradient": "gradient",
    "attention": "attention",
    "random": "random",
}

#: The table's columns: a measure, its statistic and its head.
COLUMNS = (
    ("never", "fraction", "Never flips"),
    ("dropped", "mean", "Removed, never-flipped dropped (Serrano & Smith)"),
    ("counted", "mean", "Removed, never-flipped counted as 1 (Mohankumar et al.)"),
    ("times", "mean", "Times the smallest set, where both flip"),
)

#: What it means that a text never flips, where that is proved and where it is not.
NEVER = {
    True: "In {share} of {units} no set of weights flips the decision, because every state speaks for it.",
    False: "In {share} of {units} no order flips the decision.",
}

#: Whether the smallest set is proved to be, everywhere or not.
PROVED = {
    True: "The smallest set is proved to be the smallest.",
    False: "The smallest set is proved to be the smallest in {share} of {units}; elsewhere it is the smallest that was "
    "found.",
}


def order_line(flip_sets: Findings, on_words: Estimate | None = None, wording: Wording = TEXTS) -> Line | None:
    """Does attention rank weights well? How early decisions flip, between a random order and the smallest set."""
    share = _share(flip_sets)
    if share is None:
        return None
    words = {
        "supports": "Without its largest weights a decision flips nearly as early as it can: necessary, not "
        "sufficient, because a large weight is a large part of the output whatever its state.",
        "against": "Without its largest weights a decision flips hardly earlier than without random ones.",
        "mixed": "Without its largest weights a decision flips earlier than without random ones, later than it can.",
    }
    # A large weight is a large part of the output whatever it stands on: this can speak against attention, not for it.
    tone: Tone = tone_of("order", share)
    told = freedom(
        tone, said(words, "order", tone, share, wording), on_words, f"Removed are weights of {wording.items}", wording
    )
    shown: Tone = "context" if told.tone == "supports" else told.tone
    orders = ("attention", "gradient_x_attention", "random")
    own, beside, chance = (estimate(flip_sets, f"{order}.times_counted") for order in orders)
    never = estimate(flip_sets, "smallest.never")
    reading = (
        f"{told.words} Attention’s order takes {own.value:.1f} times as many weights as the smallest "
        f"set (all, where it never flips), gradient × attention {beside.value:.1f}, a random order {chance.value:.1f}; "
        f"{value_of(never, 'fraction')} of decisions flip under none."
    )
    question = "Do the largest weights hold the decision? (flip sets)"
    result = f"{share} of the way from a random order to the smallest set"
    return Line(
        "order",
        question,
        result,
        reading,
        shown,
        share,
        "states",
        "Do large weights decide?",
        scale="order",
        held=told.held,
    )


def _share(flip_sets: Findings) -> Estimate | None:
    """Where attention's order lies between a random one (0) and the smallest set (1); None where those are the same.

    A ratio of means is one of sums, so the steps of a sentence are added up and drawn together.
    """
    columns = []
    for order in ("attention", "random", "smallest"):
        rows = flip_sets.rows({"order": order})
        column = pc.if_else(pc.is_null(rows["not_judged"]), rows["until_flip"].cast(pa.float64()), None)
        columns.append(column.to_numpy())
    sample = np.stack(columns, axis=1)
    # A text that flips under nothing is the same for every order: it says nothing of them.
    flips = flip_sets.rows({"order": "smallest"})["never"].to_numpy() == 0
    whole, sentences = ~np.isnan(sample).any(1) & flips, sentences_of(rows)
    judged = sample[whole]
    if not len(judged) or not (judged[:, 1] - judged[:, 2]).mean() > 0:
        return None
    drawn = with_resamples(judged if sentences is None else _summed(judged, sentences[whole]))
    room = drawn[:, 1] - drawn[:, 2]
    shares = (drawn[:, 1] - drawn[:, 0]) / np.where(room > 0, room, np.nan)
    # Of texts whose smallest set is what chance finds too, a draw has no room, and says nothing.
    return estimated(np.where(np.isnan(shares), shares[0], shares), len(judged), len(sample) - len(judged))


def _summed(values: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    """The sums over every sentence's rows, of the sentences that have any."""
    _, place = np.unique(sentences, return_inverse=True)
    return np.stack([np.bincount(place, column) for column in values.T], axis=1)


def erasure_table(flip_sets: Findings | None, wording: Wording = TEXTS) -> dict[str, Any] | None:
    """Every order with both papers' ways of counting texts that never flip, as text; None where there is none."""
    if flip_sets is None or not estimate(flip_sets, "smallest.never").judged:
        return None
    rows = [
        {"words": words, "cells": [_cell(flip_sets, order, *about) for about in COLUMNS], "own": order == "attention"}
        for order, words in ORDERS.items()
    ]
    never, proved = (estimate(flip_sets, name) for name in ("smallest.never", "proved"))
    return {
        "heads": [head for _, _, head in COLUMNS],
        "rows": rows,
        "never": NEVER[proved.value == 1].format(share=value_of(never, "fraction"), units=wording.units),
        "proved": PROVED[proved.value == 1].format(share=value_of(proved, "fraction"), units=wording.units),
    }


def _cell(flip_sets: Findings, order: str, name: str, statistic: str, _: str) -> tuple[str, str]:
    if (order, name) == ("smallest", "times"):
        return "1", ""
    found = estimate(flip_sets, f"{order}.{name}")
    return (value_of(found, statistic), interval_of(found, statistic)) if found.judged else ("–", "")


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.flip_sets.figures import flip_set_boxes, times_smallest_boxes

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


#: The section of the page on weights that are removed.
ERASURE = Section(
    "erasure",
    "attentest.challenges.flip_sets/section.html",
    lambda results: erasure_table(results.found.get("flip_sets"), results.wording),
    place=10,
    title="Without the heaviest weights",
)

PRESENTATION = Presentation(
    "flip_sets",
    place=210,
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
    figures=_figures,
    sections=(ERASURE,),
    in_study={"attention.times": "times the smallest flip set"},
)
