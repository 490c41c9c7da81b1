"""An explorer that is served beside the program that looks at it: by tests and pictures."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from attentest.explorer.server import explorer

__all__ = ["served"]


@contextlib.contextmanager
def served(runs: Path) -> Iterator[str]:
    """The address at which a folder of runs is explored, on a port of this machine that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(explorer(runs), host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)
