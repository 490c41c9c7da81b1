"""attentest people export and import: answers and items, to other tools and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attentest.cli.people.app import DEFAULT_PEOPLE, Root, Study, study_named
from attentest.printing import echo
from attentest.store.outputs import check_output

__all__ = ["export", "import_"]


def export(
    study: Study,
    to: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Answers: .csv, .jsonl or .parquet. Items: .json (Label Studio) or .csv."),
    ],
    items: Annotated[
        bool, typer.Option("--items", help="The items, to be answered elsewhere, instead of the answers.")
    ] = False,
    simulated: Annotated[bool, typer.Option("--simulated", help="The answers of simulated annotators.")] = False,
    people: Root = DEFAULT_PEOPLE,
) -> None:
    """Export the answers of people, or the items for another tool, without what annotators must not see."""
    from attentest.people.exchange.outgoing import write_answers, write_items

    check_output("--to", to)
    with study_named(study, people) as found:
        if items:
            for path in write_items(found, to):
                echo(path)
            return
        count = write_answers(found, to, "simulated" if simulated else "people")
    echo(f"{to}: {count:,} answers of {'simulated annotators' if simulated else 'people'}")


def import_(
    study: Study,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A table with a row an answer or a column an item, or Label Studio's JSON."
        ),
    ],
    columns: Annotated[
        str,
        typer.Option(metavar="A=B,…", help="Names of columns where they differ: annotator=PROLIFIC_PID,choice=Q3."),
    ] = "",
    people: Root = DEFAULT_PEOPLE,
) -> None:
    """Import answers of people that were collected elsewhere: all of them, or, where one is bad, none."""
    from attentest.people.exchange.incoming import columns_from, import_answers

    with study_named(study, people) as found:
        came = import_answers(found, file, columns_from(columns))
    echo(f"Imported  {came.answers:,} answers of {came.annotators:,} annotators")
    if came.left_out:
        echo(f"Left out  {came.left_out:,} rows whose status is returned, timed out, preview or spam")
