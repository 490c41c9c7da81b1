from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.batches import Batch, Encoded, Sequences, bucketed, shuffled
from attentest.data.corpus import Split
from attentest.data.vocabulary import END, PAD, START, Vocabulary

texts = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12), min_size=1, max_size=40)


def encoded_of(lists: list[list[str]], *, pairs: bool = False) -> tuple[Encoded, Vocabulary]:
    split = Split.of(
        [f"row-{i}" for i in range(len(lists))],
        lists,
        [i % 2 for i in range(len(lists))],
        second=[[*tokens[::-1], "z"] for tokens in lists] if pairs else None,
    )
    vocabulary = Vocabulary.from_split(split)
    return Encoded.of(split, vocabulary), vocabulary


def slowly(lists: list[list[str]], vocabulary: Vocabulary) -> Sequences:
    """The padded batch, token by token."""
    width = max(len(tokens) for tokens in lists) + 2
    table = torch.full((len(lists), width), PAD)
    mask = torch.zeros(len(lists), width, dtype=torch.bool)
    for i, tokens in enumerate(lists):
        table[i, 0] = START
        for j, token in enumerate(tokens, start=1):
            table[i, j] = vocabulary.index[token]
            mask[i, j] = True
        table[i, len(tokens) + 1] = END
    return Sequences(table, torch.tensor([len(tokens) + 2 for tokens in lists]), mask)


def same(one: Sequences, two: Sequences) -> bool:
    return (
        torch.equal(one.tokens, two.tokens)
        and torch.equal(one.lengths, two.lengths)
        and torch.equal(one.mask, two.mask)
    )


@pytest.mark.slow
@settings(deadline=None)
@given(texts, st.data())
def test_a_batch_is_what_a_slow_loop_makes(lists: list[list[str]], data: st.DataObject) -> None:
    encoded, vocabulary = encoded_of(lists, pairs=True)
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), min_size=1, max_size=9))
    batch = encoded.batch(np.array(rows))
    assert same(batch.text, slowly([lists[row] for row in rows], vocabulary))
    assert batch.second is not None
    assert same(batch.second, slowly([[*lists[row][::-1], "z"] for row in rows], vocabulary))
    assert batch.labels.tolist() == [row % 2 for row in rows]
    assert batch.rows.tolist() == rows
    assert len(batch) == len(rows)
    assert torch.equal(batch.mask, batch.text.mask)


def rows_of(batches: list[Batch]) -> list[int]:
    return [row for batch in batches for row in batch.rows.tolist()]


@pytest.mark.slow
@settings(deadline=None)
@given(texts, st.integers(1, 60), st.integers(1, 50))
def test_buckets_hold_every_row_once_and_keep_to_the_budget(lists: list[list[str]], budget: int, chunk: int) -> None:
    encoded, _ = encoded_of(lists)
    chunks = list(bucketed(encoded, tokens=budget, chunk=chunk))
    for i, batches in enumerate(chunks):
        assert sorted(rows_of(batches)) == list(range(i * chunk, min((i + 1) * chunk, len(lists))))
        assert all(batch.text.tokens.numel() <= budget or len(batch) == 1 for batch in batches)
    assert sorted(rows_of([batch for batches in chunks for batch in batches])) == list(range(len(lists)))


@settings(deadline=None)
@given(texts)
def test_inside_a_chunk_lengths_only_grow(lists: list[list[str]]) -> None:
    encoded, _ = encoded_of(lists)
    for batches in bucketed(encoded, tokens=40, chunk=16):
        lengths = [int(length) for batch in batches for length in batch.text.lengths]
        assert lengths == sorted(lengths)


@pytest.mark.slow
@settings(deadline=None)
@given(texts, st.integers(1, 7), st.integers(1, 4), st.integers(0, 3))
def test_an_epoch_holds_every_row_once(lists: list[list[str]], size: int, pool: int, seed: int) -> None:
    encoded, _ = encoded_of(lists)
    batches = list(shuffled(encoded, size, torch.Generator().manual_seed(seed), pool=pool))
    assert sorted(rows_of(batches)) == list(range(len(lists)))
    assert all(1 <= len(batch) <= size for batch in batches)


def test_an_epoch_depends_on_the_generator_alone() -> None:
    encoded, _ = encoded_of([["a"] * (i % 9 + 1) for i in range(50)])

    def epoch(seed: int) -> list[int]:
        return rows_of(list(shuffled(encoded, 4, torch.Generator().manual_seed(seed))))

    torch.manual_seed(1)
    first = epoch(7)
    torch.manual_seed(2)
    assert epoch(7) == first
    assert epoch(8) != first


def test_two_epochs_of_one_generator_differ() -> None:
    encoded, _ = encoded_of([["a"]] * 30)
    generator = torch.Generator().manual_seed(0)
    assert rows_of(list(shuffled(encoded, 4, generator))) != rows_of(list(shuffled(encoded, 4, generator)))


def test_a_key_follows_from_the_id_alone() -> None:
    one, _ = encoded_of([["a"], ["b"], ["c"]])
    two, _ = encoded_of([["c", "d"], ["e"], ["a"], ["b"]])
    assert one.keys.tolist() == two.keys[:3].tolist()
    assert len(set(two.keys.tolist())) == 4
    assert (one.keys >= 0).all()


@pytest.mark.parametrize("pairs", [False, True])
def test_moving_a_batch_moves_all_of_it(pairs: bool) -> None:
    encoded, _ = encoded_of([["a", "b"], ["c"]], pairs=pairs)
    moved = encoded.batch(np.array([0, 1])).to(torch.device("meta"))
    assert moved.text.tokens.device.type == moved.keys.device.type == "meta"
    assert (moved.second is not None) == pairs
    if moved.second is not None:
        assert moved.second.mask.device.type == "meta"


def test_some_texts_are_the_same_texts_and_those_drawn_first_stay_when_more_are_asked_for() -> None:
    whole, _ = encoded_of([["a"] * size for size in (3, 1, 4, 1, 5, 9, 2, 6)], pairs=True)
    rows = np.array([6, 2, 0])
    taken = whole.take(rows)
    here, there = taken.batch(np.arange(3)), whole.batch(rows)
    assert torch.equal(here.text.tokens, there.text.tokens)
    assert torch.equal(here.second.tokens, there.second.tokens)
    assert torch.equal(here.keys, there.keys)
    few, more = (set(whole.some(count, 0, "test").keys.tolist()) for count in (3, 6))
    assert len(few) == 3
    assert few < more
    assert whole.some(100, 0, "test").keys.tolist() == whole.keys.tolist()
