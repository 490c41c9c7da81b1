"""Products by oneDNN are torch's own, up to rounding, and do not depend on what else is multiplied."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn.functional import gelu

from attentest.models.products import (
    forget,
    linear,
    linear_added,
    linear_gelu,
    linear_held,
    ordered,
    whole_rows,
)


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
        torch.testing.assert_close(linear_gelu(x, weight, bias).double(), gelu(exact + bias), atol=1e-4, rtol=0)
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
        assert linear_gelu(x.double(), weight.double()).dtype == torch.float64
        assert linear(x[:0], weight).shape == (0, 3)


def test_weights_are_held_and_gradients_are_those_of_double_precision() -> None:
    x, weight, bias = drawn(7, 40).requires_grad_(), drawn(24, 40).requires_grad_(), drawn(24).requires_grad_()
    twice = x.detach().double().requires_grad_()
    for given, product in ((x, linear_held(x, weight, bias)), (twice, linear_held(twice, weight.double()))):
        (slope,) = torch.autograd.grad(product.square().sum(), given, create_graph=True)
        made = given.double() @ weight.double().T + (bias if given is x else 0)
        torch.testing.assert_close(slope.double(), 2 * made @ weight.double(), atol=1e-3, rtol=1e-4)
        (curved,) = torch.autograd.grad(slope.sum(), given)
        wanted = (2 * weight.double().T @ weight.double()).sum(0).expand(7, 40)
        torch.testing.assert_close(curved.double(), wanted, atol=1e-3, rtol=1e-4)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(linear_held(x, weight, bias).sum(), weight)
    assert not linear_held(x.detach(), weight, bias).requires_grad


@pytest.mark.parametrize("rows", [1, 9, 300])
def test_a_weight_kept_in_order_gives_the_same_bytes_also_once_it_was_changed(rows: int) -> None:
    part, x = torch.nn.Linear(40, 24), drawn(rows, 40)
    with torch.no_grad():
        for _ in range(2):
            order = ordered(part)
            assert order is ordered(part)
            for product in (linear, linear_held, linear_gelu):
                assert torch.equal(product(x, part.weight, part.bias, order), product(x, part.weight, part.bias))
            part.weight.mul_(2.0)
    slope = torch.autograd.grad(linear_held(x.requires_grad_(), part.weight, part.bias, ordered(part)).sum(), x)
    torch.testing.assert_close(slope[0], part.weight.sum(0).expand(rows, 40))


def test_an_order_is_forgotten_where_a_change_may_have_left_no_trace() -> None:
    part = torch.nn.Linear(4, 3)
    before = ordered(part)
    part.weight.data.mul_(2.0)
    forget(torch.nn.Sequential(part))
    assert before is None or before is not ordered(part)
    assert ordered(torch.nn.Linear(4, 3).double()) is None


def test_few_numbers_of_rows_are_ever_multiplied() -> None:
    whole = [whole_rows(rows) for rows in range(1, 5000)]
    assert all(rows <= more <= rows + max(15, rows // 4) for rows, more in enumerate(whole, start=1))
    assert len(set(whole)) < 60
    assert [whole_rows(more) for more in whole] == whole


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("read", ["lambda rows: linear(torch.randn(rows, 128), weight)", "shape"])
def test_memory_does_not_grow_with_the_number_of_shapes(read: str) -> None:
    program = f"""
import torch
from attentest.models.products import linear
torch.set_num_threads(1); torch.set_grad_enabled(False)
def mebibytes(): return int(open("/proc/self/statm").read().split()[1]) / 256
weight, lstm = torch.randn(512, 128), torch.nn.LSTM(32, 16, batch_first=True)
def shape(rows): lstm(torch.randn(1 + rows % 100, 1 + rows // 100, 32))
read = {read}
for rows in range(1, 2048, 4): read(rows)
before = mebibytes()
for rows in range(3, 2048): read(rows)
assert mebibytes() < before + 64, (before, mebibytes())
"""
    subprocess.run([sys.executable, "-c", program], check=True)
