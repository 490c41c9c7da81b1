"""Two recurrent networks on a core each, there and back: the same bytes as one after the other."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.devices import abreast, second_core_lent

__all__ = ["states_of_both"]

#: Two networks, and what they read.
Sides = tuple[nn.RNNBase, nn.RNNBase]
Inputs = tuple[Float[Tensor, "batch token embedding"], Float[Tensor, "batch token embedding"]]
States = tuple[Float[Tensor, "batch token hidden"], Float[Tensor, "batch token hidden"]]

#: What a network read, and the states it made of it.
Graph = tuple[Tensor, Tensor]


def states_of_both(sides: Sides, inputs: Inputs) -> States:
    """The states of two networks; side by side on a CPU where a second core is lent."""
    (one, other), (x, y) = sides, inputs
    if x.device.type != "cpu" or not second_core_lent():
        return one(x)[0], other(y)[0]
    weights = [*one.parameters(), *other.parameters()]
    if torch.is_grad_enabled() and any(each.requires_grad for each in (x, y, *weights)):
        found: States = _Both.apply(sides, x, y, *weights)  # type: ignore[no-untyped-call]
        return found
    return abreast(lambda: _states(one, x), lambda: _states(other, y))


@torch.no_grad()
def _states(side: nn.RNNBase, x: Tensor) -> Tensor:
    states: Tensor = side(x)[0]
    return states


class _Both(torch.autograd.Function):
    """Each network has a graph of its own, which its core goes back through; for one graph torch takes one thread."""

    @staticmethod
    def forward(ctx: Any, sides: Sides, x: Tensor, y: Tensor, *weights: Tensor) -> States:
        ctx.sides = sides
        ctx.save_for_backward(x, y)
        ctx.graphs = abreast(lambda: _graph(sides[0], x), lambda: _graph(sides[1], y))
        (_, before), (_, after) = ctx.graphs
        return before.detach(), after.detach()

    @staticmethod
    def backward(ctx: Any, of_one: Tensor, of_other: Tensor) -> tuple[Tensor | None, ...]:
        sides: Sides = ctx.sides
        if torch.is_grad_enabled():  # somebody asks how the slopes change: both are made again, one after the other
            one, other = (
                _back(side, (read, side(read)[0]), slope, again=True)
                for side, read, slope in zip(sides, ctx.saved_tensors, (of_one, of_other), strict=True)
            )
        else:
            graphs: tuple[Graph, Graph] = ctx.graphs
            del ctx.graphs
            one, other = abreast(
                lambda: _back(sides[0], graphs[0], of_one), lambda: _back(sides[1], graphs[1], of_other)
            )
        return None, one[0], other[0], *one[1:], *other[1:]


def _graph(side: nn.RNNBase, x: Tensor) -> Graph:
    """What is read, cut off from where it came from, and the states."""
    with torch.enable_grad():
        read = x.detach().requires_grad_(x.requires_grad)
        return read, side(read)[0]


def _back(side: nn.RNNBase, graph: Graph, slope: Tensor, *, again: bool = False) -> list[Tensor | None]:
    """The slopes at what was read and at the weights, none where none is asked for; with a graph of their own again."""
    read, states = graph
    about = [read, *side.parameters()]
    asked = [each for each in about if each.requires_grad]
    slopes = iter(torch.autograd.grad(states, asked, slope, create_graph=again) if asked else ())
    return [next(slopes) if each.requires_grad else None for each in about]
