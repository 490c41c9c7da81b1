from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support.ragged import noise_like, ragged

from attentest.measures.packing import by_length, ordinals, packed, positions


@given(st.integers(0, 10_000))
def test_real_tokens_are_counted_listed_and_moved_in_order(seed: int) -> None:
    batch = ragged(seed, shortest=0)
    values = noise_like(batch)
    for row, keep, count, listed, moved in zip(
        values, batch.mask, ordinals(batch.mask), positions(batch.mask), packed(values, batch.mask), strict=True
    ):
        here = [t for t in range(len(keep)) if keep[t]]
        away = [t for t in range(len(keep)) if not keep[t]]
        assert listed.tolist() == here + away
        assert count.tolist() == [sum(1 for h in here if h < t) for t in range(len(keep))]
        assert moved.tolist() == [row[t].item() for t in here] + [0.0] * len(away)


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 500), st.integers(1, 3))
def test_chunks_hold_every_row_once_and_stay_within_their_cells(lengths: list[int], cells: int, power: int) -> None:
    seen = []
    for rows, longest in by_length(torch.tensor(lengths, dtype=torch.long), cells, power):
        assert longest == max(lengths[i] for i in rows.tolist())
        assert len(rows) == 1 or len(rows) * longest**power <= cells
        seen += rows.tolist()
    assert sorted(seen) == list(range(len(lengths)))
