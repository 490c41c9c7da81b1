"""Groups of prompts cost as little as any cut of their order does."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from attentest.sources.batching import grouped


def cost(groups: list[list[int]], shared: list[int], lengths: list[int], start: int) -> int:
    return sum(
        len(group) * (max(lengths[n] for n in group) - min(shared[n] for n in group)) + start for group in groups
    )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("largest", [2, 9])
def test_groups_are_the_cheapest_cut_and_hold_every_prompt_once(seed: int, largest: int) -> None:
    random = np.random.default_rng(seed)
    count, start = int(random.integers(1, 9)), int(random.integers(0, 60))
    shared = random.integers(0, 30, count).tolist()
    lengths = [each + int(more) for each, more in zip(shared, random.integers(1, 60, count), strict=True)]
    found = grouped(shared, lengths, largest=largest, start=start)
    assert sorted(n for group in found for n in group) == list(range(count))
    assert max(map(len, found)) <= largest
    order = sorted(range(count), key=lambda n: (shared[n], lengths[n]))
    every = [
        [order[a:b] for a, b in zip((0, *cuts), (*cuts, count), strict=True)]
        for many in range(count)
        for cuts in combinations(range(1, count), many)
    ]
    allowed = [groups for groups in every if max(map(len, groups)) <= largest]
    assert cost(found, shared, lengths, start) == min(cost(groups, shared, lengths, start) for groups in allowed)


def test_prompts_that_are_alike_go_together_where_a_pass_is_dear() -> None:
    shared, lengths = [5, 5, 40, 40], [60, 61, 62, 63]
    assert grouped(shared, lengths, largest=4, start=10) == [[0, 1], [2, 3]]
    assert grouped(shared, lengths, largest=4, start=1000) == [[0, 1, 2, 3]]
    assert grouped([], [], largest=4) == []
