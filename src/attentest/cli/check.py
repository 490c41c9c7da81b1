"""attentest check: is a run's verdict as good as required?"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from attentest.cli import options as o


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
        typer.echo(json.dumps(record, ensure_ascii=False, indent=1))
    else:
        for one in checked:
            typer.echo(one.line)
    if not met:
        raise typer.Exit(1)
