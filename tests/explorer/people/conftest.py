"""Studies of people behind a server, and a client of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.people.made_up_runs import write_planted_run

from attentest.explorer.people.server import people_server
from attentest.explorer.people.studies import PeopleStudies
from attentest.people import DESIGNS, PeopleStudy, Plan, find_study, new_study

TOKEN = "a-long-token"
OUTSIDE = "http://study.example"


@dataclass(frozen=True)
class Served:
    """A server of a study that other machines can reach, asked without a token."""

    client: TestClient
    study: PeopleStudy
    links: dict[str, str]

    def at(self, name: str, what: str = ".json") -> str:
        return f"/people/{self.study.name}/{self.links[name]}{what}"

    def get(self, name: str, what: str = ".json") -> Any:
        return self.client.get(self.at(name, what))

    def post(self, name: str, kind: str, **asked: Any) -> Any:
        return self.client.post(self.at(name, f"/{kind}.json"), json=asked)

    def agree(self, name: str) -> dict[str, Any]:
        answer = self.post(name, "consent", version=self.study.documents().version)
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two studies."""
    root = tmp_path_factory.mktemp("asked")
    run = write_planted_run(root / "runs" / "planted-1")
    for name, design in (("films", "meaningful"), ("pairs", "compare")):
        new_study(root / "people", name, (run,), DESIGNS.parse(design), Plan(items=10))
    return root / "people"


@pytest.fixture
def people(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "people"))


@pytest.fixture
def served(people: Path) -> Iterator[Served]:
    study = find_study("films", people)
    links = {name: study.invite(name) for name in ("anna", "ben")}
    app = people_server(PeopleStudies(people), host="study.example", token=TOKEN)
    with TestClient(app, base_url=OUTSIDE) as client:
        yield Served(client, study, links)
    study.close()
