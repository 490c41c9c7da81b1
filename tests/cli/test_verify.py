"""attentest verify: which files of a run are whole, altered, missing or not of the run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_cli import fails_in_one_line, run
from tests.runs.test_run import small

from attentest.runs.execute import execute

__all__ = ["run"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return execute(small(), tmp_path_factory.mktemp("made")).path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "runs" / made.name)


def states(said: str) -> dict[str, str]:
    (found,) = json.loads(said)
    return {file["name"]: file["state"] for file in found["files"]}


def test_a_whole_run_is_said_to_be_whole(run: Any, folder: Path) -> None:
    for named in (folder, folder.parent):
        code, out, _ = run("verify", named, "--json")
        assert code == 0
        assert set(states(out).values()) == {"whole"}
        there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        assert set(states(out)) == there - {".lock"}
    assert f"{folder.name}: {len(there) - 1} whole" in run("verify", folder)[1]


def test_each_kind_of_damage_is_named_and_ends_in_1(run: Any, folder: Path) -> None:
    (folder / "vocabulary.json").unlink()
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "findings" / "planted.parquet").write_bytes(b"")
    (folder / "training.safetensors").write_bytes(b"")
    code, out, _ = run("verify", folder, "--json")
    assert code == 1
    found = states(out)
    assert {name: state for name, state in found.items() if state != "whole"} == {
        "vocabulary.json": "missing",
        "model.safetensors": "altered",
        "findings/planted.parquet": "unlisted",
        "training.safetensors": "unfinished",
    }
    said = run("verify", folder.name, "--runs", folder.parent)[1]
    assert "model.safetensors: altered after it was written" in said


def test_an_altered_record_is_named(run: Any, folder: Path) -> None:
    record = folder / "run.json"
    record.write_text(record.read_text().replace('"seed": 0', '"seed": 1'))
    code, out, _ = run("verify", folder, "--json")
    assert code == 1
    assert states(out) == {"run.json": "altered"}


def test_what_is_no_run_is_refused(run: Any, folder: Path) -> None:
    fails_in_one_line(run("verify", folder.parent / "none", "--runs", folder.parent), "is called")
