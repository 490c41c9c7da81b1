"""Finished runs to report on, written once a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report.made_up import MEASURES, write_run
from tests.report.made_up_verdict import made_up_verdict

from attentest.report.pages.run import write_report
from attentest.store.folder import RunFolder


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("runs") / "3f9c0d27aa51")


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A few texts and one challenge with a figure, for what is said beside figures."""
    without = [name for name in MEASURES if name not in ("instances", "permutation")]
    return write_run(tmp_path_factory.mktemp("runs") / "small", 12, without=without)


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    classes = ("<script>document.title='owned'</script>", "po\u202esi\x00tive [bold]")
    name = '"><img src=x onerror=alert(3)> [red]corpus'
    return write_run(tmp_path_factory.mktemp("runs") / "hostile", 40, classes, name=name, hostile=True)


@pytest.fixture(scope="session")
def many_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("runs") / "many", 60, [f"class name {i}" for i in range(11)])


@pytest.fixture(scope="session")
def report(run: RunFolder) -> Path:
    write_report(run, made_up_verdict(), run.path / "report.html")
    return run.path / "report.html"


@pytest.fixture(scope="session")
def hostile_report(hostile_run: RunFolder) -> Path:
    write_report(hostile_run, made_up_verdict(), hostile_run.path / "report.html")
    return hostile_run.path / "report.html"


@pytest.fixture
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunFolder]:
    def make(**choices: Any) -> RunFolder:
        return write_run(tmp_path_factory.mktemp("runs") / "made-up", **choices)

    return make
