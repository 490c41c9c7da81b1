from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.splits import FRACTIONS, by_text, same_text, stratified
from attentest.errors import InputError

GOLDEN = {"train": [2, 3, 4, 6, 8, 9], "dev": [0, 7], "test": [1, 5]}
GOLDEN_TEXTS = {"train": [1, 2, 3, 5, 7, 9], "dev": [0, 8], "test": [4, 6]}
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


@pytest.mark.slow
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


def texts_of(sizes: list[int]) -> tuple[list[str], list[str]]:
    labels = [f"class {i}" for i, size in enumerate(sizes) for _ in range(size)]
    return [f"text {i}" for i in range(len(labels))], labels


def places(parts: dict[str, np.ndarray], texts: list[str]) -> dict[str, str]:
    return {texts[row]: name for name, rows in parts.items() for row in rows}


@settings(deadline=None)
@given(class_sizes, st.integers(1, 4))
def test_a_split_by_text_keeps_every_row_and_every_class_in_every_split(sizes: list[int], times: int) -> None:
    texts, labels = texts_of(sizes)
    parts = by_text(texts * times, labels * times)
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(times * len(texts)))
    for rows in parts.values():
        assert {(labels * times)[row] for row in rows} == set(labels)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc")), min_size=1, max_size=80))
def test_rows_of_one_text_are_in_one_split_whatever_their_labels(rows: list[tuple[int, str]]) -> None:
    texts, labels = [f"text {number}" for number, _ in rows], [label for _, label in rows]
    try:
        parts = by_text(texts, labels)
    except InputError as error:
        assert "different text" in str(error)  # noqa: PT017
        return
    held = [{texts[row] for row in chosen} for chosen in parts.values()]
    assert sum(map(len, held)) == len(set(texts))


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 400), st.randoms(use_true_random=False))
def test_a_row_keeps_its_place_when_others_are_added_or_moved(added: int, random: object) -> None:
    texts, labels = texts_of([60, 60])
    before = places(by_text(texts, labels), texts)
    more = [(f"new {n}", f"class {n % 3}") for n in range(added)] + list(zip(texts, labels, strict=True))
    more += [(f"sure {n}", "class 2") for n in range(60)]
    random.shuffle(more)  # type: ignore[attr-defined]
    after = places(by_text([text for text, _ in more], [label for _, label in more]), [text for text, _ in more])
    assert before.items() <= after.items()


def test_a_split_by_text_is_about_its_fractions_of_every_class() -> None:
    texts, labels = texts_of([20_000, 2_000])
    for name, rows in by_text(texts, labels).items():
        for label, size in Counter(labels).items():
            share = sum(labels[row] == label for row in rows) / size
            assert abs(share - FRACTIONS[name]) < 5 * (FRACTIONS[name] * (1 - FRACTIONS[name]) / size) ** 0.5


def test_a_split_by_text_is_the_same_on_every_machine_and_in_every_version() -> None:
    texts, labels = texts_of([5, 5])
    assert {name: rows.tolist() for name, rows in by_text(texts, labels).items()} == GOLDEN_TEXTS


def test_a_class_of_too_few_texts_is_named_however_often_they_occur() -> None:
    texts, labels = texts_of([10, 2])
    with pytest.raises(InputError, match=r"Class 'class 1' has 2 different texts, .* at least 3 of every class"):
        by_text(texts * 9, labels * 9)


def test_texts_are_the_same_however_they_are_cut() -> None:
    assert same_text(["is", "n't", "it"]) == same_text(["Isn't", "It"])
