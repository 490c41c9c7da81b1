"""What people see of layers: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Caption, Column, Plot, Presentation

__all__ = ["DIRECTIONS", "PRESENTATION"]

#: How layers are counted, and how a reader says it.
DIRECTIONS = {"first": "from the first layer", "last": "from the last layer"}


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.layers.figures import layers_curve

    return (
        Plot(
            "layers",
            "change",
            lambda found, _: layers_curve(found),
            Caption(
                "What is left when more and more layers lose their attention?",
                "In the first layer, the first two and so on to all of them, and likewise from the last one "
                "down, every head’s attention is replaced (shuffled, by default). The height is the share of correct "
                "predictions; the dashed line is the unchanged model. Where a line stays high, the attention of those "
                "layers cannot be the reason for the predictions. Bars are 95 % "
                "intervals; a bar that cannot be seen is narrower than its dot.",
            ),
        ),
    )


PRESENTATION = Presentation(
    "layers",
    place=60,
    rows=(
        "One row per text and set of layers whose attention is replaced. Of an encoder–decoder, its three "
        "kinds of attention separately. Of a translator, one row per step and set."
    ),
    columns=(
        Column("attention", "string", "`self`; of an encoder–decoder `encoder`, `decoder` or `cross`"),
        Column("replaced", "string", "which layers: `first 2`, `last 3`, `all`"),
        Column("direction", "string", "where counting begins: `first` or `last`"),
        Column("layers", "int32", "how many layers"),
        Column("label", "int32", "the gold class; of a translator, the next word"),
        Column("change", "double", "total variation distance of the prediction from the model's own, mean over draws"),
        Column("flips", "double", "the share of draws in which the decision is another"),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_after", "double", "the share of draws in which it still is, attention replaced"),
        Column(
            "gained",
            "double",
            "`correct_after` less `correct`: below zero where the model is right and does not stay so",
        ),
    ),
    notes=(
        "A decoder's own attention is not judged (`one key`) where one word was written, which has nothing "
        "else to attend to: the first step of a translator, and every text of a checkpoint, whose decoder "
        "begins with one word."
    ),
    figures=_figures,
    headline={
        "accuracy": "share of correct predictions, own attention",
        "all.accuracy": "share of correct predictions, attention of every layer replaced",
        "all.flips": "share of decisions that turn, attention of every layer replaced",
    },
)
