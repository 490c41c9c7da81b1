"""What people see of input_invariance: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
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
