"""Signals: a network replayed as a linear map, for methods that hand the output back layer by layer.

Layer-wise relevance propagation and DeepLIFT replace every part of a network by a linear one that has the same value
at the input that is explained. So a network is written once more in terms of a Signal, and the kind of signal
decides what stands for each part. Since the replay is linear, one backward pass through it gives all scores: what an
input hands to the output is its value times its gradient, and these products add up to the output (Euler).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.networks.held import Held

__all__ = ["Absorber", "AnySignal", "Difference", "Relevance", "Signal", "log_sum_exp"]

S = TypeVar("S", bound="Signal")
R = TypeVar("R", bound="Relevance")
D = TypeVar("D", bound="Difference")

#: Below this a quotient of differences is mostly rounding, and a difference this wide around the middle is taken.
NARROW, WIDTH = 1e-7, 1e-5
#: Points on the way from the reference at which slopes are taken, where no rule has a closed form.
POINTS = 16


class Signal(ABC):
    """An activation on its way through a replayed network; the first axis is the batch."""

    @property
    @abstractmethod
    def value(self) -> Tensor:
        """What the network itself has here, held: what is made of it takes nothing that is handed back."""

    @abstractmethod
    def apart(self: S, split: Callable[[Tensor], Sequence[Tensor]]) -> list[S]:
        """A linear map with several results, such as torch.unbind."""

    @abstractmethod
    def joined(self: S, others: Sequence[S], join: Callable[[list[Tensor]], Tensor]) -> S:
        """This signal and others under a linear map of them all, such as torch.stack."""

    @abstractmethod
    def settled(self: S, bias: Tensor | None = None) -> S:
        """A sum that is complete: its bias is added, and what stabilises sums is applied."""

    @abstractmethod
    def activated(self: S, function: Callable[[Tensor], Tensor]) -> S:
        """An activation with f(0) = 0, element by element."""

    @abstractmethod
    def gate(self: S, bias: Tensor, function: Callable[[Tensor], Tensor]) -> S:
        """The gate f(signal + bias)."""

    @abstractmethod
    def softmax(self: S, mask: Bool[Tensor, "batch token"]) -> S:
        """Weights over the last axis, zero outside the mask."""

    @abstractmethod
    def weights(self: S, mask: Bool[Tensor, "batch token"], function: Callable[[Tensor], Tensor]) -> S:
        """Weights over the last axis by another function than softmax, of the energies inside the mask."""

    @abstractmethod
    def gated(self: S, gate: S, times: Callable[[Tensor, Tensor], Tensor] = torch.mul) -> S:
        """The product of a gate and this signal; ``times(gate, signal)`` is linear in each."""

    @abstractmethod
    def regrouped(self: S, instances: Int[Tensor, " row"], linear: Callable[[Tensor], Tensor]) -> S:
        """A linear map to rows of another number; ``instances`` says which of the batch each row belongs to."""

    def map(self: S, linear: Callable[[Tensor], Tensor]) -> S:
        """A linear map without bias: a product with weights, or a rearrangement."""
        return self.apart(lambda value: (linear(value),))[0]

    def linear(self: S, layer: nn.Linear) -> S:
        """A linear layer with its bias."""
        weight, bias = layer.weight.detach(), layer.bias
        return self.map(lambda x: x @ weight.T).settled(None if bias is None else bias.detach())

    def __add__(self: S, other: S) -> S:
        return self.joined([other], sum)  # type: ignore[arg-type]


#: The kind of signal that goes into a replay comes out of it.
AnySignal = TypeVar("AnySignal", bound=Signal)


@dataclass(frozen=True)
class Absorber:
    """The ε-rule's parameters, and leaves whose gradients are the relevance that bias and ε keep."""

    epsilon: float
    #: Whether a bias keeps its share of the relevance, or leaves it to the inputs.
    bias_absorbs: bool
    bias: Float[Tensor, " batch"]
    stabiliser: Float[Tensor, " batch"]


