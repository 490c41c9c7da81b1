from __future__ import annotations

from itertools import combinations, pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.support.ragged import noise_like, ragged

from attentest.measures.packing import by_length, cheapest_cuts, consecutive, ordinals, packed, positions


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


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 500), st.integers(1, 3))
def test_neighbours_stay_neighbours(lengths: list[int], cells: int, power: int) -> None:
    parts = list(consecutive(torch.tensor(lengths, dtype=torch.long), cells, power))
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(len(lengths)))
    for part in parts:
        assert part.stop - part.start == 1 or (part.stop - part.start) * max(lengths[part]) ** power <= cells


@given(st.lists(st.integers(0, 12), min_size=1, max_size=9), st.sampled_from([0.0, 3.0, 40.0]), st.integers(1, 60))
def test_no_other_cuts_cost_less(lengths: list[int], step: float, cells: int) -> None:
    def most(length: int) -> int:
        return cells // length

    def cost(sizes: list[int]) -> float:
        rows, longest = len(sizes), max(sizes)
        return rows * longest**2 / 2 + step * longest * -(-rows // max(1, most(max(1, longest))))

    parts = [part.tolist() for part in cheapest_cuts(torch.tensor(lengths, dtype=torch.long), step, most)]
    assert sorted(row for part in parts for row in part) == list(range(len(lengths)))
    ordered = sorted(lengths)
    assert [lengths[row] for part in parts for row in part] == ordered
    assert all(len(part) <= max(1, most(max(1, *(lengths[row] for row in part)))) for part in parts)
    # Texts of one length stay together, up to the most that go together; every other way to cut is tried.
    places = [i for i in range(1, len(ordered)) if ordered[i] != ordered[i - 1]]
    tried = [
        sum(cost(ordered[a:b]) for a, b in pairwise([0, *some, len(ordered)]))
        for count in range(len(places) + 1)
        for some in combinations(places, count)
    ]
    found = sum(
        len(part) * max(lengths[r] for r in part) ** 2 / 2 + step * max(lengths[r] for r in part) for part in parts
    )
    assert found <= min(tried) + 1e-9
