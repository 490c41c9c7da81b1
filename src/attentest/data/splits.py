"""Splits: of the user's rows by their texts alone, of papers' corpora stratified by ids, labels and a seed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from attentest.errors import InputError

__all__ = ["FRACTIONS", "by_text", "same_text", "stratified"]

FRACTIONS: Mapping[str, float] = {"train": 0.7, "dev": 0.1, "test": 0.2}


def same_text(tokens: Sequence[str]) -> str:
    """What two rows have in common whose texts are the same, but for spaces and case, however they are cut."""
    return "".join(tokens).casefold()


def by_text(
    texts: Sequence[str], labels: Sequence[str], *, fractions: Mapping[str, float] = FRACTIONS
) -> dict[str, np.ndarray]:
    """The rows of each split, in ascending order: a row's place follows from a hash of its text.

    So rows of one text stay together, no seed or order matters, and a row keeps its place when others are added.
    Splits are about their fractions of every class. Only where a class would miss one, the text of it whose hash is
    nearest goes there.
    """
    _refuse_no_share(fractions)
    ends = np.cumsum(list(fractions.values())) / sum(fractions.values())
    hashed = {text: _share(text) for text in texts}
    place = {text: int(np.searchsorted(ends[:-1], share, side="right")) for text, share in hashed.items()}
    of_text: dict[str, set[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        of_text.setdefault(text, set()).add(label)
    of_class: dict[str, list[str]] = {}
    for text in sorted(of_text):
        for label in of_text[text]:
            of_class.setdefault(label, []).append(text)
    there = Counter((label, place[text]) for text, held in of_text.items() for label in held)
    for label in sorted(of_class, key=lambda label: (len(of_class[label]), label)):
        for split, name in enumerate(fractions):
            if there[label, split]:
                continue
            # A text that leaves no class without a text in the split that it leaves.
            free = [t for t in of_class[label] if all(there[own, place[t]] > 1 for own in of_text[t])]
            if not free:
                raise _too_few(label, len(of_class[label]), "different texts", fractions)
            middle = ends[split] - fractions[name] / sum(fractions.values()) / 2
            moved = min(free, key=lambda text: (abs(hashed[text] - middle), text))
            there.subtract((own, place[moved]) for own in of_text[moved])
            place[moved] = split
            there.update((own, split) for own in of_text[moved])
    splits = np.array([place[text] for text in texts])
    return {name: np.flatnonzero(splits == number) for number, name in enumerate(fractions)}


def _share(text: str) -> float:
    """A number from 0 to 1 that follows from the text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=b"split").digest()
    return int.from_bytes(digest, "big") / 2.0**64


def _too_few(label: str, count: int, what: str, fractions: Mapping[str, float]) -> InputError:
    return InputError(
        f"Class {label!r} has {count} {what if count != 1 else what.removesuffix('s')}, and a "
        f"{'/'.join(fractions)} split needs at least {len(fractions)} of every class: "
        "add rows, take the class out, or say in a column 'split' which row goes where."
    )


def _refuse_no_share(fractions: Mapping[str, float]) -> None:
    if not fractions or min(fractions.values()) <= 0:
        raise InputError(f"Fractions of a split must be above 0, not {dict(fractions)}.")


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
    _refuse_no_share(fractions)
    shares = np.array(list(fractions.values())) / sum(fractions.values())
    ranks = [(_hashed(name, seed), name) for name in ids]
    by_class: dict[str, list[int]] = {}
    for row in sorted(range(len(ids)), key=ranks.__getitem__):
        by_class.setdefault(labels[row], []).append(row)
    chosen: dict[str, list[int]] = {name: [] for name in fractions}
    for label, rows in sorted(by_class.items()):
        if len(rows) < len(fractions):
            raise _too_few(label, len(rows), "rows", fractions)
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
