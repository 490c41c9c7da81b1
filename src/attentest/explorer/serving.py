"""Servers on sockets: until Ctrl-C for commands; beside the program that looks at them for tests and pictures."""

from __future__ import annotations

import contextlib
import errno
import secrets
import socket
import threading
import time
from collections.abc import Iterator

import uvicorn
from starlette.applications import Starlette

from attentest.errors import InputError
from attentest.explorer.safety import is_loopback

__all__ = ["PORTS", "address_of", "listening", "serve", "served", "token_for"]

#: Asked for in this order where no port was named: the first that is free.
PORTS = range(8474, 8484)
#: A token of fewer characters could be guessed.
SHORTEST = 8
#: Connections at a time; more are told to come again.
CONNECTIONS = 2_000


def token_for(host: str, token: str | None, *, public: bool = False) -> str | None:
    """The token that is asked for; one is made up where others can reach the server and none is given."""
    if token is not None and len(token) < SHORTEST:
        raise InputError(f"--token must have at least {SHORTEST} characters. Leave it out to have one made up.")
    return token or (None if is_loopback(host) and not public else secrets.token_urlsafe(24))


def listening(host: str, port: int | None) -> socket.socket:
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
    said = reason.strerror if reason else "taken"
    if reason is not None and reason.errno not in (errno.EADDRINUSE, errno.EACCES):
        raise InputError(f"{host} is no address of this machine: {said}. Name another host (--host).")
    where = f"port {port}" if port is not None else f"ports {PORTS.start} to {PORTS.stop - 1}"
    raise InputError(f"{host}, {where}: {said}. Name another port (--port).")


def address_of(host: str, at: socket.socket) -> str:
    """The address of a server, without a slash at its end."""
    return f"http://{f'[{host}]' if ':' in host else host}:{at.getsockname()[1]}"


def serve(app: Starlette, at: socket.socket) -> None:
    """Serve until Ctrl-C. Addresses are not logged: they may hold a token or a link."""
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
            limit_concurrency=CONNECTIONS,
        )
    )
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        server.run(sockets=[at])


@contextlib.contextmanager
def served(app: Starlette) -> Iterator[str]:
    """The address at which a server answers in a thread of this program, on a port that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise InputError(f"Nothing can be served at 127.0.0.1, port {port}.")
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)
