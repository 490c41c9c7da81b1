"""What people see of soft_faithfulness: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "soft_faithfulness",
    place=40,
    rows="One row per text and explainer.",
    columns=(
        Column("explainer", "string", "whose scores are the chances"),
        Column(
            "soft_comprehensiveness",
            "double",
            "what is lost when numbers are zeroed with the score as their chance, as a share of `lost_without_any`",
        ),
        Column(
            "soft_sufficiency",
            "double",
            "1 less what is lost when they are kept with that chance, as a share of `lost_without_any`",
        ),
        Column("random_soft_comprehensiveness", "double", "the same for the scores shuffled over the tokens"),
        Column("random_soft_sufficiency", "double", "the same for the scores shuffled over the tokens"),
        Column("erased", "double", "share of all numbers that is zeroed on average"),
        Column(
            "lost_without_any",
            "double",
            "what the predicted class's probability loses when every embedding is zero",
        ),
    ),
)
