"""attentest show, attentest tokens, attentest export and attentest list."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attentest.catalogue.remembered import KINDS, listed
from attentest.cli import options as o
from attentest.errors import InputError, UnknownName
from attentest.printing import Printer, echo, echo_json
from attentest.store.outputs import check_output

#: Rows of a query that are shown in a table.
MOST_ROWS = 1000


def show(
    run: Annotated[str, typer.Argument(help="A run's folder, its id or the beginning of it, or 'latest'.")] = "latest",
    sql: Annotated[
        str | None, typer.Option(help="A query over the findings, each challenge a table: SELECT … FROM agreement.")
    ] = None,
    runs: o.Runs = o.DEFAULT_RUNS,
    as_json: o.Json = False,
) -> None:
    """Show a finished run: its verdict and every measure with its interval."""
    from attentest.store.folder import find_run

    folder = find_run(run, runs)
    if sql is not None:
        _query(folder, sql, as_json)
        return
    from attentest.report.results import terminal_tables
    from attentest.report.tables.measures import measures_table
    from attentest.report.tables.verdict import verdict_summary
    from attentest.report.verdict.judge import judge
    from attentest.report.verdict.records import record_of

    verdict = judge(folder)
    if as_json:
        echo_json(record_of(folder, verdict))
        return
    console = Printer()
    console.print(verdict_summary(verdict))
    for table in terminal_tables(folder):
        console.print(table)
    console.print(measures_table(folder))
    console.print(Text(f"Run     {folder.path}"))


def _query(folder: object, sql: str, as_json: bool) -> None:
    from attentest.store.folder import RunFolder
    from attentest.store.query import query

    assert isinstance(folder, RunFolder)
    with _or_leave():
        columns, rows = query(folder, sql)
    if as_json:
        echo_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    table = Table()
    for column in columns:
        table.add_column(Text(column))
    for row in rows[:MOST_ROWS]:
        table.add_row(*(Text(str(cell)) for cell in row))
    Printer().print(table)
    if len(rows) > MOST_ROWS:
        echo(f"{len(rows) - MOST_ROWS:,} more rows: write LIMIT, or take all of them with --json.")


@contextlib.contextmanager
def _or_leave() -> Iterator[None]:
    """Leave a while after a query's time was up: inside of one call of a function DuckDB cannot be stopped.

    A query writes nothing, so there is nothing to tidy.
    """
    from attentest.store.query import SECONDS, TOO_LONG

    def leave() -> None:
        echo(f"attentest: {TOO_LONG}", err=True)
        os._exit(2)

    timer = threading.Timer(SECONDS + 2, leave)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def tokens(
    runs_: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]RUN...", help="Runs, as 'show' takes them; NAME is how a line is called."),
    ],
    to: Annotated[Path, typer.Option(metavar="FILE", help="Where the figure goes: .svg or .png.")],
    text: Annotated[str, typer.Option(metavar="ID", help="The text; default: the first that all runs keep.")] = "",
    choice: Annotated[
        str, typer.Option("--class", metavar="CLASS", help="The class; default: the one that the first run predicts.")
    ] = "",
    runs: o.Runs = o.DEFAULT_RUNS,
) -> None:
    """Draw what every word of one text alone predicts, for several runs in one figure.

    The runs must have been asked the challenge token_predictions, which keeps some texts, the same in all runs on a
    corpus: 'token_predictions(shown=100)' keeps about a hundred.
    """
    from attentest.report.overlay import overlay
    from attentest.store.folder import find_run

    if to.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--to {to} must end in .svg or .png.")
    check_output("--to", to)
    named = [(name, run) if run else (one, one) for one in runs_ for name, _, run in [one.partition("=")]]
    if len({name for name, _ in named}) < len(named):
        raise InputError("Two runs have one name: call each by its own, as base=RUN tying=RUN.")
    chart = overlay({name: find_run(run, runs) for name, run in named}, text, choice)
    _save(chart, to)
    echo(to)


def _save(chart: Any, to: Path) -> None:
    """The chart as a file, whole or not at all."""
    from attentest.presentation.charts import png, svg
    from attentest.store.atomic import replacing

    content = png(chart) if to.suffix.lower() == ".png" else svg(chart).encode()
    with replacing(to) as path:
        path.write_bytes(content)


def export(
    run: Annotated[str, typer.Argument(help="A run's folder, its id or the beginning of it, or 'latest'.")] = "latest",
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to write; default: 'export' in the run's folder.")
    ] = None,
    runs: o.Runs = o.DEFAULT_RUNS,
    as_json: o.Json = False,
) -> None:
    """Export a finished run for a paper or slides: figures as SVG, PNG and PDF, tables as CSV and LaTeX."""
    from attentest.report.export.export import INDEX, export_run
    from attentest.store.folder import find_run

    folder = find_run(run, runs)
    target = folder.path / "export" if to is None else to
    index = export_run(folder, target)
    if as_json:
        echo_json(index)
        return
    counts = f"{len(index['figures'])} figures (SVG, PNG, PDF) and {len(index['tables'])} tables (CSV, LaTeX)"
    Printer(highlight=False).print(Text(f"Export  {target}: {counts}, listed in {INDEX}"), soft_wrap=True)


#: A link of Markdown, which leads nowhere in a terminal.
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
#: What a model is made of.
PARTS = ("encoders", "attentions", "decoders", "heads", "selectors")


def list_(
    kind: Annotated[
        str, typer.Argument(help=f"One of {', '.join(KINDS)}, or models: {', '.join(PARTS)}. Default: all but runs.")
    ] = "",
    name: Annotated[
        str, typer.Argument(help="One of these alone, with what it does and what its parameters mean: 'adversary'.")
    ] = "",
    runs: o.Runs = o.DEFAULT_RUNS,
    as_json: o.Json = False,
) -> None:
    """List what there is: corpora, parts of models, loss terms, explainers, challenges, papers, runs."""
    if kind and kind not in (*KINDS, "models"):
        raise UnknownName("kind of thing", kind, (*KINDS, "models"))
    wanted = PARTS if kind == "models" else (kind,) if kind else KINDS[:-1]
    found = listed(wanted, runs)
    if name:
        known = [entry["name"] for entries in found.values() for entry in entries]
        found = {each: some for each in found if (some := [e for e in found[each] if e["name"] == name])}
        if not found:
            raise UnknownName(f"entry of {kind}", name, known)
    if as_json:
        echo_json(found)
        return
    console = Printer()
    for each, entries in found.items():
        table = Table(title=each, title_justify="left", box=None, padding=(0, 2, 0, 0), show_header=False)
        for entry in entries:
            reference = entry.get("reference", "")
            summary = Text(entry["summary"])
            if "cost" in entry:
                by = f"{reference}. " if reference != "—" else ""
                summary.append(f"\n{by}Cost: {entry['cost']}.", style="dim")
                summary.append(f"\nChecked: {entry['checked']}." if "checked" in entry else "", style="dim")
                reference = ""
            table.add_row(Text(entry["name"], style="bold"), summary, Text(reference))
        console.print(table)
        if name:
            _print_more(console, entries[0])
        if not entries:
            console.print(Text("  none yet"))
        console.print()


def _print_more(console: Console, entry: dict[str, Any]) -> None:
    """What an entry does, and what its parameters mean."""
    for paragraph in filter(None, entry.get("about", "").split("\n\n")):
        console.print(Text("\n" + _LINK.sub(r"\1", " ".join(paragraph.split()))))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for parameter, words in entry.get("words", {}).items():
        table.add_row(Text(f"{parameter} = {entry['parameters'][parameter]!r}", style="bold"), Text(words))
    console.print(table)
