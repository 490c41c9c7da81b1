"""What was computed elsewhere comes back whole, in as many calls as it takes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_study", SCRIPTS / "gpu_study.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "gpu_study", module)
    spec.loader.exec_module(module)
    return module


def test_what_does_not_fit_is_brought_by_the_next_call(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "LARGEST", 50_000)
    runs, brought = tmp_path / "runs", tmp_path / "brought.json"
    for number in range(20):
        (runs / f"run-{number:02}" / "findings").mkdir(parents=True)
        (runs / f"run-{number:02}" / "findings" / "uniform.parquet").write_bytes(bytes([number]) * 12_000)
        (runs / f"run-{number:02}" / "model.safetensors").write_bytes(b"left behind")
    (runs / "studies").mkdir()
    (runs / "studies" / "one.json").write_text("{}")

    def call(number: int) -> tuple[int, int, set[str]]:
        out = tmp_path / f"out-{number}"
        out.mkdir()
        bundles, left = study.packed(runs, out, brought)
        names: set[str] = set()
        for bundle in out.glob("*.tar"):
            assert bundle.stat().st_size <= 60_000
            with tarfile.open(bundle) as archive:
                names |= set(archive.getnames())
        assert len(list(out.glob("*.tar"))) == bundles <= study.BUNDLES
        return bundles, left, names

    _, left, first = call(1)
    assert "studies/one.json" in first
    assert left > 0
    (runs / "studies" / "one.json").write_text('{"cells": []}')  # changed since: it comes again
    calls = [call(number) for number in (2, 3)]
    assert calls[-1][1] == 0
    assert "studies/one.json" in calls[0][2]
    everything = first | calls[0][2] | calls[1][2]
    assert everything == {f"run-{n:02}/findings/uniform.parquet" for n in range(20)} | {"studies/one.json"}
    assert not any((first - {"studies/one.json"}) & names for _, _, names in calls)
    assert call(4)[:2] == (0, 0)


def test_the_smallest_files_come_first_so_that_most_runs_have_what_is_read_of_them(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "LARGEST", 50_000)
    monkeypatch.setattr(study, "BUNDLES", 1)
    for run, size in (("a", 40_000), ("b", 100), ("c", 100)):
        (tmp_path / "runs" / run).mkdir(parents=True)
        (tmp_path / "runs" / run / "large.parquet").write_bytes(bytes(size))
    (tmp_path / "out").mkdir()
    assert study.packed(tmp_path / "runs", tmp_path / "out", tmp_path / "brought.json") == (1, 1)
    with tarfile.open(tmp_path / "out" / "runs-1.tar") as archive:
        assert archive.getnames() == ["b/large.parquet", "c/large.parquet"]


def test_what_claims_need_is_kept_of_every_paper_and_of_nothing_else(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "studies").mkdir()
    for name, paper in (("one", "mohankumar_2020"), ("again", "mohankumar_2020"), ("other", None), ("bad", "nobody")):
        (tmp_path / "studies" / f"{name}.json").write_text(json.dumps({"paper": paper}))
    asked = []

    def conduct(command: list[str], **_: object) -> None:
        asked.append(command[command.index("claims") + 1])
        if asked[-1] == "nobody":
            raise subprocess.CalledProcessError(2, command)

    monkeypatch.setattr(study.subprocess, "run", conduct)
    study.kept(tmp_path, tmp_path, {})
    assert asked == ["mohankumar_2020", "nobody"]
    assert "nothing kept of nobody" in capsys.readouterr().err


def test_packs_that_take_turns_on_a_machine_keep_their_runs(study: ModuleType, tmp_path: Path) -> None:
    packs = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        packs.append(tmp_path / f"{name}.tar.xz")
        with tarfile.open(packs[-1], "w:xz") as archive:
            archive.add(tmp_path / name, arcname="data")
    first = study.unpacked(packs[0], tmp_path / "scratch")
    (first / "runs").mkdir()
    assert (study.unpacked(packs[1], tmp_path / "scratch") / "data" / "file").read_text() == "two"
    assert study.unpacked(packs[0], tmp_path / "scratch") == first
    assert (first / "runs").is_dir()
