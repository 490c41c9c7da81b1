"""What people see of exchange: columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]

PRESENTATION = Presentation(
    "exchange",
    place=112,
    columns=(
        Column("marked", "int32", "the number of marked tokens"),
        Column(
            "tries", "int32", "how many of the texts drawn the model decides otherwise, and have words of both kinds"
        ),
        Column("moved", "double", "mean change of ŷ (TVD) when these texts' marked words take the place of the own"),
        Column("followed", "double", "share of them whose class the text then gets"),
        Column("rest_moved", "double", "as `moved`, with all other words exchanged and the marked ones kept"),
        Column("rest_followed", "double", "as `followed`, with all other words exchanged and the marked ones kept"),
    ),
    headline={"moved": "", "followed": ""},
    in_study={"followed": "follows marked words", "rest_followed": "follows other words"},
)
