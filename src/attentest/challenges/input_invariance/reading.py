"""How the findings of input_invariance are read."""

from __future__ import annotations

from attentest.readings.reading import Column, Reading

__all__ = ["READING"]


READING = Reading(
    "input_invariance",
    place=50,
    rows="One row per text and explainer.",
    columns=(
        Column("explainer", "string", "who was asked twice"),
        Column("largest_change", "double", "largest change of any score, as a share of the largest score"),
        Column("invariant", "bool", "whether that is at most `tolerance`"),
        Column("spearman", "double", "Spearman's ρ of the scores before and after the shift"),
        Column("top_changed", "bool", "whether another token has the largest score"),
        Column("output_change", "double", "largest change of a logit: rounding, because the model is the same"),
    ),
)
