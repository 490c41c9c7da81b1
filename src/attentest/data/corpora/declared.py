"""A corpus by declaration: what it is, where it comes from, how it is read and prepared, what it must count.

Three forms follow one another, and each step is a function of the one before:

    official   the archive or folder as its authors publish it      read_official(folder) → rows
    rows       <data folder>/<name>/<split>.jsonl.gz, one JSON object a line, the same fields for every source
    prepared   tokens, labels and marks as Arrow files, memory-mapped  prepare(rows) → instances
A corrected preparation is a new preset or a new name, never a silent edit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from attentest.data.corpus import Corpus
from attentest.data.sources.source import Source
from attentest.tasks import TaskName

__all__ = ["Declared", "Expected", "Instance", "Prepared", "Rows"]

Row = Mapping[str, Any]


class Rows(ABC):
    """The rows of a corpus that is on this machine, split by split, read as a stream."""

    @abstractmethod
    def __call__(self, split: str) -> Iterable[dict[str, Any]]:
        """The rows of one split."""

    @abstractmethod
    def has(self, split: str) -> bool:
        """Whether the split is there: some are partial or optional."""


class Instance(NamedTuple):
    """One prepared instance; ``label`` is an index into the prepared classes."""

    id: str
    tokens: Sequence[str]
    label: int
    second: Sequence[str] | None = None
    rationale: Sequence[bool] | None = None
    target: Sequence[str] | None = None
    #: Source-target links of a translation, such as "0-1", counted from 0.
    alignment: Sequence[str] | None = None
    #: For each person who marked the text, one flag per token; ``rationale`` is what was made of them.
    annotations: Sequence[Sequence[bool]] | None = None
    #: The number of tokens of each sentence, where the corpus knows; otherwise a rule cuts them for models that ask.
    sentences: Sequence[int] | None = None
    #: The classes that may be chosen for this text, where not all may.
    candidates: Sequence[int] | None = None


@dataclass(frozen=True)
class Prepared:
    """What a preparation gives: instances by split (streams are fine), class names, and what was left out."""

    splits: Mapping[str, Iterable[Instance]]
    classes: Sequence[str]
    preparation: str
    #: Lines a person reads, such as "12 texts left out: 400 tokens or more"; may be filled while streaming.
    left_out: list[str] = field(default_factory=list)
    #: Named wherever the corpus is used: "train is the first 100,000 of 550,152 pairs"; empty when complete.
    partial: str = ""
    rationale: Literal["planted", "human", ""] = ""
    #: Smallest number of training texts a word must occur in, where it is not the declaration's.
    min_frequency: int | None = None


@dataclass(frozen=True)
class Expected:
    """A published figure that a recount is compared with: split, what is counted, its value, who says so."""

    #: A split of the prepared corpus, "all" for all of them together, or a split of the rows for "rows".
    split: str
    #: "instances", "class <name>", "vocabulary", "average length"; "rows": before preparation, and fewer are partial.
    what: str
    value: float
    source: str
    #: The presets it belongs to; empty: all.
    presets: tuple[str, ...] = ()
    #: Where ours is known to differ: why.
    because: str = ""


class Declared(ABC):
    """A named corpus; subclasses are frozen dataclasses whose fields are preparation options."""

    name: ClassVar[str]
    summary: ClassVar[str]
    task: ClassVar[TaskName] = "single"
    licence: ClassVar[str]
    citation: ClassVar[str]
    homepage: ClassVar[str] = ""
    #: Where it can be had, best first.
    sources: ClassVar[tuple[Source, ...]] = ()
    #: The folder of its rows in the data folder, where corpora share one; default: its name.
    folder: ClassVar[str] = ""
    #: The splits of rows it needs, and the fields every row must have.
    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label")
    #: Those of the fields that must hold some text (or some tokens) in every row.
    texts: ClassVar[tuple[str, ...]] = ("text", "tokens")
    #: Every value the field ``label`` may have in a row, None included where it may; empty: any.
    labels: ClassVar[tuple[str | int | None, ...]] = ()
    expected: ClassVar[tuple[Expected, ...]] = ()
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    min_frequency: ClassVar[int] = 1
    #: Offensive or private text that demonstrations and test output must not show.
    sensitive: ClassVar[bool] = False

    @abstractmethod
    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """The official files in this folder as rows, split by split."""

    @abstractmethod
    def prepare(self, rows: Rows) -> Prepared:
        """The rows as instances, the way the paper did it."""

    def load(self) -> Corpus:
        """The prepared corpus, from the cache when nothing that matters has changed."""
        from attentest.data.catalog.prepared import load_prepared

        return load_prepared(self)
