"""Removing weights until the decision flips (Serrano & Smith 2019): the verdict's line, and every order in a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.report.held import freedom
from attentest.report.seeds import estimated, with_resamples
from attentest.report.tables import interval_of, value_of
from attentest.report.thresholds import said, tone_of
from attentest.report.verdict import Line, Tone
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate, sentences_of
from attentest.tasks import TEXTS, Wording

__all__ = ["ORDERS", "erasure_table", "order_line"]

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