@dataclass(frozen=True)
class Relevance(Signal):
    """The ε-rule: of a sum's relevance each summand gets its share of (sum + ε·sign), bias and ε the rest.

    Activations pass relevance on unchanged, and in a product the signal takes all of it, the gate none (Arras et
    al. 2017, 2019). As a linear map: z becomes z/(z + ε·sign z)·(Σ wx + b + ε·sign z), which has the value z,
    with the quotient held fixed; an activation becomes f(z)/z times z; a gate becomes a number.
    """

    replayed: Tensor
    absorber: Absorber
    held: Held = Tensor.detach

    @property
    def value(self) -> Tensor:
        """The replay has the network's values."""
        return self.held(self.replayed)

    def apart(self: R, split: Callable[[Tensor], Sequence[Tensor]]) -> list[R]:
        """Of the value."""
        return [replace(self, replayed=part) for part in split(self.replayed)]

    def joined(self: R, others: Sequence[R], join: Callable[[list[Tensor]], Tensor]) -> R:
        """Of the values."""
        return replace(self, replayed=join([self.replayed, *(other.replayed for other in others)]))

    def regrouped(self: R, instances: Int[Tensor, " row"], linear: Callable[[Tensor], Tensor]) -> R:
        """Of the value; what a row absorbs is its instance's."""
        leaves = {name: getattr(self.absorber, name)[instances] for name in ("bias", "stabiliser")}
        return replace(self, replayed=linear(self.replayed), absorber=replace(self.absorber, **leaves))

    def settled(self: R, bias: Tensor | None = None) -> R:
        """The ε-rule."""
        absorber, value = self.absorber, self.value
        total = value if bias is None else value + bias
        shared = total if absorber.bias_absorbs else value
        stabiliser = absorber.epsilon * torch.where(shared >= 0, 1.0, -1.0).to(value.dtype)
        summands = self.replayed + _along(absorber.stabiliser, value) * stabiliser
        if bias is not None and absorber.bias_absorbs:
            summands = summands + _along(absorber.bias, value) * bias
        return replace(self, replayed=total / (shared + stabiliser) * summands)

    def activated(self: R, function: Callable[[Tensor], Tensor]) -> R:
        """f(z)/z, held fixed, times z."""
        value = self.value
        divisor = torch.where(value == 0, 1.0, value)  # a slope of 0/0 would be no number
        ratio = torch.where(value == 0, 0.0, function(value) / divisor)
        return replace(self, replayed=ratio * self.replayed)

    def gate(self: R, bias: Tensor, function: Callable[[Tensor], Tensor]) -> R:
        """A number: gates get no relevance."""
        return replace(self, replayed=function(self.value + bias))

    def softmax(self: R, mask: Bool[Tensor, "batch token"]) -> R:
        """Numbers: attention weights get no relevance."""
        return replace(self, replayed=_softmax(self.value, mask))

    def weights(self: R, mask: Bool[Tensor, "batch token"], function: Callable[[Tensor], Tensor]) -> R:
        """Numbers: attention weights get no relevance."""
        return replace(self, replayed=function(self.value))

    def gated(self: R, gate: R, times: Callable[[Tensor, Tensor], Tensor] = torch.mul) -> R:
        """Signal take all."""
        return replace(self, replayed=times(gate.value, self.replayed))


@dataclass(frozen=True)
class Difference(Signal):
    """DeepLIFT's rescale rule: the difference from a reference is carried through the network, never approximated.

    A nonlinearity multiplies its difference by Δf/Δz (Shrikumar et al. 2017). Softmax is exp(e − log Σ exp e), step
    by step; any other function of all energies has the mean of its slopes on the way from the reference, corrected as
    little as may be so that it adds up (Broyden). A product's difference is Δ(gs) = ḡ·Δs + s̄·Δg, the bars being means
    of input and reference: each factor's Shapley value, as in the shap library's DeepLIFT.
    """

    reference: Tensor
    difference: Tensor
    #: Attention stays what it is for the input, in the reference too.
    attention_held: bool = False
    held: Held = Tensor.detach

    @property
    def value(self) -> Tensor:
        """Reference and difference together."""
        return self.reference + self.change

    @property
    def change(self) -> Tensor:
        """The difference, held."""
        return self.held(self.difference)

    def apart(self: D, split: Callable[[Tensor], Sequence[Tensor]]) -> list[D]:
        """Of reference and difference alike."""
        pairs = zip(split(self.reference), split(self.difference), strict=True)
        return [replace(self, reference=before, difference=change) for before, change in pairs]

    def joined(self: D, others: Sequence[D], join: Callable[[list[Tensor]], Tensor]) -> D:
        """Of references and differences alike."""
        return replace(
            self,
            reference=join([self.reference, *(other.reference for other in others)]),
            difference=join([self.difference, *(other.difference for other in others)]),
        )

    def regrouped(self: D, instances: Int[Tensor, " row"], linear: Callable[[Tensor], Tensor]) -> D:
        """Of reference and difference alike."""
        return self.map(linear)

    def settled(self: D, bias: Tensor | None = None) -> D:
        """A bias is in both and makes no difference."""
        return self if bias is None else replace(self, reference=self.reference + bias)

    def activated(self: D, function: Callable[[Tensor], Tensor]) -> D:
        """The rescale rule; where nothing changes, the slope."""
        before, change = self.reference, self.change
        start, end, narrow = function(before), function(before + change), change.abs() < NARROW
        slope = (end - start) / torch.where(narrow, 1.0, change)
        if narrow.any():
            middle = before + change / 2
            near = (function(middle + WIDTH / 2) - function(middle - WIDTH / 2)) / WIDTH
            slope = torch.where(narrow, near, slope)
        return replace(self, reference=start, difference=slope * self.difference)

    def gate(self: D, bias: Tensor, function: Callable[[Tensor], Tensor]) -> D:
        """Like any nonlinearity."""
        return self.settled(bias).activated(function)

    def softmax(self: D, mask: Bool[Tensor, "batch token"]) -> D:
        """exp(e − log Σ exp e), each step rescaled."""
        if self.attention_held:
            weights = _softmax(self.value, mask)
            return replace(self, reference=weights, difference=torch.zeros_like(weights))
        before, after = self.reference, self.value
        real = mask | ~mask.any(-1, keepdim=True)  # where there is no token, any finite numbers will do
        sums = [e.masked_fill(~real, -torch.inf).logsumexp(-1, keepdim=True) for e in (before, after)]
        slope = log_mean(before - sums[0], after - sums[1]).exp()
        logarithm = self.difference - log_sum_exp(self, real)[:, None]
        change = torch.where(mask, slope, 0.0) * logarithm
        return replace(self, reference=_softmax(before, mask), difference=change)

    def weights(self: D, mask: Bool[Tensor, "batch token"], function: Callable[[Tensor], Tensor]) -> D:
        """What each energy's change has to do with that of each weight: the mean slope between the two."""
        if self.attention_held:
            weights = function(self.value)
            return replace(self, reference=weights, difference=torch.zeros_like(weights))
        before, change = function(self.reference), self.change
        whole = function(self.reference + change) - before
        # Nothing is added but the way on which the change of the weights is handed back.
        way: Tensor = _MeanSlope.apply(self.difference - change, self.reference, change, whole, mask, function)  # type: ignore[no-untyped-call]
        return replace(self, reference=before, difference=whole + way)

    def gated(self: D, gate: D, times: Callable[[Tensor, Tensor], Tensor] = torch.mul) -> D:
        """Each factor's difference times the other's mean."""
        mean_gate = gate.reference + gate.change / 2
        mean_signal = self.reference + self.change / 2
        return replace(
            self,
            reference=times(gate.reference, self.reference),
            difference=times(mean_gate, self.difference) + times(gate.difference, mean_signal),
        )


