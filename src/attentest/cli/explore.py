"""attentest explore."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from attentest.cli import options as o
from attentest.errors import InputError

#: Asked for in this order where no port was named: the first that is free.
PORTS = range(8474, 8484)


def explore(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS", envvar="ATTENTEST_RUNS", help="The folder that holds runs.")
    ] = o.DEFAULT_RUNS,
    port: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=65535, help="The port; default: the first free one from 8474.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    model: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="A checkpoint that runs audited and did not keep, to be asked; repeat."),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="NAME", help="Another host than this machine alone; a token is then asked for.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The token; default: with another host, one is made up.")
    ] = None,
) -> None:
    """Look at runs in a browser: plots, texts, heat maps; change weights and words and see what the model says.

    The server runs on this machine and can be reached from it alone, unless --host says otherwise. Ctrl-C ends it.
    """
    if not runs.is_dir():
        raise InputError(f"{runs} is not a folder of runs. Run 'attentest audit' first, or name the folder.")
    import uvicorn

    from attentest.explorer.safety import is_loopback
    from attentest.explorer.server import explorer

    if token is not None and len(token) < 8:
        raise InputError("--token must have at least 8 characters. Leave it out to have one made up.")
    asked = token or (None if is_loopback(host) else secrets.token_urlsafe(24))
    listening = _listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/" + (f"?token={asked}" if asked else "")
    typer.echo(f"Explorer  {address}\nRuns      {runs}\nCtrl-C ends it.")
    if browser:
        threading.Timer(1.0, webbrowser.open, (address,)).start()
    server = uvicorn.Server(
        uvicorn.Config(
            explorer(runs, host=host, token=asked, checkpoints=tuple(model or ())),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
        )
    )
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        server.run(sockets=[listening])


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket at the port, or at the first that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reason: OSError | None = None
    for number in PORTS if port is None else (port,):
        # Named as TCP, so that asyncio sends small answers at once and does not wait 40 ms to send more with them.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, number))
        except OSError as error:
            made.close()
            reason = error
        else:
            return made
    where = f"port {port}" if port is not None else f"ports {PORTS.start} to {PORTS.stop - 1}"
    raise InputError(f"{host}, {where}: {reason.strerror if reason else 'taken'}. Name another port (--port).")
