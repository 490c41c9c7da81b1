"""attentest explore."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from attentest.cli import options as o
from attentest.cli.people.app import DEFAULT_PEOPLE, Root
from attentest.errors import InputError
from attentest.printing import echo
from attentest.store.sources import USUAL


def explore(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS", envvar="ATTENTEST_RUNS", help="The folder that holds runs.")
    ] = o.DEFAULT_RUNS,
    port: o.Port = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    model: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="A checkpoint that runs audited and did not keep, to be asked; repeat."),
    ] = None,
    host: o.Host = "127.0.0.1",
    token: o.Token = None,
    people: Root = DEFAULT_PEOPLE,
    sources: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder that holds audits of sources.")] = USUAL,
) -> None:
    """Look at runs in a browser: plots, texts, heat maps; change weights and words and see what the model says.

    The server runs on this machine and can be reached from it alone, unless --host says otherwise. Ctrl-C ends it.
    """
    for option, folder, usual in (("--sources", sources, USUAL), ("--people", people, DEFAULT_PEOPLE)):
        if folder != usual and not folder.is_dir():
            raise InputError(f"{option} {folder} is not a folder.")
    # Without a run there may be an audit of sources, or a study of people; a folder that was named must be there.
    elsewhere = runs == o.DEFAULT_RUNS and (sources.is_dir() or people.is_dir())
    if not runs.is_dir() and not elsewhere:
        raise InputError(f"{runs} is not a folder of runs. Run 'attentest audit' first, or name the folder.")
    from attentest.explorer.server import explorer
    from attentest.explorer.serving import address_of, listening, serve, token_for

    asked = token_for(host, token)
    at = listening(host, port)
    address = f"{address_of(host, at)}/" + (f"?token={asked}" if asked else "")
    echo(f"Explorer  {address}\nRuns      {runs}\nCtrl-C ends it.")
    if browser:
        threading.Timer(1.0, webbrowser.open, (address,)).start()
    checkpoints = tuple(model or ())
    serve(explorer(runs, host=host, token=asked, checkpoints=checkpoints, people=people, sources=sources), at)
