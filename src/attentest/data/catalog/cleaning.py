"""What the declared corpora share: Jain & Wallace's cleaning, length limits and draws, orders, streams."""

from __future__ import annotations

import csv
import gzip
import hashlib
import heapq
import math
import re
import sys
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from attentest.data.corpora.declared import Instance, Rows
from attentest.data.splits import stratified
from attentest.data.tokenizers import TOKENIZERS
from attentest.errors import InputError

__all__ = [
    "Limits",
    "cleaned",
    "counted",
    "csv_records",
    "drawn",
    "fewer",
    "held_out",
    "instances",
    "parts_of",
    "shuffled",
    "shuffled_rows",
    "streamed",
]

Row = Mapping[str, Any]
#: The longest field of a CSV file; a discharge summary outgrows Python's default.
LONGEST_FIELD = 2**24
#: Rows held at once while a large split is put into the order of its hashes.
AT_ONCE = 250_000


# ── tokens ──


@lru_cache(maxsize=500_000)
def _kept(token: str, mask_digits: bool) -> str:
    if mask_digits and any(character.isdigit() for character in token):
        return "qqq"
    return token.lower()


def cleaned(texts: Iterable[str], *, mask_digits: bool = True) -> Iterator[list[str]]:
    """spaCy's English tokens in lower case, one with a digit as ``qqq``: a stream."""
    spaced = (re.sub(r"\s+", " ", text.strip()) for text in texts)
    for tokens in TOKENIZERS["english"](spaced):
        yield [_kept(token, mask_digits) for token in tokens]


@lru_cache(maxsize=100_000)
def parts_of(word: str) -> tuple[str, ...]:
    """One marked word as the English tokens it holds, which all inherit its mark."""
    return tuple(next(cleaned([word], mask_digits=False)))


def instances(
    rows: Iterable[Row],
    text: Callable[[Row], str],
    label: Callable[[Row], int],
    *,
    mask_digits: bool = True,
) -> Iterator[Instance]:
    """Rows as instances of cleaned tokens, one at a time."""
    waiting: deque[Row] = deque()

    def texts() -> Iterator[str]:
        for row in rows:
            waiting.append(row)
            yield text(row)

    for tokens in cleaned(texts(), mask_digits=mask_digits):
        row = waiting.popleft()
        yield Instance(row["id"], tokens, label(row))


# ── lengths ──


@dataclass(frozen=True)
class Limits:
    """More tokens than one limit, fewer than the other.

    A limit that is None is not given: released code then takes the split's own minimum or maximum (``strict``),
    so that its shortest or longest texts drop out; otherwise there is none.
    """

    more_than: int | None = None
    fewer_than: int | None = None
    strict: bool = True

    def within(self, split: str, texts: Iterable[Instance], left_out: list[str]) -> list[Instance]:
        """The instances inside the limits, and a line about each group left out."""
        texts = list(texts)
        lengths = [len(text.tokens) for text in texts]
        low, high = self.more_than, self.fewer_than
        if self.strict and lengths:
            low, high = min(lengths) if low is None else low, max(lengths) if high is None else high
        low = 0 if low is None else low
        short = sum(length <= low for length in lengths)
        long = sum(high is not None and length >= high > low for length in lengths)
        counted(left_out, split, short, f"{low} tokens or fewer" if low else "no tokens")
        counted(left_out, split, long, f"{high} tokens or more")
        return [t for t, n in zip(texts, lengths, strict=True) if n > low and (high is None or n < high)]

    def passing(self, split: str, texts: Iterable[Instance], left_out: list[str]) -> Iterator[Instance]:
        """The same as a stream, for limits that are both given; the lines follow its end."""
        low, high = self.more_than or 0, self.fewer_than or sys.maxsize
        short = long = 0
        for text in texts:
            short += len(text.tokens) <= low
            long += len(text.tokens) >= high
            if low < len(text.tokens) < high:
                yield text
        counted(left_out, split, short, f"{low} tokens or fewer")
        counted(left_out, split, long, f"{high} tokens or more")


def counted(left_out: list[str], split: str, count: int, why: str, noun: str = "text") -> None:
    """Note that so many texts of a split were left out, unless none was."""
    if count:
        left_out.append(f"{split}: {count:,} {noun}{'' if count == 1 else 's'} left out: {why}")


# ── orders and splits ──


def shuffled(name: str) -> bytes:
    """A hash of the id to sort by: an order that tells nothing of the label and never changes."""
    return hashlib.blake2b(name.encode(), digest_size=16).digest()


