from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.ragged import noise_like, padded, ragged, real

from attentest.measures import flip_sets
from attentest.measures.flip_sets import (
    fewest,
    first_flips,
    first_flips_by_rereading,
    removal_orders,
    smallest_flips,
    turns,
)

SEEDS = st.integers(0, 100_000)


class Case(NamedTuple):
    """One text in whole numbers, so that the slow twins know every tie."""

    weights: list[int]
    z: list[list[int]]

    @property
    def decision(self) -> int:
        logits = logits_of(self, range(len(self.weights)))
        assert logits is not None
        return logits.index(max(logits))

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        weights = torch.tensor([self.weights], dtype=torch.float64)
        z = torch.tensor([self.z], dtype=torch.float64)
        there = torch.ones(1, len(self.weights), dtype=torch.bool)
        return weights / weights.sum(), z, there, torch.tensor([self.decision])


def logits_of(case: Case, kept: Sequence[int]) -> list[Fraction] | None:
    """The logits with these items left and their weights scaled to sum to one; None where no weight is left."""
    total = sum(case.weights[t] for t in kept)
    if not total:
        return None
    return [sum(Fraction(case.weights[t] * case.z[t][c], total) for t in kept) for c in range(len(case.z[0]))]


def flips(case: Case, gone: Sequence[int]) -> bool:
    """Literally: some rival is strictly ahead of the decision once these items are gone."""
    logits = logits_of(case, [t for t in range(len(case.weights)) if t not in gone])
    return logits is not None and max(logits) > logits[case.decision]


def tied(case: Case, scores: list[int]) -> bool:
    """Whether a rival is exactly level with the decision anywhere along an order: floats may see it ahead."""
    order = sorted(range(len(scores)), key=lambda t: (-scores[t], t))
    every = (logits_of(case, order[size:]) for size in range(1, len(order)))
    return any(sum(one == logits[case.decision] for one in logits) > 1 for logits in every if logits is not None)


def slow_smallest(case: Case) -> int:
    """Every set, the small ones first."""
    there = [t for t, weight in enumerate(case.weights) if weight]
    for size in range(1, len(there) + 1):
        if any(flips(case, gone) for gone in itertools.combinations(there, size)):
            return size
    return 0


def slow_order(case: Case, scores: list[int]) -> tuple[int, Fraction]:
    """One item after the other, highest score first, the first of equal ones; items without weight are not counted."""
    gone: list[int] = []
    while len(gone) < len(scores):
        rest = [t for t in range(len(scores)) if t not in gone]
        gone.append(max(rest, key=lambda t: (scores[t], -t)))
        if flips(case, gone):
            there = [t for t in gone if case.weights[t]]
            return len(there), Fraction(sum(case.weights[t] for t in there), sum(case.weights))
    return 0, Fraction(0)


@st.composite
def cases(draw: st.DrawFn, longest: int = 7) -> Case:
    length, classes = draw(st.integers(1, longest)), draw(st.integers(2, 4))
    weights = draw(st.lists(st.integers(0, 6), min_size=length, max_size=length).filter(any))
    row = st.lists(st.integers(-3, 3), min_size=classes, max_size=classes)
    return Case(weights, draw(st.lists(row, min_size=length, max_size=length)))


@pytest.mark.slow
@given(cases())
@settings(max_examples=300)
def test_the_smallest_set_is_the_smallest_of_all_sets(case: Case) -> None:
    found, members = smallest_flips(*case.tensors())
    assert int(found.removed) == slow_smallest(case)
    gone = members[0].nonzero()[:, 0].tolist()
    assert len(gone) == int(found.removed)
    assert flips(case, gone) == bool(gone)
    assert all(case.weights[t] for t in gone)
    assert float(found.mass) == pytest.approx(sum(case.weights[t] for t in gone) / sum(case.weights))


