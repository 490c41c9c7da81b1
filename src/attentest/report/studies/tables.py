"""Studies in the terminal: what there is, what is to do, and what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.console import Group as Lines
from rich.table import Table
from rich.text import Text

from attentest.challenges import PRESENTATIONS
from attentest.report.studies.results import Group, groups_of
from attentest.studies.record import recorded

if TYPE_CHECKING:
    from attentest.studies.plan import Cost, Planned
    from attentest.studies.study import Study

__all__ = ["plan_table", "studies_table", "study_table"]

SHADES = {"done": "green", "begun": "yellow", "to do": "", "failed": "red", "cannot run": "red"}


def study_table(ids: Sequence[str], runs: Path) -> Table:
    """One line per model and corpus: the mean over seeds, and the lowest and highest seed below it."""
    groups = groups_of(ids, runs)
    # The measures that a table has room for; the rest is in the CSV file.
    wanted = [(c, m, words) for c, reading in PRESENTATIONS.items() for m, words in reading.in_study.items()]
    cells = {(n, c, m): group.estimates(c, m) for n, group in enumerate(groups) for c, m, _ in wanted}
    shown = [(c, m, words) for c, m, words in wanted if any(cells[n, c, m] for n in range(len(groups)))]
    table = Table(title="Mean over seeds (lowest … highest seed)", title_justify="left", pad_edge=False, box=None)
    table.add_column("corpus", style="bold")
    table.add_column("model")
    table.add_column("seeds", justify="right")
    for _, _, words in shown:
        table.add_column(words, justify="right", max_width=18)
    for n, group in enumerate(groups):
        found = [_cell(cells[n, c, m]) for c, m, _ in shown]
        table.add_row(Text(group.corpus), Text(_model(group)), str(len(group.runs)), *found)
    return table


def _model(group: Group) -> str:
    return f"{group.encoder}, {group.attention}" + (f", {group.rest}" if group.rest else "")


def _cell(found: Sequence[Any]) -> Text:
    if not found:
        return Text("—")
    values = [one.value for one in found]
    text = Text(f"{fmean(values):.3f}")
    if len(values) > 1:
        text.append(f"\n{min(values):.3f} … {max(values):.3f}", style="dim")
    return text


def plan_table(
    study: Study,
    planned: Sequence[Planned],
    costs: Sequence[Cost | None],
    workers: int,
    *,
    cores: int,
) -> Lines:
    """The cells, how far each has come, and what the rest will take."""
    table = Table(
        title=Text(f"{study.name}: {study.title or study.about}".rstrip(": ")), title_justify="left", box=None
    )
    table.add_column("cell")
    table.add_column("state")
    table.add_column("run", style="dim")
    table.add_column("time", justify="right")
    table.add_column("memory", justify="right")
    for cell, cost in zip(planned, costs, strict=True):
        table.add_row(
            Text(cell.cell.label),
            Text(cell.state, style=SHADES[cell.state]),
            Text("" if cell.run is None else cell.run.id),
            "" if cost is None else f"{'' if cost.measured else '~'}{duration(cost.seconds)}",
            "" if cost is None else f"{cost.bytes / 2**20:.0f} MB",
        )
    return Lines(table, *_totals(planned, costs, workers, cores), *_problems(planned))


def _totals(planned: Sequence[Planned], costs: Sequence[Cost | None], workers: int, cores: int) -> list[Text]:
    states = Counter(str(cell.state) for cell in planned)
    counted = ", ".join(f"{states[state]} {state}" for state in SHADES if states[state])
    left = [cost for cost in costs if cost is not None]
    lines = [Text(f"{len(planned)} cells: {counted}.")]
    if left:
        side = min(workers, len(left))
        seconds = max(*(c.seconds for c in left), sum(c.seconds for c in left) / min(side, cores))
        memory = sum(sorted((cost.bytes for cost in left), reverse=True)[:side])
        guess = "" if all(cost.measured for cost in left) else ", a guess from the sizes of the corpora on a CPU"
        with_ = "one worker" if side == 1 else f"{side} workers"
        lines.append(Text(f"With {with_}: about {duration(seconds)} and {memory / 2**30:.1f} GB of memory{guess}."))
    return lines


def _problems(planned: Sequence[Planned]) -> list[Text]:
    counts = Counter(cell.problem for cell in planned if cell.problem)
    return [Text(f"{count} × {problem}", style="red") for problem, count in counts.items()]


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def studies_table(studies: Mapping[str, Path], runs: Path) -> Table:
    """The built-in studies, and every study that has runs here."""
    import tomllib

    table = Table(box=None, pad_edge=False)
    for column in ("study", "what it asks", "cells here"):
        table.add_column(column, style="bold" if column == "study" else "")
    here: dict[str, tuple[str, int, int]] = {}
    for record in recorded(runs):
        ids = {cell["run"] for cell in record["cells"] if cell.get("run")}
        done = sum(1 for identity in ids if any((runs / str(identity) / "findings").glob("*.parquet")))
        title, total, finished = here.get(record["study"], (record.get("title", ""), 0, 0))
        here[record["study"]] = (title, total + len(ids), finished + done)
    for name, path in studies.items():
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        here.setdefault(name, (about.get("title", ""), 0, 0))
        here[name] = (about.get("title", ""), *here[name][1:])
    for name, (title, total, done) in here.items():
        table.add_row(Text(name), Text(title), f"{done} of {total} have findings" if total else "none")
    return table
