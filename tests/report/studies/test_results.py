"""Cells of a study that differ in their seed alone are one row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attentest.report.studies.results import groups_of
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute


@pytest.mark.slow
def test_seeds_over_a_file_of_ones_own_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    rows = [f"film {n} is {('bad', 'good')[n % 2]},{n % 2}\n" for n in range(40)]
    path.write_text("text,label\n" + "".join(rows), encoding="utf-8")
    choices: dict[str, Any] = {"data": path, "encoder": "average(hidden=4)", "embedding": 4, "epochs": 1}
    runs = [describe_run(challenges=("uniform",), seed=seed, **choices) for seed in (0, 1, 2)]
    for run in runs:
        execute(run, tmp_path / "runs")
    (group,) = groups_of([run.id for run in runs], tmp_path / "runs")
    assert group.seeds == [0, 1, 2]
    assert len(group.estimates("instances", "accuracy")) == 3
    texts = [folder.findings("instances").table["id"].to_pylist() for folder in group.runs]
    assert texts[0] == texts[1] == texts[2]
