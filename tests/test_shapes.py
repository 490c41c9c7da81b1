from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from jaxtyping import Float, Int, TypeCheckError
from torch import Tensor

from attentest.data.batches import Encoded
from attentest.measures.divergence import jensen_shannon
from attentest.models.networks.classifier import Architecture
from tests.conftest import classifier, made_up_split, whole
from tests.support.shapes import checked


def product(a: Float[Tensor, "batch token"], b: Float[Tensor, " token"] | None = None) -> Float[Tensor, " batch"]:
    return a.sum(-1) if b is None else a @ b


def of_wrong_shape(a: Float[Tensor, "batch token"], times: int) -> Float[Tensor, " batch"]:
    return a[0] * times


class Methods:
    @checked
    def plain(self, a: Float[Tensor, "batch token"], b: Float[Tensor, " token"]) -> Float[Tensor, " batch"]:
        return a @ b

    @checked
    @classmethod
    def of_class(cls, a: Float[Tensor, "batch token"], b: Float[Tensor, " token"]) -> Float[Tensor, " batch"]:
        return a @ b

    @checked
    @staticmethod
    def static(a: Float[Tensor, "batch token"], b: Float[Tensor, " token"]) -> Float[Tensor, " batch"]:
        return a @ b


@checked
@dataclass(frozen=True)
class Fields:
    a: Float[Tensor, "batch token"]
    b: Int[Tensor, " batch"]


@checked
def rows(a: Float[Tensor, "batch token"], b: Int[Tensor, " batch"]) -> Iterator[int]:
    yield from range(len(a))


def test_what_fits_passes_and_axes_are_forgotten_between_calls() -> None:
    call = checked(product)
    for batch in (2, 3):
        assert call(torch.ones(batch, 4), torch.ones(4)).tolist() == [4] * batch
        assert call(torch.ones(batch, 4)).tolist() == [4] * batch


@pytest.mark.parametrize(
    "call",
    [checked(product), Methods().plain, Methods.of_class, Methods.static],
    ids=["function", "plain", "class", "static"],
)
@pytest.mark.parametrize(
    "arguments",
    [
        (torch.ones(2, 4), torch.ones(5)),
        (torch.ones(2), torch.ones(2)),
        (torch.ones(2, 4, dtype=torch.int64), torch.ones(4)),
        ([[1.0]], torch.ones(1)),
    ],
    ids=["axes", "dimensions", "numbers", "list"],
)
def test_arguments_that_do_not_fit_are_noticed(call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeCheckError):
        call(*arguments)


def test_results_and_plain_types_are_checked_too() -> None:
    with pytest.raises(TypeCheckError):
        checked(of_wrong_shape)(torch.ones(2, 3), 1)
    assert len(checked(of_wrong_shape)(torch.ones(3, 3), 1)) == 3
    with pytest.raises(TypeCheckError):
        checked(of_wrong_shape)(torch.ones(3, 3), "1")


def test_the_axes_of_a_call_within_a_call_are_its_own() -> None:
    inner = checked(product)

    def transposed(a: Float[Tensor, "batch token"]) -> Float[Tensor, " batch"]:
        inner(a.T)
        return inner(a)

    assert len(checked(transposed)(torch.ones(2, 3))) == 2


def test_the_fields_of_a_dataclass_agree() -> None:
    made = Fields(torch.ones(2, 3), torch.ones(2, dtype=torch.int64))
    with pytest.raises(TypeCheckError):
        replace(made, b=torch.ones(3, dtype=torch.int64))


def test_generators_are_checked_when_they_are_called() -> None:
    assert list(rows(torch.ones(2, 3), torch.ones(2, dtype=torch.int64))) == [0, 1]
    with pytest.raises(TypeCheckError):
        rows(torch.ones(2, 3), torch.ones(3, dtype=torch.int64))


def test_a_checked_function_keeps_its_name_and_defaults() -> None:
    call = checked(of_wrong_shape)
    assert (call.__name__, call.__qualname__, call.__module__) == ("of_wrong_shape", "of_wrong_shape", __name__)
    assert functools.partial(checked(product), b=None)(torch.ones(1, 2)).tolist() == [2]


def test_the_packages_that_compute_are_checked() -> None:
    with pytest.raises(TypeCheckError):
        jensen_shannon(torch.ones(2, 3) / 3, torch.ones(4, 3) / 3)
    model, encoded = classifier(Architecture(embedding=8), made_up_split())
    batch = whole(encoded)
    with pytest.raises(TypeCheckError):
        model.read(batch).reread(torch.ones(batch.mask.shape))
    with pytest.raises(TypeCheckError):
        model.read(Encoded)
