"""``attentest explore`` as it is typed."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from typer.testing import CliRunner

from attentest.cli.main import app
from attentest.errors import InputError


def typed(*words: str) -> BaseException | None:
    return CliRunner().invoke(app, ["explore", *words]).exception


def test_what_cannot_be_served_is_one_clear_line(runs, tmp_path):
    assert "is not a folder of runs" in str(typed(str(tmp_path / "none")))
    for option in ("--sources", "--people"):
        assert f"{option} {tmp_path / 'none'} is not a folder" in str(typed(str(runs), option, str(tmp_path / "none")))
    assert "Name another host" in str(typed(str(runs), "--host", "203.0.113.7", "--no-browser"))
    assert "at least 8 characters" in str(typed(str(runs), "--token", "short", "--no-browser"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        error = typed(str(runs), "--port", str(taken.getsockname()[1]), "--no-browser")
    assert isinstance(error, InputError)
    assert "Name another port (--port)" in str(error)


def test_sources_or_people_alone_can_be_looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    served = []
    monkeypatch.setattr("attentest.explorer.serving.serve", lambda app, at: served.append(at.close()))
    assert "runs is not a folder of runs" in str(typed("--no-browser"))
    (tmp_path / "sources").mkdir()
    assert isinstance(typed("--no-browser"), SystemExit | None)
    assert len(served) == 1


@pytest.mark.slow
def test_the_command_serves_until_it_is_interrupted(runs):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attentest", "explore", str(runs), "--port", str(port), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(600):
                try:
                    home = httpx.get(f"http://127.0.0.1:{port}/home.json", timeout=30)
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            assert home.status_code == 200
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert f"Explorer  http://127.0.0.1:{port}/" in out
    assert said == ""
    assert process.returncode == 0
