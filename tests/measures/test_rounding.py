"""Effects that are rounding are not ranked."""

from __future__ import annotations

import torch

from attentest.measures.rounding import moves

MASK = torch.ones(1, 3, dtype=torch.bool)


def moved(largest: float, *logits: float) -> bool:
    scores = torch.tensor([[0.0, largest / 2, largest]], dtype=torch.double)
    return bool(moves(scores, torch.tensor([logits]), MASK))


def test_what_is_below_rounding_moves_nothing() -> None:
    assert not moved(1e-17, 1.0, 0.0)
    assert not moved(1e-8, 1.0, 0.0)
    assert not moved(0.0, 0.0, 0.0)
    assert moved(1e-5, 1.0, 0.0)
    assert moved(-1e-5, 1.0, 0.0)


def test_the_floor_falls_with_the_doubt_of_the_model_but_not_below_double_precision() -> None:
    assert moved(1e-11, 20.0, 0.0)
    assert not moved(1e-15, 20.0, 0.0)
    assert not moved(1e-16, 300.0, 0.0)


def test_padding_is_no_effect_and_what_is_not_a_number_is_no_rounding() -> None:
    scores = torch.tensor([[1e-17, 1e-17, 5.0]], dtype=torch.double)
    assert not bool(moves(scores, torch.zeros(1, 2), torch.tensor([[True, True, False]])))
    scores[0, 0] = torch.nan
    assert bool(moves(scores, torch.zeros(1, 2), MASK))
