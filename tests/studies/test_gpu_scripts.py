"""What was computed elsewhere comes back whole, in as many calls as it takes."""

from __future__ import annotations

import importlib.util
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