@pytest.mark.slow
@given(cases(), st.lists(st.lists(st.integers(-2, 2), min_size=7, max_size=7), min_size=1, max_size=4))
@example(Case([3, 5, 0, 6, 2], [[3, 0], [-3, 0], [0, 0], [1, 0], [0, 0]]), [[0, 0, 0, 0, 1, 0, 0]])
@settings(max_examples=200)
def test_an_order_equals_removing_item_after_item(case: Case, drawn: list[list[int]]) -> None:
    weights, z, mask, decision = case.tensors()
    scores = torch.tensor([[one[: len(case.weights)] for one in drawn]]).double()
    orders = removal_orders(scores, weights, mask)
    found = first_flips(weights, z, mask, decision, orders)
    again = first_flips_by_rereading(weights, mask, decision, orders, lambda others: others @ z)
    for place, one in enumerate(drawn):
        removed, mass = slow_order(case, one[: len(case.weights)])
        for flips_ in (found,) if tied(case, one[: len(case.weights)]) else (found, again):
            assert int(flips_.removed[0, place]) == removed
            assert float(flips_.mass[0, place]) == pytest.approx(float(mass))


@given(cases())
@settings(max_examples=100)
def test_nothing_flips_a_decision_that_every_item_votes_for(case: Case) -> None:
    found, _ = smallest_flips(*case.tensors())
    votes = [max(z) == z[case.decision] for z, weight in zip(case.z, case.weights, strict=True) if weight]
    # A text of one item has nothing that could be left.
    assert (int(found.removed) == 0) == (all(votes) or len(votes) == 1)


@given(SEEDS, st.integers(2, 5))
@settings(max_examples=60)
def test_no_order_beats_the_smallest_set_whatever_stands_outside_the_mask(seed: int, classes: int) -> None:
    batch = ragged(seed, batch=5)
    z = noise_like(batch, classes, scale=2.0)
    z[~batch.mask] = torch.nan
    decision = (batch.weights[:, None] @ z.nan_to_num())[:, 0].argmax(-1)
    orders = removal_orders(noise_like(batch)[:, None].repeat(1, 3, 1) ** torch.tensor([1, 2, 3])[:, None], *batch[:2])
    found = first_flips(batch.weights, z, batch.mask, decision, orders)
    least, members = smallest_flips(batch.weights, z, batch.mask, decision)
    assert not (members & ~batch.mask).any()
    assert (found.removed[least.removed == 0] == 0).all()
    assert ((found.removed == 0) | (found.removed >= least.removed[:, None])).all()
    for row, (alpha, tokens) in enumerate(zip(real(batch.weights, batch.mask), real(z, batch.mask), strict=True)):
        y, size, best = int(decision[row]), len(alpha), 0
        for count in range(1, size):
            sets = itertools.combinations(range(size), size - count)
            if any((alpha[list(kept)] @ tokens[list(kept)]).argmax() != y for kept in sets):
                best = count
                break
        assert int(least.removed[row]) == best


@given(SEEDS)
@settings(max_examples=40)
def test_for_two_classes_weight_times_folded_slope_is_the_best_order(seed: int) -> None:
    batch = ragged(seed)
    z = noise_like(batch, 2)
    decision = (batch.weights[:, None] @ z)[:, 0].argmax(-1)
    lead = z.gather(-1, decision[:, None, None].expand(-1, z.shape[1], 1))[..., 0] * 2 - z.sum(-1)
    orders = removal_orders((batch.weights * lead)[:, None], batch.weights, batch.mask)
    least, _ = smallest_flips(batch.weights, z, batch.mask, decision)
    assert torch.equal(first_flips(batch.weights, z, batch.mask, decision, orders).removed[:, 0], least.removed)


