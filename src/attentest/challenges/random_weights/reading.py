"""How the findings of random_weights are read."""

from __future__ import annotations

from attentest.readings.reading import Column, Reading

__all__ = ["READING"]


READING = Reading(
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
