"""Stratified splits that depend on the ids, the labels and the seed, and on nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from attentest.errors import InputError

__all__ = ["FRACTIONS", "stratified"]

FRACTIONS: Mapping[str, float] = {"train": 0.7, "dev": 0.1, "test": 0.2}


def stratified(
    ids: Sequence[str],
    labels: Sequence[str],
    *,
    fractions: Mapping[str, float] = FRACTIONS,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """The rows of each split: about its fraction of every class, and at least one row of it.

    A row's place follows from a hash of the seed and its id, so the order of the rows does not matter.
    Fractions are shares of their sum. Rows come in ascending order.
    """
    if not fractions or min(fractions.values()) <= 0:
        raise InputError(f"Fractions of a split must be above 0, not {dict(fractions)}.")
    shares = np.array(list(fractions.values())) / sum(fractions.values())
    ranks = [(_hashed(name, seed), name) for name in ids]
    by_class: dict[str, list[int]] = {}
    for row in sorted(range(len(ids)), key=ranks.__getitem__):
        by_class.setdefault(labels[row], []).append(row)
    chosen: dict[str, list[int]] = {name: [] for name in fractions}
    for label, rows in sorted(by_class.items()):
        if len(rows) < len(fractions):
            raise InputError(
                f"Class {label!r} has {len(rows)} {'row' if len(rows) == 1 else 'rows'}, and a "
                f"{'/'.join(fractions)} split needs at least {len(fractions)} of every class: "
                f"add rows, take the class out, or say in a column 'split' which row goes where."
            )
        ends = np.cumsum(_sizes(len(rows), shares))
        for name, part in zip(fractions, np.split(np.array(rows), ends[:-1]), strict=True):
            chosen[name].extend(part.tolist())
    return {name: np.array(sorted(rows), dtype=np.int64) for name, rows in chosen.items()}


def _hashed(name: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}\x1f{name}".encode(), digest_size=16).digest()


def _sizes(count: int, shares: np.ndarray) -> np.ndarray:
    """Whole sizes of at least one that add up to the count and lie nearest to its shares."""
    wanted = count * shares
    sizes: np.ndarray = np.maximum(1, np.floor(wanted)).astype(np.int64)
    while sizes.sum() < count:
        sizes[np.argmax(wanted - sizes)] += 1
    while sizes.sum() > count:
        sizes[np.argmax(np.where(sizes > 1, sizes - wanted, -np.inf))] -= 1
    return sizes
