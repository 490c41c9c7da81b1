"""attentest calibrate: audit models whose truth is known, and see how often a verdict is wrong about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from attentest.cli import options as o
from attentest.cli.terminal import Terminal
from attentest.errors import InputError
from attentest.printing import Printer

if TYPE_CHECKING:
    from attentest.calibration.study import Measured

__all__ = ["calibrate"]


def calibrate(
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="All families, more texts and challenges; default: hand-built models."),
    ] = False,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where records are kept; default: calibration/quick, or /full.")
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", min=0, help="Models measured in parallel; default: one on every core.")
    ] = 0,
    family: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this family, as hand-built or trained; repeat for more."),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, help="Measure N models that have no record yet; 0: all.")
    ] = 0,
    fresh: o.Fresh = False,
    quiet: o.Quiet = False,
) -> None:
    """Audit models whose truth is known, and count how often the verdict is wrong about them.

    Every model's truth is computed by intervention inside the world that wrote its texts, and kept beside what every
    challenge said, one file a model. What was measured before is not measured again; a killed study resumes.
    """
    from attentest.calibration.families import members_of
    from attentest.calibration.measuring import FULL, QUICK
    from attentest.calibration.study import conduct, remaining
    from attentest.cli.studies.display import StudyDisplay
    from attentest.studies.engines import InProcess, Processes

    depth = FULL if full else QUICK
    folder = to or Path("calibration") / depth.name
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, and records need a folder: name another with --to.")
    members = list(members_of(tuple(family or ()), quick=not full))
    if not members:
        raise InputError(f"Of {', '.join(family or ())} there are no quick models: add --full.")
    if fresh and limit:
        raise InputError("--fresh measures all models again, and --limit only some: leave out one of them.")
    if limit:
        left = {one.name for one in remaining(members, folder, depth)[limit:]}
        members = [one for one in members if one.name not in left]
    terminal = Terminal(quiet=quiet)
    display = StudyDisplay(terminal.console, quiet=quiet, unit="models")
    display.expect(len(members), 0 if fresh else len(members) - len(remaining(members, folder, depth)))
    with display:
        done = conduct(
            members, folder, depth, InProcess() if workers == 1 else Processes(workers), display, fresh=fresh
        )
    conclude(done, folder, quiet=quiet)


def conclude(done: Measured, folder: Path, *, quiet: bool) -> None:
    """Print what came out, and leave with 1 when a member failed."""
    from attentest.calibration.analysis.table import read_records
    from attentest.calibration.summary import errors_table, members_table

    if done.done:
        table = read_records(folder)
        table.write(folder)
        shown = () if quiet else (members_table(table), errors_table(table.counted()))
        for each in shown:
            if each is not None:
                Printer().print(each)
    console = Printer(stderr=True, highlight=False)
    console.print(Text(f"{done.done} of {done.members} models measured: {folder}"), soft_wrap=True)
    if done.failed:
        console.print(Text(f"{len(done.failed)} failed; the same command tries them again."))
        raise typer.Exit(1)
