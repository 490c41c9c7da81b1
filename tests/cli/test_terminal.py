"""What a person sees of progress, in a terminal and without one."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from attentest.cli import terminal


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.setattr(terminal, "LINE_SECONDS", 0.05)

    def made(*, tty: bool):
        out, screen = io.StringIO(), terminal.Terminal()
        screen.console = Console(file=out, force_terminal=tty, width=100, highlight=False)
        return screen, out

    return made


def test_without_a_terminal_there_are_plain_lines_while_work_goes_on_and_one_when_it_ends(shown):
    screen, out = shown(tty=False)
    with screen.stage("Examining", 200) as tick:
        time.sleep(0.12)
        tick(50, left=750.0)
        time.sleep(0.12)
        tick(150)
    lines = out.getvalue().splitlines()
    assert lines[0] == "Examining 0 of 200, 0 s"
    assert "Examining 50 of 200, 0 s, about 12 min left" in lines
    assert lines[-1] == "Examining 200 of 200 in 0 s"
    assert "\x1b" not in out.getvalue()


def test_a_bar_shows_the_time_left_that_it_was_told_and_counts_it_down(shown):
    screen, out = shown(tty=True)
    with screen.stage("Examining", 200) as tick:
        tick(150, left=3600.0)
        time.sleep(0.3)
    assert any(text in out.getvalue() for text in ("1:00:00", "0:59:59"))


def test_quiet_is_quiet(capsys):
    with terminal.Terminal(quiet=True).stage("Examining", 2) as tick:
        tick(2, left=1.0)
    assert capsys.readouterr() == ("", "")
