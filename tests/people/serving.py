"""``attentest people serve`` in a process of its own, that can be killed and started again at the same port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import httpx

__all__ = ["Served"]


class Served:
    """A server of a folder of studies."""

    def __init__(self, people: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.people, self.kills = people, 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, patience: float = 120) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "attentest", "people", "serve", "--people", str(self.people)]
        self.process = subprocess.Popen([*command, "--port", str(self.port)], stdout=subprocess.DEVNULL)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                httpx.get(f"{self.address}/static/base.js", timeout=10).raise_for_status()
            except httpx.TransportError:
                assert self.process.poll() is None, "the server ended"
                time.sleep(0.05)
            else:
                return
        raise TimeoutError("the server did not answer")

    def kill(self) -> None:
        """End it as a power cut would end a process: at once, wherever it is."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.kills += 1

    def __enter__(self) -> Served:
        self.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
