"""A finished run and studies of it, made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.people.made_up_runs import write_planted_run

from attentest.people import DESIGNS, PeopleStudy, Plan, new_study
from attentest.store.folder import RunFolder


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_planted_run(tmp_path_factory.mktemp("people-runs") / "planted-1")


@pytest.fixture
def make(planted: RunFolder, tmp_path: Path) -> Callable[..., PeopleStudy]:
    """Makes a study by the text of its design."""

    def made(
        design: str = "meaningful", name: str = "study", runs: tuple[RunFolder, ...] = (), **plan: int
    ) -> PeopleStudy:
        chosen = Plan(**({"items": 20} | plan))
        return new_study(tmp_path / "people", name, runs or (planted,), DESIGNS.parse(design), chosen)

    return made


@pytest.fixture(scope="session")
def _template(planted: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("people")
    return new_study(root, "study", (planted,), DESIGNS.parse("meaningful"), Plan(items=20)).path


@pytest.fixture
def study(_template: Path, tmp_path: Path) -> PeopleStudy:
    """A fresh copy of a small study."""
    return PeopleStudy(Path(shutil.copytree(_template, tmp_path / "study")))
