"""Recount a corpus, and compare with the figures its authors and the papers print."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from attentest.data.catalog.cache import sum_of
from attentest.data.catalog.prepared import load_prepared
from attentest.data.catalog.presets import names_of
from attentest.data.catalog.raw import RowsOnDisk
from attentest.data.corpora.declared import Declared, Expected
from attentest.data.corpus import Corpus, Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.progress import SILENT, Progress

__all__ = ["Recounted", "recount"]

ALL = "all"


@dataclass(frozen=True)
class Recounted:
    """One published figure beside ours, and where they differ, why."""

    expected: Expected
    ours: float | None
    agrees: bool
    reason: str = ""


def recount(declared: Declared, *, progress: Progress = SILENT) -> list[Recounted]:
    """Every figure that belongs to this preparation, counted again."""
    corpus = load_prepared(declared, progress=progress)
    presets = names_of(declared)
    wanted = [figure for figure in declared.expected if not figure.presets or set(figure.presets) & set(presets)]
    return [_compared(figure, declared, corpus) for figure in wanted]


def _compared(figure: Expected, declared: Declared, corpus: Corpus) -> Recounted:
    ours = _counted(figure, declared, corpus)
    if ours is None:
        return Recounted(figure, None, False, f"{figure.split} is not on this machine")
    if _agrees(figure, ours):
        return Recounted(figure, ours, True)
    return Recounted(figure, ours, False, figure.because or corpus.provenance.partial or "not explained")


def _agrees(figure: Expected, ours: float) -> bool:
    """Counts are equal; a whole average is the one of ours rounded or cut."""
    if figure.what == "average length" and float(figure.value).is_integer():
        return figure.value in (math.floor(ours), math.floor(ours + 0.5))
    return math.isclose(ours, figure.value, rel_tol=1e-9)


def _counted(figure: Expected, declared: Declared, corpus: Corpus) -> float | None:
    if figure.what == "rows":
        path = RowsOnDisk(declared).files.get(figure.split)
        return None if path is None else sum_of(path).rows
    if figure.split == ALL:
        split = Split(pa.concat_tables([split.table for split in corpus.splits.values()], promote_options="default"))
    elif figure.split in corpus.splits:
        split = corpus[figure.split]
    else:
        return None
    kind, _, name = figure.what.partition(" ")
    if figure.what == "instances":
        return len(split)
    if kind == "class" and name in corpus.classes:
        return int(np.count_nonzero(split.labels == corpus.classes.index(name)))
    if figure.what == "vocabulary":
        return len(Vocabulary.from_split(split, corpus.min_frequency))
    if figure.what == "average length":
        return float(split.lengths.mean())
    raise InputError(
        f"Corpus {declared.name!r} expects a figure {figure.what!r}, which cannot be counted: the declaration must say "
        "rows, instances, class NAME, vocabulary or average length."
    )
