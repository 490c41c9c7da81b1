"""Products by oneDNN are torch's own, up to rounding, and do not depend on what else is multiplied."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attentest.models.products import QuickLinear, linear, linear_added


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("turned", [False, True])
def test_products_are_those_of_double_precision_up_to_rounding(rows: int, turned: bool) -> None:
    x, weight, bias = drawn(2, rows, 40), drawn(24, 40), drawn(24)
    if turned:
        x, weight = x.transpose(0, 1), weight.T.contiguous().T
    exact = x.double() @ weight.double().T
    with torch.no_grad():
        torch.testing.assert_close(linear(x, weight, bias).double(), exact + bias, atol=1e-4, rtol=0)
        torch.testing.assert_close(linear(x, weight).double(), exact, atol=1e-4, rtol=0)
        to = drawn(2 * rows, 24)
        wanted = to.double() + exact.reshape(-1, 24)
        torch.testing.assert_close(linear_added(to, x.reshape(-1, 40), weight).double(), wanted, atol=1e-4, rtol=0)


@torch.no_grad()
def test_a_row_is_the_same_whatever_stands_beside_it() -> None:
    x, weight = drawn(300, 128), drawn(512, 128)
    assert torch.equal(linear(x, weight)[17:130], linear(x[17:130], weight))


def test_gradients_double_precision_and_nothing_at_all_are_left_to_torch() -> None:
    x, weight = drawn(4, 8).requires_grad_(), drawn(3, 8)
    (slope,) = torch.autograd.grad(linear(x, weight).sum(), x)
    torch.testing.assert_close(slope, weight.sum(0).expand(4, 8))
    with torch.no_grad():
        assert linear(x.double(), weight.double()).dtype == torch.float64
        assert linear(x[:0], weight).shape == (0, 3)


@torch.no_grad()
def test_a_layer_of_a_library_gives_the_same() -> None:
    layer = nn.Linear(16, 5)
    x = drawn(7, 16)
    wanted = layer(x)
    layer.__class__ = QuickLinear
    torch.testing.assert_close(layer(x), wanted, atol=1e-5, rtol=0)
