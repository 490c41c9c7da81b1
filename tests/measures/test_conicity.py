from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cosine

from attentest.measures.conicity import conicity


def ragged() -> tuple[torch.Tensor, torch.Tensor]:
    """Five texts of different lengths, with large numbers in the padding."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(5, 9, 7, generator=generator, dtype=torch.float64)
    mask = torch.arange(9) < torch.tensor([9, 4, 1, 2, 6])[:, None]
    return torch.where(mask[..., None], states, 1e6), mask


@pytest.mark.parametrize("absolute", [False, True])
def test_conicity_is_the_mean_cosine_with_the_mean_state(absolute):
    states, mask = ragged()
    for row, found in enumerate(conicity(states, mask, absolute).tolist()):
        real = states[row][mask[row]].numpy()
        each = [1 - cosine(state, real.mean(0)) for state in real]
        assert found == pytest.approx(float(np.mean(np.abs(each) if absolute else each)))


def test_equal_states_have_conicity_one_and_opposite_ones_none():
    same, apart = torch.ones(1, 4, 3), torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]])
    assert conicity(same, torch.ones(1, 4, dtype=torch.bool)).item() == pytest.approx(1.0)
    assert conicity(apart, torch.ones(1, 2, dtype=torch.bool)).item() == 0.0


def test_a_text_without_tokens_has_conicity_zero():
    assert conicity(torch.ones(1, 3, 2), torch.zeros(1, 3, dtype=torch.bool)).tolist() == [0.0]


def test_the_gradient_is_that_of_finite_differences_and_none_reaches_padding():
    states, mask = ragged()
    states = torch.where(mask[..., None], states, 0.0).requires_grad_()
    assert torch.autograd.gradcheck(lambda h: conicity(h, mask), (states,))
    conicity(states, mask).sum().backward()
    assert (states.grad[~mask] == 0).all()


def test_the_gradient_is_finite_where_states_are_zero():
    states = torch.zeros(2, 3, 4, requires_grad=True)
    conicity(states, torch.ones(2, 3, dtype=torch.bool)).sum().backward()
    assert states.grad.isfinite().all()
