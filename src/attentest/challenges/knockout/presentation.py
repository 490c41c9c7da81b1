"""What people see of knockout: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "knockout",
    place=90,
    rows=(
        "One row per text. A word is knocked out when no row of the chosen layers sees it. The top word is "
        "the one with the largest weight at the site."
    ),
    columns=(
        Column("tokens", "int32", "the number of words"),
        Column("tau", "double", "Kendall's τ-b between the words' weights and `changes`"),
        Column(
            "captured",
            "double",
            "how much of all change the top `k` words by weight (at most half of the text's) hold: 0 a "
            "blind choice, 1 the best",
        ),
        Column("top_is_most", "bool", "whether the top word is the one whose knock-out changes the prediction most"),
        Column("chance", "double", "how often a word chosen blindly would be: 1 / `tokens`"),
        Column("top_flips", "bool", "whether the decision flips without the top word"),
        Column(
            "other_flips",
            "double",
            "the share of the other words without which it flips: what a random other word does on average",
        ),
        Column("any_flips", "bool", "whether there is a word without which it flips"),
        Column(
            "change_top",
            "double",
            "total variation distance of the prediction without the top word from the model's own",
        ),
        Column("change_other", "double", "the same without another word, mean over them"),
        Column("change", "double", "the same, mean over all words"),
        Column("largest_change", "double", "the same, the largest of all words"),
        Column(
            "rows_stayed",
            "double",
            "the share of rows, over words, heads and chosen layers, that saw nothing else and stayed as they were",
        ),
        Column("changes", "list of double", "the same distance without every word; only with `per_token`"),
    ),
    headline={"top_flips": "", "other_flips": "", "any_flips": ""},
)
