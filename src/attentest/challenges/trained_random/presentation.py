"""What people see of trained_random: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "trained_random",
    place=240,
    columns=(
        Column("label", "int32", "the gold class"),
        Column("change", "double", "total variation distance between the two models' predictions"),
        Column(
            "attention_jsd",
            "double",
            "Jensen–Shannon divergence (nats) of the model's weights from the random ones",
        ),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_random", "bool", "whether the model trained with random weights is"),
        Column("predicted_random", "int32", "what that model predicts"),
        Column("lost", "double", "`correct − correct_random`: 1, 0 or −1"),
    ),
)
