"""What people see of importance: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]

PRESENTATION = Presentation(
    "importance",
    place=25,
    rows="One row per text, explainer and way of taking words out.",
    columns=(
        Column("explainer", "string", "the explainer whose top words are taken"),
        Column("erasure", "string", "how words are taken out"),
        Column("tokens", "int32", "the number of tokens"),
        Column("held", "double", "how much of what mattered these words hold: 0 a blind choice, 1 the best"),
        Column("one", "double", "how far they are the one reason: the least of `held` and of what goes without them"),
        Column("sampled", "double", "the same of the words that half of the orders find, by the other half"),
        Column("deciding", "double", "the number of words that decide, and that are taken"),
        Column("alone", "double", "what taking out single words does, over what all words' values add up to"),
    ),
    headline={
        "attention.held.delete": "",
        "attention.held.mask": "",
        "sampled.mask": "",
    },
    in_study={"attention.held.mask": "what mattered, held"},
)
