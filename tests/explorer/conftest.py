"""A folder of runs, one of them hostile, and a client of their explorer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.conftest import made_up_corpus
from tests.report.made_up import write_run

from attentest.explorer.server import explorer
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.store.folder import RunFolder

#: The name of a class that would run, were it markup.
HOSTILE = "<script>document.title='owned'</script>"
CHALLENGES = ("importance", "agreement", "permutation", "adversary(steps=20)", "uniform", "flip_sets")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    name = '"><img src=x onerror=alert(3)> [red]corpus'
    write_run(root / "hostile-2", 30, (HOSTILE, "po\u202esi\x00tive"), name=name, hostile=True)
    (root / "notes").mkdir()
    return root


@pytest.fixture(scope="session")
def run(runs: Path) -> RunFolder:
    """A small audit, its model beside it."""
    made = describe_run(
        corpus=made_up_corpus(count=120),
        encoder="bilstm(hidden=8)",
        embedding=10,
        epochs=6,
        tokenizer="whitespace",
        challenges=CHALLENGES,
    )
    execute(made, runs)
    return RunFolder(runs / made.id)


@pytest.fixture(scope="session")
def client(runs: Path, run: RunFolder) -> Iterator[TestClient]:
    with TestClient(explorer(runs, judging=False), base_url="http://127.0.0.1:8474") as made:
        yield made


@pytest.fixture(scope="session")
def at(run: RunFolder) -> str:
    """The address of the audit."""
    return f"/runs/{run.path.name}"
