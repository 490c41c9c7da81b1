"""Ask for pictures of charts, and live without them where none can be drawn."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from attentest.errors import AttentestError

__all__ = ["NoPicture", "rendered"]

#: Seconds for one picture.
PATIENCE = 60.0
SCRIPT = Path(__file__).with_name("renderer.py")
ADVICE = "Lift the limit on addresses (ulimit -v unlimited): the renderer reserves more than 64 GiB of them."


class NoPicture(AttentestError):
    """A chart that cannot be drawn on this machine."""


class Renderer:
    """The process that draws, started when the first picture is asked for, and anew where it ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        #: Whose it is: a fork must not share it.
        self._owner = 0

    def draw(self, request: bytes) -> bytes:
        """The picture that a request asks for."""
        with self._lock:
            process = self._running()
            timer = threading.Timer(PATIENCE, process.kill)
            timer.start()
            try:
                state, content = _asked(process, request)
            except (OSError, ValueError) as error:
                process.kill()
                self.close()
                raise NoPicture(f"A figure cannot be drawn: the renderer ended ({process.wait()}). {ADVICE}") from error
            finally:
                timer.cancel()
        if state != b"ok":
            raise NoPicture(f"A figure cannot be drawn: {content.decode(errors='replace')[:300]}")
        return content

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", str(SCRIPT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,  # its dump helps nobody
                )
            except OSError as error:
                raise NoPicture(f"A figure cannot be drawn: the renderer does not start ({error}).") from error
            self._owner = os.getpid()
        return self._process

    def close(self) -> None:
        """End it, where it is this process's own."""
        if self._process is not None and self._owner == os.getpid():
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()
            self._process.kill()  # it waits for nothing, and nobody waits for it
            self._process.wait()
            self._process = None


def _asked(process: subprocess.Popen[bytes], request: bytes) -> tuple[bytes, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request + b"\n")
    process.stdin.flush()
    state, size = process.stdout.readline().split()
    content = process.stdout.read(int(size))
    if len(content) < int(size):
        raise ValueError("cut short")
    return state, content


RENDERER = Renderer()
atexit.register(RENDERER.close)


def rendered(chart: dict[str, Any], kind: str, scale: float = 1) -> bytes:
    """A Vega-Lite chart as svg, png or pdf; raises NoPicture where that cannot be."""
    request = json.dumps({"chart": chart, "kind": kind, "scale": scale}, default=lambda number: number.item())
    return RENDERER.draw(request.encode())
