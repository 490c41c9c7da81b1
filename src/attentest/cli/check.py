"""attentest check and attentest verify: is a run's verdict as good as required, and are its files as they were?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attentest.cli import options as o
from attentest.printing import echo, echo_json

if TYPE_CHECKING:
    from attentest.store.folder import RunFolder

#: What is said of a file.
SAID = {
    "whole": "whole",
    "altered": "altered after it was written",
    "missing": "missing",
    "unfinished": "of a run that was cut short; it is checked when it goes on",
    "unlisted": "not recorded: not of this run, or left by a process that was killed",
}


def check(
    run: Annotated[str, typer.Argument(help="A run's folder, its id or the beginning of it, or 'latest'.")] = "latest",
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=ANSWER",
            help="The least answer that will do, yes or with-care, to reason (say which words mattered), check (check "
            "where the model looks) or one (give it as the one reason); repeat it for several.",
        ),
    ] = None,
    runs: o.Runs = o.DEFAULT_RUNS,
    as_json: o.Json = False,
) -> None:
    """Check that a finished run's verdict is as good as required.

    The exit code is 0 where every requirement is met and 1 where one is not, 'cannot say' included; it is 2 where the
    request cannot be understood.
    """
    from attentest.report.verdict import requirements
    from attentest.report.verdict.judge import judge
    from attentest.store.folder import find_run

    required = requirements.parse(require or ())
    folder = find_run(run, runs)
    checked = requirements.check(judge(folder), required)
    met = all(one.met for one in checked)
    if as_json:
        record = {
            "run": folder.path.name,
            "path": str(folder.path),
            "met": met,
            "requirements": [one.to_record() for one in checked],
        }
        echo_json(record)
    else:
        for one in checked:
            echo(one.line)
    if not met:
        raise typer.Exit(1)


def verify(
    runs_: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]", help="Runs, as 'show' takes them, or folders of runs. Default: all in --runs."
        ),
    ] = None,
    runs: o.Runs = o.DEFAULT_RUNS,
    as_json: o.Json = False,
) -> None:
    """Verify that the files of runs are as they were written: say which are whole, altered, missing or not recorded.

    The exit code is 0 where everything recorded is whole and 1 where something is altered or missing; it is 2 where
    there is no such run. What is altered is computed again by the same command that made it.
    """
    from attentest.store.verifying import verify_run

    found = [verify_run(folder) for folder in _folders(runs_ or [str(runs)], runs)]
    if as_json:
        echo_json([one.to_record() for one in found])
    else:
        for one in found:
            counts = Counter(file.state for file in one.files)
            echo(f"{one.path.name}: {', '.join(f'{count} {state}' for state, count in counts.items())}")
            for file in one.files:
                if file.state != "whole" or len(found) == 1:
                    echo(f"  {file.name}: {SAID[file.state]}")
    if not all(one.whole for one in found):
        raise typer.Exit(1)


def _folders(named: list[str], root: Path) -> list[RunFolder]:
    """The runs that are meant by names, paths, and folders of runs."""
    from attentest.store.folder import find_run, runs_in

    found: list[RunFolder] = []
    for name in named:
        within = sorted(runs_in(Path(name)), key=lambda run: run.path.name) if Path(name).is_dir() else []
        found += within if within and not (Path(name) / "run.json").is_file() else [find_run(name, root)]
    return found
