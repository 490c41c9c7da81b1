"""What people see of random_weights: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "random_weights",
    place=180,
    columns=(
        Column("label", "int32", "the gold class"),
        Column("change", "double", "change of the prediction (TVD) under random weights, mean over draws"),
        Column("flips", "double", "share of draws that change the decision"),
        Column("correct", "bool", "whether the prediction is right under the model's own weights"),
        Column("correct_random", "double", "share of draws under which it is right"),
        Column("gained", "double", "`correct_random − correct`, from −1 to 1"),
    ),
)
