"""What people see of conicity: columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "conicity",
    place=245,
    columns=(
        Column("tokens", "int32", "the number of tokens"),
        Column("conicity", "double", "mean over the tokens of the cosine of their states and the states' mean"),
        Column("absolute", "double", "the same of the cosines' absolute values"),
        Column("unrelated", "double", "the conicity of as many states of one length that have nothing in common"),
    ),
    in_study={"conicity": "conicity"},
)
