"""Which prompts go through a model together: as few tokens as can be, padding and what is not shared included."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["START", "grouped"]

#: What a pass costs by itself, in tokens: on a CPU little, on a GPU as much as thousands of them.
START = {"cpu": 100, "cuda": 4096}


def grouped(
    shared: Sequence[int], lengths: Sequence[int], *, largest: int, start: int = START["cpu"]
) -> list[list[int]]:
    """Groups of prompts, by number, that make the fewest tokens in all.

    A group computes, for each of its prompts, as many tokens as its longest prompt has beyond what all of them share
    with the prefix; ``start`` tokens more for being a pass of its own. A group has at most ``largest`` prompts. Exact
    among groups of neighbours in the order of what is shared, then of length.
    """
    order = sorted(range(len(shared)), key=lambda n: (shared[n], lengths[n]))
    best, cut = [0], [0]
    for last in range(1, len(order) + 1):
        longest, found = 0, []
        for first in range(last - 1, max(-1, last - 1 - largest), -1):
            longest = max(longest, lengths[order[first]])
            found.append((best[first] + (last - first) * (longest - shared[order[first]]) + start, first))
        cost, first = min(found)
        best.append(cost)
        cut.append(first)
    groups, last = [], len(order)
    while last:
        groups.append(order[cut[last] : last])
        last = cut[last]
    return groups[::-1]
