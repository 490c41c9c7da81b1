"""A corpus: named splits of labelled, tokenised text, with a task and a provenance.

A split is an Arrow table, so it can be memory-mapped, and no Python object exists per token. Columns:
    id           string            stable across runs
    tokens       list<string>      the text that attention reads
    label        int32             index into the corpus's classes
    second       list<string>      the query text of a pair, where there is one
    rationale    list<bool>        one flag per token: does it decide the label (or did a person say so)?
    target       list<string>      the text to generate, for translation
    alignment    list<string>      source-target links of a translation, counted from 0
    annotations  list<list<bool>>  for each person who marked the text, one flag per token
    sentences    list<int32>       the number of tokens of each sentence, for models that read sentence by sentence
    candidates   list<int32>       the classes that may be chosen for the text, where not all may
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.errors import InputError
from attentest.tasks import TaskName

__all__ = ["Corpus", "Provenance", "Split"]


@dataclass(frozen=True)
class Provenance:
    """Where a corpus comes from, how it was prepared, and what was left out of it."""

    source: str
    preparation: str
    licence: str = "not stated"
    citation: str = ""
    left_out: tuple[str, ...] = ()
    #: What is missing from the corpus on this machine, named wherever it is used; empty when complete.
    partial: str = ""
    #: What the rationale column means: "planted" (the generator knows), "human", "listed" (words that a user named,
    #: whether they decide or not), or "" (none).
    rationale: Literal["planted", "human", "listed", ""] = ""
    #: What else a person should know of the texts: that some were cut, an encoding guessed, or labels contradict.
    notes: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """As plain values; notes only where there are some."""
        record = asdict(self) | {"left_out": list(self.left_out), "notes": list(self.notes)}
        return record if self.notes else {name: value for name, value in record.items() if name != "notes"}


@dataclass(frozen=True)
class Split:
    """One split as an Arrow table with the columns named above."""

    table: pa.Table

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        tokens: Sequence[Sequence[str]],
        labels: Sequence[int],
        *,
        second: Sequence[Sequence[str]] | None = None,
        rationale: Sequence[Sequence[bool]] | None = None,
        target: Sequence[Sequence[str]] | None = None,
        annotations: Sequence[Sequence[Sequence[bool]] | None] | None = None,
        sentences: Sequence[Sequence[int]] | None = None,
    ) -> Split:
        """A split from plain Python sequences."""
        columns = {
            "id": pa.array(ids, pa.string()),
            "tokens": pa.array(tokens, pa.list_(pa.string())),
            "label": pa.array(labels, pa.int32()),
        }
        if second is not None:
            columns["second"] = pa.array(second, pa.list_(pa.string()))
        if rationale is not None:
            columns["rationale"] = pa.array(rationale, pa.list_(pa.bool_()))
        if target is not None:
            columns["target"] = pa.array(target, pa.list_(pa.string()))
        if annotations is not None:
            columns["annotations"] = pa.array(annotations, pa.list_(pa.list_(pa.bool_())))
        if sentences is not None:
            columns["sentences"] = pa.array(sentences, pa.list_(pa.int32()))
        return cls(pa.table(columns).combine_chunks())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def ids(self) -> list[str]:
        """The instances' ids, in order."""
        ids: list[str] = self.table["id"].to_pylist()
        return ids

    @cached_property
    def labels(self) -> np.ndarray:
        """The gold classes, in order."""
        labels: np.ndarray = self.table["label"].to_numpy()
        return labels

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of tokens of every text."""
        lengths: np.ndarray = pc.list_value_length(self.table["tokens"]).to_numpy()
        return lengths

    def has(self, column: str) -> bool:
        """Whether the split carries that column."""
        return column in self.table.column_names

    def take(self, rows: Iterable[int]) -> Split:
        """The split restricted to these rows, in this order."""
        return Split(_taken(self.table, np.fromiter(rows, np.int64)))


def _taken(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """The rows in one chunk, gathered batch by batch: Arrow would first copy a table of many batches whole."""
    order = np.argsort(rows, kind="stable")
    batches = table.to_batches()
    ends = np.cumsum([0, *(len(batch) for batch in batches)])
    cuts = np.searchsorted(rows[order], ends)
    parts = [
        batch.take(pa.array(rows[order[low:high]] - start))
        for batch, start, low, high in zip(batches, ends[:-1], cuts[:-1], cuts[1:], strict=True)
        if high > low
    ]
    gathered = pa.Table.from_batches(parts, table.schema).combine_chunks()
    if (order[1:] > order[:-1]).all():
        return gathered
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return gathered.take(pa.array(places)).combine_chunks()


@dataclass(frozen=True)
class Corpus:
    """Named splits of labelled text with a task, class names and a provenance."""

    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, Split]
    provenance: Provenance
    task: TaskName = "single"
    #: Smallest number of training texts a word must occur in to enter the vocabulary.
    min_frequency: int = field(default=1)
    #: The digest, where it is already known; computing it reads every token.
    known_digest: str = ""

    def __post_init__(self) -> None:
        for name, split in self.splits.items():
            labels = split.labels
            if len(labels) and (labels.min() < 0 or labels.max() >= len(self.classes)):
                raise InputError(
                    f"Corpus {self.name!r}, split {name!r}: label {int(labels.max())} is outside the "
                    f"{len(self.classes)} classes {', '.join(self.classes)}."
                )

    @property
    def candidates(self) -> bool:
        """Whether only the classes that a text names may be chosen for it."""
        return any(split.has("candidates") for split in self.splits.values())

    def __getitem__(self, split: str) -> Split:
        if split not in self.splits:
            raise InputError(f"Corpus {self.name!r} has no split {split!r}. It has: {', '.join(self.splits)}.")
        return self.splits[split]

    @cached_property
    def digest(self) -> str:
        """A hash of every instance of every split; part of a run's id."""
        if self.known_digest:
            return self.known_digest
        total = hashlib.sha256(repr((self.name, self.classes, self.task, self.min_frequency)).encode())
        for name in sorted(self.splits):
            total.update(name.encode())
            for column in self.splits[name].table.itercolumns():
                for part in flat_bytes(column):
                    total.update(part)
        return total.hexdigest()[:16]


def flat_bytes(column: pa.ChunkedArray) -> Iterator[bytes]:
    """The content of a column as bytes that do not depend on how it is cut into chunks, one chunk at a time."""
    while pa.types.is_list(column.type):
        for chunk in column.chunks:
            yield pc.list_value_length(chunk).fill_null(0).to_numpy(zero_copy_only=False).tobytes()
        column = pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)
    if pa.types.is_string(column.type):
        before = ""
        for chunk in column.chunks:
            if len(chunk):
                yield (before + "\x1f".join(chunk.fill_null("").to_pylist())).encode()
                before = "\x1f"
        return
    for chunk in column.chunks:
        yield chunk.fill_null(False if pa.types.is_boolean(column.type) else 0).to_numpy(zero_copy_only=False).tobytes()
