"""What lists say of runs: what they are, in what they differ, and how far they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attentest.catalogue.entries import catalogue
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.runs.model import train

SMALL: dict[str, Any] = {"corpus": "reviews(train=20, dev=6, test=6)", "encoder": "average(hidden=4)", "embedding": 4}


def test_runs_say_in_what_they_differ_and_whether_they_failed(tmp_path: Path) -> None:
    done = execute(describe_run(challenges=("uniform",), epochs=1, **SMALL), tmp_path)
    failed = execute(describe_run(challenges=("uniform",), epochs=2, limit=3, **SMALL), tmp_path)
    failed.note(failed={"adversary": "out of memory"})
    trained = train(describe_run(challenges=(), epochs=1, seed=1, **SMALL), tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{", encoding="utf-8")
    found = {entry["name"]: entry for entry in catalogue("runs", tmp_path)}
    assert found[done.path.name]["summary"].endswith("seed 0, epochs 1, limit 0, 2 findings")
    assert found[failed.path.name]["differs"] == {"epochs": "2", "limit": "3"}
    assert found[failed.path.name]["summary"].endswith("2 findings, adversary failed: out of memory")
    assert found[trained.path.name]["summary"].endswith("trained, not examined")
    states = [found[name]["state"] for name in (done.path.name, failed.path.name, trained.path.name, "broken")]
    assert states == ["done", "failed", "done", "unreadable"]
