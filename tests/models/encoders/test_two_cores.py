"""Both directions on a core each: the same bytes as one after the other."""

from __future__ import annotations

import threading

import pytest
import torch
from tests.training.test_training import trained

from attentest.devices import abreast, second_core, second_core_lent
from attentest.models.parts.encoders import ENCODERS
from attentest.training.loop import Training

LENGTHS = torch.tensor([9, 1, 5, 12])
PARTS = ("bilstm(hidden=24)", "bigru(hidden=24)", "bilstm(hidden=24, layers=2)", "bilstm(hidden=24, skip='concat')")


def went(part: str, cores: int, frozen: str = "") -> list[torch.Tensor | None]:
    """States, and the slopes at what was read and at every weight."""
    torch.manual_seed(0)
    network, x = ENCODERS.parse(part).build(7), torch.randn(4, 12, 7)
    x.requires_grad_(frozen != "embeddings")
    for name, weight in network.named_parameters():
        weight.requires_grad_(not frozen or frozen not in name)
    with second_core(cores):
        states = network(x, LENGTHS)
        (states * torch.linspace(-1, 1, states.numel()).view_as(states)).sum().backward()
    return [states, x.grad, *(weight.grad for weight in network.parameters())]


@pytest.mark.parametrize("frozen", ["", "embeddings", "weight_hh", "rightward"])
@pytest.mark.parametrize("part", PARTS)
def test_states_and_slopes_are_the_same_bytes(part, frozen):
    for alone, beside in zip(went(part, 1, frozen), went(part, 2, frozen), strict=True):
        assert (alone is None) == (beside is None)
        assert alone is None or torch.equal(alone, beside)


def test_reading_without_slopes_gives_the_same_bytes_and_no_graph():
    torch.manual_seed(0)
    network, x = ENCODERS.parse("bilstm(hidden=24)").build(7), torch.randn(4, 12, 7)
    with torch.no_grad():
        alone = network(x, LENGTHS)
        with second_core(2):
            beside = network(x, LENGTHS)
    assert torch.equal(alone, beside)
    assert not beside.requires_grad


def test_a_model_trained_on_two_cores_has_the_same_bytes():
    training = Training(epochs=3, batch_size=8)
    alone = trained(training)
    with second_core(2):
        beside = trained(training)
    assert all(torch.equal(alone[0].state_dict()[name], value) for name, value in beside[0].state_dict().items())
    assert [epoch.loss for epoch in alone[2]] == [epoch.loss for epoch in beside[2]]


def test_the_second_core_is_lent_to_this_thread_for_a_while_and_used():
    def here() -> str:
        return threading.current_thread().name

    assert abreast(here, here) == (here(), here())
    with second_core(1):
        assert not second_core_lent()
    with second_core(2):
        first, second = abreast(here, here)
        other = []
        thread = threading.Thread(target=lambda: other.append(second_core_lent()))
        thread.start()
        thread.join()
    assert first.startswith("attentest-second")
    assert second == here()
    assert other == [False]
    assert not second_core_lent()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("attentest-second")]


def test_what_fails_beside_fails_here():
    def fails() -> None:
        raise ValueError("beside")

    with second_core(2), pytest.raises(ValueError, match="beside"):
        abreast(fails, lambda: None)


@pytest.mark.parametrize("part", PARTS)
def test_slopes_of_slopes_are_those_of_one_core(part):
    def twice(cores: int) -> list[torch.Tensor]:
        torch.manual_seed(0)
        network, x = ENCODERS.parse(part).build(7), torch.randn(4, 12, 7, requires_grad=True)
        scale = torch.ones((), requires_grad=True)
        with second_core(cores):
            (slope,) = torch.autograd.grad((scale * network(x, LENGTHS)).tanh().sum(), x, create_graph=True)
            about = [x, scale, *network.parameters()]
            return [slope.detach(), *torch.autograd.grad(slope.square().sum(), about)]

    for alone, beside in zip(twice(1), twice(2), strict=True):
        assert torch.allclose(alone, beside, rtol=1e-5, atol=1e-7)
        assert float(beside.abs().max()) > 0
