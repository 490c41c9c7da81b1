from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.splits import FRACTIONS, stratified
from attentest.errors import InputError

GOLDEN = {"train": [2, 3, 4, 6, 8, 9], "dev": [0, 7], "test": [1, 5]}
class_sizes = st.lists(st.integers(3, 60), min_size=1, max_size=5)


def rows_of(sizes: list[int]) -> tuple[list[str], list[str]]:
    labels = [f"class {i}" for i, size in enumerate(sizes) for _ in range(size)]
    return [f"row-{i}" for i in range(len(labels))], labels


@settings(deadline=None)
@given(class_sizes, st.integers(0, 9))
def test_every_row_is_in_exactly_one_split(sizes: list[int], seed: int) -> None:
    ids, labels = rows_of(sizes)
    parts = stratified(ids, labels, seed=seed)
    assert list(parts) == ["train", "dev", "test"]
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(len(ids)))
    assert all(np.all(np.diff(rows) > 0) for rows in parts.values())


@settings(deadline=None)
@given(class_sizes)
def test_every_class_reaches_every_split_in_proportion(sizes: list[int]) -> None:
    ids, labels = rows_of(sizes)
    for name, rows in stratified(ids, labels).items():
        counts = Counter(labels[row] for row in rows)
        for i, size in enumerate(sizes):
            share = size * FRACTIONS[name]
            assert counts[f"class {i}"] >= 1
            assert abs(counts[f"class {i}"] - share) < 1 or counts[f"class {i}"] == 1 or size < 10


@settings(deadline=None)
@given(class_sizes, st.randoms(use_true_random=False), st.integers(0, 9))
def test_the_order_of_the_rows_does_not_matter(sizes: list[int], random: object, seed: int) -> None:
    ids, labels = rows_of(sizes)
    order = list(range(len(ids)))
    random.shuffle(order)  # type: ignore[attr-defined]
    plain = stratified(ids, labels, seed=seed)
    mixed = stratified([ids[i] for i in order], [labels[i] for i in order], seed=seed)
    for name in plain:
        assert {ids[row] for row in plain[name]} == {ids[order[row]] for row in mixed[name]}


def test_another_seed_is_another_split() -> None:
    ids, labels = rows_of([50, 50])
    assert stratified(ids, labels, seed=1)["test"].tolist() != stratified(ids, labels, seed=2)["test"].tolist()


def test_a_split_is_the_same_on_every_machine_and_in_every_version() -> None:
    ids, labels = rows_of([5, 5])
    assert {name: rows.tolist() for name, rows in stratified(ids, labels, seed=7).items()} == GOLDEN


def test_fractions_are_shares_of_their_sum() -> None:
    ids, labels = rows_of([80])
    parts = stratified(ids, labels, fractions={"train": 0.7, "dev": 0.1})
    assert {name: len(rows) for name, rows in parts.items()} == {"train": 70, "dev": 10}


@pytest.mark.parametrize("size", [1, 2])
def test_a_class_too_small_for_every_split_is_named(size: int) -> None:
    ids, labels = rows_of([10, size])
    with pytest.raises(InputError, match=rf"Class 'class 1' has {size} rows?, .* at least 3 of every class"):
        stratified(ids, labels)


def test_a_fraction_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="must be above 0"):
        stratified(["a"], ["b"], fractions={"train": 1.0, "dev": 0.0})
