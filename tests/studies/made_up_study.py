"""A small but real study, for every engine."""

from __future__ import annotations

import hashlib
from pathlib import Path

from attentest.studies.study import Study, read_study

TEXT = """
name = "made-up"
title = "Two attentions, two seeds"

[run]
corpus = "reviews(train=400, dev=60, test=60)"
encoder = "bilstm(hidden=24)"
embedding = 40
epochs = 2
challenges = [
  "agreement(pairs=('attention~gradient', 'attention~leave_one_out'))",
  "permutation(draws=20)",
  "adversary(steps=20)",
]

[grid]
attention = ["additive", "dot"]
seed = [0, 1]
"""


def made_up_study(folder: Path, text: str = TEXT) -> Study:
    path = folder / "made-up.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(path)


def bytes_of_all(runs: Path) -> dict[str, str]:
    """Every findings file of every run, by its path; and the weights, which must be the same too."""
    files = [*runs.glob("*/findings/*.parquet"), *runs.glob("*/model.safetensors")]
    return {str(file.relative_to(runs)): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}


class Silence:
    """A watch that only counts."""

    def __init__(self) -> None:
        self.errors: dict[str, str | None] = {}
        self.stages: set[str] = set()

    def started(self, job, where) -> None: ...

    def moved(self, job, stage, done, total, figures) -> None:
        self.stages.add(stage)

    def said(self, job, line) -> None: ...

    def ended(self, job, error) -> None:
        self.errors[job.label] = error