@given(SEEDS, st.integers(0, 4), st.integers(0, 4))
@settings(max_examples=30)
def test_padding_and_the_batch_around_a_text_change_nothing(seed: int, left: int, right: int) -> None:
    batch = ragged(seed)
    z, scores = noise_like(batch, 3, scale=2.0), noise_like(batch)
    decision = (batch.weights[:, None] @ z)[:, 0].argmax(-1)

    def everything(rows: slice, before: int, after: int) -> list[torch.Tensor]:
        weights, many, mask, order = (
            padded(values[rows], before, after, fill)
            for values, fill in ((batch.weights, 7.0), (z, 7.0), (batch.mask, 0.0), (scores, 7.0))
        )
        orders = removal_orders(order[:, None], weights, mask)
        found = first_flips(weights, many, mask, decision[rows], orders)
        least, members = smallest_flips(weights, many, mask, decision[rows])
        return [found.removed, found.mass, least.removed, least.mass, members[:, before : before + z.shape[1]]]

    whole = everything(slice(None), 0, 0)
    for row in range(len(z)):
        for all_of_them, alone in zip(whole, everything(slice(row, row + 1), left, right), strict=True):
            assert torch.allclose(all_of_them[row : row + 1].double(), alone.double(), atol=1e-12)


def test_all_at_once_and_piece_by_piece_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = ragged(3, batch=9, longest=12)
    z = noise_like(batch, 3)
    decision = (batch.weights[:, None] @ z)[:, 0].argmax(-1)
    orders = removal_orders(noise_like(batch, 5).transpose(1, 2), batch.weights, batch.mask)

    def both() -> list[torch.Tensor]:
        found = first_flips(batch.weights, z, batch.mask, decision, orders)
        again = first_flips_by_rereading(batch.weights, batch.mask, decision, orders, lambda others: others @ z)
        return [found.removed, found.mass, again.removed, again.mass]

    whole = both()
    monkeypatch.setattr(flip_sets, "CELLS", 1)
    assert all(torch.equal(*pair) for pair in zip(whole, both(), strict=True))
    assert torch.equal(whole[0], whole[2])


def test_what_little_weight_is_left_decides_once_the_rest_is_gone() -> None:
    weights = torch.tensor([[1 - 1e-14, 1e-14]], dtype=torch.float64)
    z = torch.tensor([[[0.0, 3.0], [0.1, 0.0]]], dtype=torch.float64)
    found, members = smallest_flips(weights, z, torch.ones(1, 2, dtype=torch.bool), torch.tensor([1]))
    assert int(found.removed) == 1
    assert members.tolist() == [[True, False]]


def test_a_long_text_is_added_up_without_drift() -> None:
    rng = np.random.default_rng(0)
    weights = torch.from_numpy(rng.dirichlet(np.full(4000, 0.3)))[None]
    z = torch.from_numpy(np.stack([np.zeros(4000), rng.normal(1.0, 3.0, 4000)], -1))[None].float()
    found, members = smallest_flips(weights, z, torch.ones(1, 4000, dtype=torch.bool), torch.tensor([1]))
    votes = weights[0] * z[0, :, 1].double()
    fallen = sorted(votes.tolist(), reverse=True)
    expected = next(k for k in range(1, 4000) if math.fsum(fallen[k:]) < 0)
    assert int(found.removed) == expected > 100
    assert math.fsum(votes[~members[0]].tolist()) < 0


def test_a_tie_keeps_the_decision() -> None:
    logits = torch.tensor(
        [[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-15, 0.0], [1.0, 1.0 + 1e-9, 0.0], [-1.0, 2.0, -3.0]],
        dtype=torch.float64,
    )
    assert turns(logits, torch.tensor([0, 0, 0, 0])).tolist() == [False, False, True, True]
    assert turns(logits, torch.tensor([1, 1, 1, 2])).tolist() == [False, False, False, True]


def test_of_several_orders_the_one_that_flips_first_is_taken_and_never_is_not_first() -> None:
    orders = torch.tensor([[[0, 1, 2], [2, 0, 1], [1, 2, 0]]])
    flips_ = flip_sets.Flips(torch.tensor([[0, 2, 1]]), torch.tensor([[0.0, 0.9, 0.3]]))
    least, members = fewest(flips_, orders)
    assert (int(least.removed), float(least.mass)) == (1, pytest.approx(0.3))
    assert members.tolist() == [[False, True, False]]
    none, members = fewest(flip_sets.Flips(torch.zeros(1, 3, dtype=torch.long), torch.zeros(1, 3)), orders)
    assert int(none.removed) == 0
    assert not members.any()