class _MeanSlope(torch.autograd.Function):
    """The linear map that takes the change of the energies to that of their function, of nothing: zero."""

    @staticmethod
    def forward(
        ctx: Any, nothing: Tensor, reference: Tensor, change: Tensor, whole: Tensor, mask: Tensor, function: Any
    ) -> Tensor:
        """Zero."""
        ctx.save_for_backward(reference, change, whole, mask)
        ctx.function = function
        return torch.zeros_like(whole)

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor | None, ...]:
        """The mean slope, plus the smallest matrix that makes it exact along the change."""
        reference, change, whole, mask = ctx.saved_tensors
        again, slope = torch.is_grad_enabled(), torch.zeros_like(change)
        for point in range(POINTS):
            with torch.enable_grad():
                at = reference + (point + 0.5) / POINTS * change
                at = at if at.requires_grad else at.requires_grad_()
                there = torch.autograd.grad(ctx.function(at), at, given, create_graph=again)[0]
            slope = slope + there / POINTS
        inside = torch.where(mask, change, 0.0)
        length = inside.square().sum(-1, keepdim=True)
        missing = (given[0] * whole).sum(-1, keepdim=True) - (slope * change).sum(-1, keepdim=True)
        share = torch.where(length > 0, missing / torch.where(length > 0, length, 1.0), 0.0)
        return slope + share * inside, None, None, None, None, None


def log_sum_exp(signal: Difference, mask: Bool[Tensor, "batch last"]) -> Float[Tensor, " batch"]:
    """The difference of log Σ exp over the last axis inside the mask, exp and log rescaled: Σ w_k Δz_k."""
    before, after = signal.reference, signal.value
    sums = [z.masked_fill(~mask, -torch.inf).logsumexp(-1, keepdim=True) for z in (before, after)]
    weights = (log_mean(before, after) - log_mean(*sums)).exp()
    return (torch.where(mask, weights, 0.0) * signal.difference).sum(-1)


def log_mean(x: Tensor, y: Tensor) -> Tensor:
    """log of (eˣ − eʸ)/(x − y), the rescale rule's multiplier of exp, stable for all x and y."""
    half = (x - y).abs() / 2
    wide = half.clamp(min=WIDTH)
    above = wide + torch.log(-torch.expm1(-2 * wide)) - torch.log(2 * wide)
    return (x + y) / 2 + torch.where(half < WIDTH, half.square() / 6, above)


def _softmax(energies: Tensor, mask: Tensor) -> Tensor:
    weights = energies.masked_fill(~mask, -torch.inf).softmax(-1)
    return torch.where(mask, weights, 0.0)


def _along(leaf: Tensor, value: Tensor) -> Tensor:
    """One number per instance, ready to be multiplied with a value."""
    return leaf.view(-1, *[1] * (value.ndim - 1))
