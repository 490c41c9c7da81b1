"""What people see of layers_bleu: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "layers_bleu",
    place=70,
    rows=(
        "One row per text, set of layers whose attention is replaced, and draw; also one for each text with "
        "the model's own weights. `predicted` is null."
    ),
    columns=(
        Column("attention", "string", "`encoder`, `decoder` or `cross`; `none` with its own weights"),
        Column("replaced", "string", "which layers: `first 2`, `last 3`, `all`; `none` with its own weights"),
        Column("direction", "string", "where counting begins: `first` or `last`; `none` with its own weights"),
        Column("layers", "int32", "how many layers; 0 with its own weights"),
        Column("draw", "int32", "which draw of random or permuted weights, from 0"),
        Column("hypothesis", "string", "what was written; subwords are put together"),
        Column("reference", "string", "the translation that the corpus has"),
        Column("counts", "list of double", "what BLEU is made of, as in [bleu](#bleu)"),
        Column("own_counts", "list of double", "the same, of what was written with the model's own weights"),
        Column("signature", "string", "sacrebleu's signature, to be quoted with the figure"),
    ),
    headline={
        "own.bleu": "",
        "all.bleu": "BLEU, attention of every layer replaced",
        "all.change": "change of BLEU, attention of every layer replaced",
    },
)
