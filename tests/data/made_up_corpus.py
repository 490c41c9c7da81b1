"""A declared corpus small enough to write by hand, and its official form: one file of lines a split."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.sources.source import Source
from attentest.errors import InputError

TEXTS = ("a fine film", "a dull film with a dull end", "fine", "dull , dull", "the plot is fine", "no more of this")


@dataclass(frozen=True)
class Toy(Declared):
    """Two classes, lines of ``label<TAB>text``."""

    name: ClassVar[str] = "toy"
    summary: ClassVar[str] = "made up"
    licence: ClassVar[str] = "CC0"
    citation: ClassVar[str] = "nobody 2024"
    homepage: ClassVar[str] = "https://example.org/toy"
    sources: ClassVar[tuple[Source, ...]] = ()
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 6, "us"),
        Expected("train", "instances", 6, "us"),
        Expected("train", "class bad", 2, "us", ("paper",), "a reason"),
        Expected("train", "class good", 3, "us", ("shouting",)),
        Expected("all", "vocabulary", 99, "us"),
        Expected("train", "average length", 3, "us"),
    )
    presets: ClassVar[Mapping[str, Any]] = {"shouting": {"upper": True}}

    upper: bool = False
    marked: bool = False

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        if not (folder / "train.txt").is_file():
            raise InputError(f"{folder} holds no train.txt.")
        return {path.stem: self.read_rows(path) for path in sorted(folder.glob("*.txt"))}

    def read_rows(self, path: Path) -> Iterator[Row]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            label, _, text = line.partition("\t")
            yield {"id": f"{path.stem}-{number}", "text": text, "label": int(label)}

    def prepare(self, rows: Rows) -> Prepared:
        left_out: list[str] = []
        splits = {split: self.read_instances(rows, split, left_out) for split in self.splits if rows.has(split)}
        return Prepared(splits, ("bad", "good"), "split at spaces", left_out, rationale="human" if self.marked else "")

    def read_instances(self, rows: Rows, split: str, left_out: list[str]) -> Iterator[Instance]:
        for row in rows(split):
            tokens = row["text"].upper().split() if self.upper else row["text"].split()
            marks = [token == "fine" for token in tokens] if self.marked and len(tokens) > 2 else None
            yield Instance(row["id"], tokens, row["label"], rationale=marks)
        left_out.append(f"{split}: 0 texts left out")


def official(folder: Path, count: int = 6, splits: tuple[str, ...] = ("train", "test")) -> Path:
    """A folder in the toy's official form."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits:
        lines = [f"{i % 2}\t{TEXTS[i % len(TEXTS)]}" for i in range(count)]
        (folder / f"{split}.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def rows_file(path: Path, rows: Iterable[Any]) -> Path:
    """A file of rows, gzipped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode()))
    return path


def toy_rows(split: str, count: int = 6) -> list[dict[str, Any]]:
    """Rows as reading the official form gives them."""
    return [{"id": f"{split}-{i}", "text": TEXTS[i % len(TEXTS)], "label": i % 2} for i in range(count)]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
