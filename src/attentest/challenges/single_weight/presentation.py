"""What people see of single_weight: lines, figures, columns."""

from __future__ import annotations

from attentest.challenges.flip_sets.presentation import ERASURE
from attentest.presentation.presentation import Caption, Column, Plot, Presentation

__all__ = ["PRESENTATION"]


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.single_weight.figures import delta_js_by_weight, flip_square

    return (
        Plot(
            "single_weight",
            "delta_js",
            lambda found, results: delta_js_by_weight(found, results.palette),
            Caption(
                "Does the largest weight matter more than another one?",
                "The largest weight of a {w.unit} is removed, then, instead, another one drawn at random. ΔJS is how "
                "much more the first changes the prediction. Above the line the largest matters more, as it "
                "should; points below are {w.units} where the other one does. The further right, the more the "
                "two weights differ, and the higher ΔJS should lie. The black line is a running median.",
            ),
            points=True,
            section="erasure",
        ),
        Plot(
            "flip_square",
            "neither_flips",
            lambda found, _: flip_square(found),
            Caption(
                "Which of the two flips the decision?",
                "Shares of {w.units}, with 95 % intervals. Top right: only the largest weight flips the decision, as "
                "it should. "
                "Bottom left: only the other one does. Where neither does (bottom right), no single weight decides, "
                "and nothing "
                "is said about its rank.",
            ),
            section="erasure",
        ),
    )


PRESENTATION = Presentation(
    "single_weight",
    place=200,
    rows="One row per text. Positions count the text's tokens from 0.",
    columns=(
        Column("tokens", "int32", "the number of tokens"),
        Column("top", "int32", "the position of the largest weight"),
        Column("top_weight", "double", "that weight"),
        Column("other", "int32", "the position of the weight drawn to compare it with"),
        Column("other_weight", "double", "that weight"),
        Column("weight_difference", "double", "`top_weight − other_weight`"),
        Column(
            "js_top",
            "double",
            "Jensen–Shannon divergence (nats) of the prediction without the largest weight from the model's own",
        ),
        Column("js_other", "double", "the same without the other weight"),
        Column("delta_js", "double", "`js_top − js_other`"),
        Column("other_matters_more", "bool", "whether that is below zero"),
        Column("top_flips", "bool", "whether the decision flips without the largest weight"),
        Column("other_flips", "bool", "whether it flips without the other weight"),
        Column("both_flip", "bool", "whether it flips without the one and without the other"),
        Column("only_top_flips", "bool", "whether it flips without the largest weight only"),
        Column("only_other_flips", "bool", "whether it flips without the other weight only"),
        Column("neither_flips", "bool", "whether it flips in neither case"),
    ),
    figures=_figures,
    sections=(ERASURE,),
    in_study={"top_flips": "decisions flipped without the top weight"},
)
