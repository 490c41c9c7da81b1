"""What people see of parts_of_speech: figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "parts_of_speech",
    place=240,
    rows="One row per text, explainer and part of speech, also where the text has no word of it.",
    columns=(
        Column("explainer", "string", "whose scores"),
        Column("tag", "string", "the part of speech: `noun`, `verb`, `adjective` and so on"),
        Column("words", "double", "share of the text's words that are of it"),
        Column("mass", "double", "share of the scores on them, signs left out"),
        Column("preferred", "double", "`mass − words`"),
    ),
    headline={
        f"attention.{tag}.{kind}": ""
        for tag in ("noun", "verb", "adjective", "punctuation")
        for kind in ("mass", "preferred")
    },
)
