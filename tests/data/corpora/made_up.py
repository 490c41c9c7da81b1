"""Rows that are made up, checked as rows on disk are; and the real ones, where they are on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from attentest.data.catalog.raw import RowsOnDisk, checked
from attentest.data.corpora.declared import Declared, Instance, Prepared, Rows


class MadeUpRows(Rows):
    def __init__(self, declared: Declared, splits: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
        self.declared = declared
        self.splits = {name: [dict(row) for row in rows] for name, rows in splits.items()}

    def __call__(self, split: str) -> Iterator[dict[str, Any]]:
        return checked(self.declared, enumerate(self.splits[split], start=1), f"{split}, row")

    def has(self, split: str) -> bool:
        return split in self.splits


def prepared(
    declared: Declared, splits: Mapping[str, Iterable[Mapping[str, Any]]]
) -> tuple[Prepared, dict[str, list[Instance]]]:
    made = declared.prepare(MadeUpRows(declared, splits))
    return made, {name: list(instances) for name, instances in made.splits.items()}


def from_official(declared: Declared, folder: Path) -> tuple[Prepared, dict[str, list[Instance]]]:
    return prepared(declared, declared.read_official(folder))


def real(declared: Declared) -> tuple[Prepared, dict[str, list[Instance]]]:
    if "ATTENTEST_DATA" not in os.environ:
        pytest.skip("ATTENTEST_DATA is not set: no real corpora here")
    made = declared.prepare(RowsOnDisk(declared))
    return made, {name: list(instances) for name, instances in made.splits.items()}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
