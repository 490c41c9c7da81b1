"""attentest people new, ls and status: studies of people, and how far each is."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from attentest.cli import options as o
from attentest.cli.people.app import DEFAULT_PEOPLE, Root, Study, study_named
from attentest.errors import AttentestError, line_of
from attentest.printing import Printer, echo, echo_json

__all__ = ["ls", "new", "status"]


def new(
    run: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="A finished run, as 'show' takes it; two to compare.")
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="What the study is called: a folder, and part of links.")],
    design: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="meaningful, compare, simulate or detect; parameters as 'meaningful(top=5)'."
        ),
    ] = "meaningful",
    items: Annotated[int, typer.Option(metavar="N", help="Items that count, one text each.")] = 200,
    overlap: Annotated[
        int | None,
        typer.Option(metavar="N", help="Items that everybody gets; the others are dealt out. Default: all get all."),
    ] = None,
    annotators: Annotated[int, typer.Option(metavar="N", help="With --overlap: to how many the others are dealt.")] = 1,
    checks: Annotated[
        int | None, typer.Option(metavar="N", help="Attention checks; default: one in 25 items, at least 3.")
    ] = None,
    gold: Annotated[
        int | None,
        typer.Option(metavar="N", help="Items with planted truth; default: one in 20, where words are planted."),
    ] = None,
    longest: Annotated[int, typer.Option(metavar="N", help="Texts with more words are left out.")] = 400,
    seed: o.Seed = 0,
    runs: o.Runs = o.DEFAULT_RUNS,
    people: Root = DEFAULT_PEOPLE,
) -> None:
    """Make a study of people from a finished run: items in random order, conditions and sides balanced."""
    from attentest.people import DESIGNS, Plan, new_study
    from attentest.store.folder import find_run

    plan = Plan(items, seed, overlap, annotators, checks, gold, longest)
    study = new_study(people, name, [find_run(each, runs) for each in run], DESIGNS.parse(design), plan)
    counts = study.record["counts"]
    parts = [f"{number} {what}" for what, number in study.record["conditions"].items()]
    extra = [f"{counts[kind]} {kind}" for kind in ("check", "gold") if counts.get(kind)]
    echo(
        f"Study   {study.path}: {counts['item']} items ({', '.join(parts)}); beside them {', '.join(extra) or 'none'}\n"
        f"Edit    {study.path / 'consent.md'} and {study.path / 'instructions.md'}\n"
        f"Next    attentest people invite {name} anna ben"
    )


def ls(people: Root = DEFAULT_PEOPLE, as_json: o.Json = False) -> None:
    """List the studies of people, and how far each is."""
    from attentest.people.overview import in_a_row
    from attentest.people.study import PeopleStudy, studies_in

    rows: list[dict[str, Any]] = []
    for path in studies_in(people):
        try:
            with PeopleStudy(path) as found:
                rows.append(in_a_row(found))
        except AttentestError as error:
            rows.append({"study": path.name, "problem": line_of(error)})
    if as_json:
        echo_json(rows)
        return
    if not rows:
        echo(f"No studies of people in {people}. Make one: attentest people new RUN --name NAME")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("study", "design", "corpus", "items", "people", "answers", "simulated"):
        table.add_column(Text(head))
    for row in rows:
        cells = (row.get(key, "") for key in ("study", "design", "corpus", "items", "people", "answers", "simulated"))
        table.add_row(*(Text(str(cell)) for cell in cells))
    console = Printer()
    console.print(table)
    for row in rows:
        if "problem" in row:
            console.print(Text(f"{row['study']}: {row['problem']}"))


def status(study: Study, people: Root = DEFAULT_PEOPLE, as_json: o.Json = False) -> None:
    """Show how far every annotator of a study is."""
    from attentest.people.overview import annotators_of

    with study_named(study, people) as found:
        rows = annotators_of(found)
        withdrawn = found.store.withdrawn
    if as_json:
        echo_json({"annotators": rows, "withdrawn": withdrawn})
        return
    if not rows:
        echo(f"Nobody is invited to {study} yet: attentest people invite {study} NAME…")
    else:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for head in ("annotator", "kind", "answered", "agreed", "last answer"):
            table.add_column(Text(head))
        for row in rows:
            cells = (
                row["annotator"],
                row["kind"],
                f"{row['done']} of {row['total']}",
                {"imported": "elsewhere", "simulated": "–"}.get(row["kind"], "yes" if row["agreed"] else "no"),
            )
            table.add_row(*(Text(str(cell)) for cell in (*cells, row["last"][:19].replace("T", " "))))
        Printer().print(table)
    if withdrawn:
        echo(f"{withdrawn} withdrew; nothing of theirs is left.")