def shuffled_rows(read: Callable[[], Iterable[Row]], count: int, at_once: int = AT_ONCE) -> Iterator[Row]:
    """Rows in the order of their hashes; a large split is read several times rather than held whole."""
    passes = max(1, math.ceil(count / at_once))
    for turn in range(passes):
        keyed = ((shuffled(row["id"]), row) for row in read())
        mine = [(key, row) for key, row in keyed if int.from_bytes(key[:4]) * passes >> 32 == turn]
        yield from (row for _, row in sorted(mine, key=itemgetter(0)))


def fewer(read: Callable[[], Iterable[Row]], count: int) -> Iterator[Row]:
    """So many of the rows, those whose hashes come first; 0: all. A smaller draw is part of every larger one."""
    if not count:
        yield from read()
        return
    chosen = set(heapq.nsmallest(count, (shuffled(row["id"]) for row in read())))
    yield from (row for row in read() if shuffled(row["id"]) in chosen)


def held_out(ids: Sequence[str], labels: Sequence[int], share: float = 0.1, seed: int = 0) -> set[str]:
    """The ids of a development split cut from training, stratified, for papers that have none."""
    fractions = {"train": 1 - share, "dev": share}
    parts = stratified(ids, [str(label) for label in labels], fractions=fractions, seed=seed)
    return {ids[row] for row in parts["dev"].tolist()}


def drawn(labels: Sequence[int], share: float, seed: int) -> tuple[list[int], list[int]]:
    """Rows kept and rows drawn: scikit-learn's ``train_test_split(stratify=labels, test_size=share)`` to the row."""
    random = np.random.RandomState(seed)
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    counts = np.bincount(codes)
    size = math.ceil(share * len(codes))
    kept = _apportioned(counts, len(codes) - size, random)
    taken = _apportioned(counts - kept, size, random)
    rest: list[int] = []
    chosen: list[int] = []
    for code in range(len(classes)):
        rows = np.flatnonzero(codes == code)[random.permutation(counts[code])]
        rest += rows[: kept[code]].tolist()
        chosen += rows[kept[code] : kept[code] + taken[code]].tolist()
    return random.permutation(rest).tolist(), random.permutation(chosen).tolist()


def _apportioned(counts: np.ndarray, total: int, random: np.random.RandomState) -> np.ndarray:
    """The total shared out by count: rounded down, what is missing to the largest remainders, ties by lot."""
    exact = counts / counts.sum() * total
    shares: np.ndarray = np.floor(exact)
    missing = int(total - shares.sum())
    for remainder in np.sort(np.unique(exact - np.floor(exact)))[::-1]:
        if not missing:
            break
        tied = np.flatnonzero(exact - np.floor(exact) == remainder)
        more = random.choice(tied, size=min(len(tied), missing), replace=False)
        shares[more] += 1
        missing -= len(more)
    return shares.astype(int)


def streamed(
    rows: Rows, text: Callable[[Row], str], label: Callable[[Row], int | None], left_out: list[str]
) -> dict[str, Iterator[Instance]]:
    """Splits of a large corpus that is never held whole; rows without a label drop out, a tenth of train is dev."""
    known = [(row["id"], number) for row in rows("train") if (number := label(row)) is not None]
    dev = held_out([name for name, _ in known], [number for _, number in known])
    tested = sum(label(row) is not None for row in rows("test"))

    def stream(split: str, count: int) -> Iterator[Instance]:
        def read() -> Iterator[Row]:
            for row in rows("test" if split == "test" else "train"):
                if label(row) is not None and (split == "test" or (row["id"] in dev) == (split == "dev")):
                    yield row

        texts = instances(shuffled_rows(read, count), text, lambda row: label(row) or 0, mask_digits=False)
        empty = 0
        for one in texts:
            if one.tokens:
                yield one
            else:
                empty += 1
        counted(left_out, split, empty, "no tokens")

    counts = {"train": len(known) - len(dev), "dev": len(dev), "test": tested}
    return {split: stream(split, count) for split, count in counts.items()}


# ── files ──


def csv_records(path: Path, *, delimiter: str = ",", columns: Collection[int] = ()) -> Iterator[list[str]]:
    """The records of a CSV file (also .gz) as a stream, each with as many columns as are allowed."""
    csv.field_size_limit(LONGEST_FIELD)
    number = 0
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
            for number, record in enumerate(csv.reader(file, delimiter=delimiter), start=1):
                if columns and record and len(record) not in columns:
                    allowed = " or ".join(str(count) for count in sorted(columns))
                    raise InputError(f"{path.name}, record {number} has {len(record)} columns, not {allowed}.")
                if record:
                    yield record
    except (csv.Error, UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
        why = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        raise InputError(f"{path.name} cannot be read after record {number} ({why}): get it again.") from error
