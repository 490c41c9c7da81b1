from __future__ import annotations

import io

import pytest
from rich.console import Console

from attentest.cli.studies.display import StudyDisplay
from attentest.studies.engine import Job


def job(number: int, label: str = "") -> Job:
    return Job(f"r{number}", label or f"sst · bilstm · additive · seed {number}", {}, "runs")


class Screen:
    """A display on a screen of some width, with a clock that is set by hand."""

    def __init__(self, width: int = 80, *, terminal: bool = True, quiet: bool = False, height: int = 24) -> None:
        self.now = 0.0
        self.file = io.StringIO()
        self.console = Console(
            file=self.file, width=width, height=height, force_terminal=terminal, color_system=None, highlight=False
        )
        self.display = StudyDisplay(self.console, quiet=quiet, clock=lambda: self.now)

    def shown(self) -> list[str]:
        with self.console.capture() as captured:
            self.console.print(self.display)
        return captured.get().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_a_line_for_all_and_a_line_for_every_running_cell(width):
    screen = Screen(width)
    display = screen.display
    display.expect(120, done=10)
    for number in range(5):
        display.started(job(number), f"worker {number}")
    screen.now = 60
    display.ended(job(0), None)
    display.ended(job(1), None)
    display.ended(job(2), "ValueError: no")
    display.moved(job(3), "Training", 45, 100, {"epoch": 3, "loss": 0.4121, "dev": 0.8})
    top, *cells = screen.shown()
    assert "12 of 120 cells · 2 running · 1 failed · time left 52 min" in top
    assert len(cells) == 2
    assert cells[0].startswith(
        "sst · bilstm · add… · seed 3  " if width == 80 else "sst · bilstm · additive · seed 3  "
    )
    for words in ("Training", "45 %", "epoch 3  loss 0.412  dev 0.800"):
        assert words in cells[0]
    assert all(len(line) <= width for line in (top, *cells))


def test_a_long_label_loses_its_middle_and_nothing_wraps():
    screen = Screen(80)
    label = "imdb · bilstm(hidden=128) · scaled_dot_product · paper · seed 12"
    screen.display.started(job(0, label), "127.0.0.3, GPU 0")
    screen.display.moved(job(0, label), "Training", 1, 3, {"loss": 0.5})
    _, line = screen.shown()
    assert line.startswith("imdb · ")
    assert "seed 12  Training" in line
    assert len(line) <= 80


def test_more_cells_than_lines_are_counted():
    screen = Screen(height=10)
    for number in range(20):
        screen.display.started(job(number), "")
    lines = screen.shown()
    assert len(lines) <= 10
    assert lines[-1] == "… and 13 more"


def test_a_cell_that_is_tried_again_says_so():
    screen = Screen(120)
    screen.display.started(job(0), "worker 1")
    screen.now = 30
    screen.display.started(job(0), "worker 2")
    screen.now = 35
    assert "attempt 2  5 s  worker 2" in screen.shown()[1]


def test_time_left_counts_cells_that_run_side_by_side_and_what_they_have_done():
    screen = Screen()
    display = screen.display
    display.expect(9)
    assert display.seconds_left() is None
    for number in range(3):
        display.started(job(number), "")
    screen.now = 100
    display.ended(job(0), None)
    display.started(job(3), "")
    # Two have run as long as the mean, one has just begun, five wait: (5 × 100 + 100) / 3.
    assert display.seconds_left() == 200
    for number in range(1, 9):
        display.started(job(number), "")
        display.ended(job(number), None)
    assert "time left" not in screen.shown()[0]


def test_failures_stay_above_and_brackets_are_not_markup():
    screen = Screen()
    with screen.display as display:
        display.expect(2)
        display.started(job(0), "")
        display.said(job(0), "Vectors [glove]")
        display.ended(job(0), "InputError: [bold]no[/bold]")
        display.started(job(1), "")
        display.ended(job(1), None)
    text = screen.file.getvalue()
    assert "failed  sst · bilstm · additive · seed 0: InputError: [bold]no[/bold]" in text
    assert "sst · bilstm · additive · seed 0: Vectors [glove]" in text
    assert "1 of 2 cells · 1 failed" in text
    assert "done  " not in text


def test_without_a_terminal_there_is_one_plain_line_for_every_cell_that_ended():
    screen = Screen(terminal=False)
    with screen.display as display:
        display.expect(3)
        for number in range(2):
            display.started(job(number), "")
            display.moved(job(number), "Training", 1, 2, {})
        screen.now = 90
        display.ended(job(0), None)
        display.ended(job(1), "ValueError: " + "very " * 40 + "long")
    first, second = screen.file.getvalue().splitlines()
    assert first == "done    sst · bilstm · additive · seed 0 in 2 min (1 of 3 cells · 1 running · time left 2 min)"
    assert second.startswith("failed  sst · bilstm · additive · seed 1: ValueError: very very")
    assert second.endswith("long")


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_shows_nothing(terminal):
    screen = Screen(terminal=terminal, quiet=True)
    with screen.display as display:
        display.started(job(0), "")
        display.said(job(0), "something")
        display.ended(job(0), "an error")
    assert screen.file.getvalue() == ""


def test_an_end_without_a_beginning_is_counted():
    screen = Screen()
    screen.display.expect(1)
    screen.display.ended(job(0), "RaySystemError: No module named 'attentest'")
    assert "0 of 1 cells · 1 failed" in screen.shown()[0]
