"""``attentest people serve`` as it is typed."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.people.made_up_runs import write_planted_run
from typer.testing import CliRunner

from attentest.cli.main import app
from attentest.people import DESIGNS, Plan, find_study, new_study


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    run = write_planted_run(root / "runs" / "planted-1")
    new_study(root / "people", "films", (run,), DESIGNS.parse("meaningful"), Plan(items=4, checks=0, gold=0))
    return root / "people"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nothing"], "No study of people"),
        (["films", "--at", "study.example.org"], "is no address of a server"),
        (["films", "--at", "https://example.org/study"], "is no address of a server"),
        (["films", "--token", "short"], "at least 8 characters"),
    ],
)
def test_what_cannot_be_served_is_one_clear_line(people: Path, words: list[str], line: str) -> None:
    error = CliRunner().invoke(app, ["people", "serve", *words, "--people", str(people)]).exception
    assert line in str(error)


def test_no_study_and_two_of_one_name_are_refused(people: Path, tmp_path: Path) -> None:
    error = CliRunner().invoke(app, ["people", "serve", "--people", str(tmp_path)]).exception
    assert "There is no study of people" in str(error)
    other = shutil.copytree(people / "films", tmp_path / "films")
    error = CliRunner().invoke(app, ["people", "serve", str(other), "films", "--people", str(people)]).exception
    assert "have one name" in str(error)


@pytest.mark.slow
def test_the_command_serves_links_until_it_is_interrupted(people: Path) -> None:
    with find_study("films", people) as study:
        link = study.invite("anna")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attentest", "people", "serve", "films", "--people", str(people)]
    command += ["--port", str(port), "--at", "https://study.example.org"]
    proxied = {"host": "study.example.org"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(600):
                try:
                    mine = httpx.get(f"http://127.0.0.1:{port}/people/films/{link}.json", headers=proxied, timeout=30)
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            assert mine.json()["annotator"] == "anna"
            assert httpx.get(f"http://127.0.0.1:{port}/people.json", headers=proxied).status_code == 401
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "Studies   https://study.example.org/people?token=" in out
    assert link not in out + said
    assert said == ""
    assert process.returncode == 0
