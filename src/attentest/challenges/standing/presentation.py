"""What people see of standing: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]

PRESENTATION = Presentation(
    "standing",
    place=115,
    columns=(
        Column("tokens", "int32", "the number of tokens"),
        Column(
            "own", "double", "mean square of what a state's own word does to what it says: `total` less the others'"
        ),
        Column("total", "double", "mean square of what all words do to what a state says"),
        Column("share", "double", "`own / total`: 1 where a state knows of no other word; by chance it may be below 0"),
    ),
    headline={"own": ""},
    in_study={"own": "states' own words"},
)
