"""Attention: states (and, for pairs, a query) to weights over real tokens."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from attentest.errors import InputError, NotApplicable
from attentest.measures.chance import uniforms
from attentest.models.networks.signals import AnySignal
from attentest.models.parts.normalisers import NORMALISERS, masked_softmax, normalised
from attentest.models.products import linear
from attentest.registry import Registry, classes_below

__all__ = [
    "ATTENTIONS",
    "Additive",
    "Attention",
    "AttentionNetwork",
    "EnergyNetwork",
    "Random",
    "ScaledDot",
    "Uniform",
    "masked_softmax",
]

#: How the learned query of dot attention may begin.
INITS = ("kaiming", "normal")


class AttentionNetwork(nn.Module, ABC):
    """States to weights in two steps: keys, linear in the state, and then weights from keys and query."""

    #: The linear map from states to keys.
    keys: nn.Linear
    #: Whether its query is the instance itself, by its random key, and not a second text's state.
    asks_the_instance: ClassVar[bool] = False

    @abstractmethod
    def weigh(
        self,
        keys: Float[Tensor, "*batch token key"],
        mask: Bool[Tensor, "*#batch token"],
        query: Shaped[Tensor, "*#batch query"] | None = None,
    ) -> Float[Tensor, "*batch token"]:
        """Weights that are zero outside the mask and sum to one inside it."""

    def forward(
        self,
        states: Float[Tensor, "*batch token state"],
        mask: Bool[Tensor, "*#batch token"],
        query: Shaped[Tensor, "*#batch query"] | None = None,
    ) -> Float[Tensor, "*batch token"]:
        """Weights of the states."""
        return self.weigh(linear(states, self.keys.weight, self.keys.bias), mask, query)

    def replay(
        self,
        states: AnySignal,
        mask: Bool[Tensor, "batch token"],
        query: Shaped[Tensor, "batch query"] | None = None,
    ) -> AnySignal:
        """The weights again, as a signal: what lrp and deep_lift follow."""
        raise NotApplicable(f"Attention network {type(self).__name__} has no replay, which lrp and deep_lift need.")


class EnergyNetwork(AttentionNetwork):
    """One energy for every state, by itself and the query; then weights from the energies."""

    normaliser: str = "softmax"

    @abstractmethod
    def energies(
        self, keys: Float[Tensor, "*batch token key"], query: Float[Tensor, "*#batch query"] | None = None
    ) -> Float[Tensor, "*batch token"]:
        """One number for every key."""

    def normalise(
        self, energies: Float[Tensor, "*batch token"], mask: Bool[Tensor, "*#batch token"]
    ) -> Float[Tensor, "*batch token"]:
        """Weights of the energies."""
        return normalised(energies, mask, self.normaliser)

    def weigh(self, keys: Tensor, mask: Tensor, query: Tensor | None = None) -> Tensor:
        """Energies, normalised."""
        return self.normalise(self.energies(keys, query), mask)

    def replayed_weights(self, energies: AnySignal, mask: Bool[Tensor, "batch token"]) -> AnySignal:
        """The weights of energies as a signal."""
        if self.normaliser == "softmax":
            return energies.softmax(mask)
        return energies.weights(mask, lambda e: self.normalise(e, mask))


class Attention(ABC):
    """A description of an attention."""

    name: ClassVar[str]

    @abstractmethod
    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """The network, for states (and queries) of this size."""


@dataclass(frozen=True)
class Additive(Attention):
    r"""Bahdanau's: v·tanh(W h + b), W halving the state (Jain & Wallace).

    The default. Energies $v \cdot \tanh(W h_t + U q + b)$, where $q$ is the second text's state, if there is one;
    then a softmax over real tokens, or a normaliser that gives many of them exactly nothing.
    """

    name: ClassVar[str] = "additive"
    normaliser: Annotated[
        str,
        "From energies to weights: `softmax`, or `sparsemax` (Martins & Astudillo 2016) or `entmax15` (Peters et al. "
        "2019), under which many tokens get a weight of exactly zero.",
    ] = "softmax"

    def __post_init__(self) -> None:
        _check_normaliser(self.name, self.normaliser)

    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """One hidden layer and a bias-free vector."""
        return AdditiveNetwork(size, query, self.normaliser)


@dataclass(frozen=True)
class ScaledDot(Attention):
    r"""Dot product with a learned query, or with the given one; as it is, scaled.

    Energies $q \cdot h_t / \sqrt{m}$ with one learned query $q$ for single texts, $q \cdot W h_t / \sqrt{m}$ with
    the second text's state for pairs and with the decoder's for translations, then a softmax over real tokens, or
    a normaliser that gives many of them exactly nothing.
    Tutek & Šnajder (2020, Appendix C) saw attention collapse to uniform when the learned query began with torch's
    usual weights, and not when it began from N(0, 1).
    """

    name: ClassVar[str] = "dot"
    scaled: Annotated[
        bool, "Whether energies are divided by $\\sqrt{m}$, the root of the states' size; Luong et al. (2015) do not."
    ] = True
    mapped: Annotated[
        bool,
        'Whether $W$ stands between query and states (Luong\'s "general"); without it ("dot") both must have the '
        "same size, so single texts, which have no query, need it.",
    ] = True
    init: Annotated[
        str,
        "First weights of the learned query: `kaiming`, torch's default (uniform, $a = \\sqrt{5}$), or `normal`, "
        "N(0, 1). Of single texts alone: a given query is not learned.",
    ] = "kaiming"
    normaliser: Annotated[
        str,
        "From energies to weights: `softmax`, or `sparsemax` (Martins & Astudillo 2016) or `entmax15` (Peters et al. "
        "2019), under which many tokens get a weight of exactly zero.",
    ] = "softmax"

    def __post_init__(self) -> None:
        _check_normaliser(self.name, self.normaliser)
        if self.init not in INITS:
            raise InputError(f"Attention 'dot': init={self.init!r} must be one of {', '.join(INITS)}.")

    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """A query vector."""
        if self.init != "kaiming" and query is not None:
            raise InputError(
                f"Attention 'dot(init={self.init!r})' says how a learned query begins, and here the query is given "
                "(by the second text, the text itself or the decoder). Leave out init."
            )
        if not self.mapped and query != size:
            asked = "there is none" if query is None else f"the query has {query} numbers, a state {size}"
            raise InputError(f"Attention 'dot(mapped=False)' multiplies states by the query, and {asked}. Use mapped.")
        return ScaledDotNetwork(size, query, self)


@dataclass(frozen=True)
class Uniform(Attention):
    """Every real token weighs the same: attention switched off, in training too (Wiegreffe & Pinter).

    Not a challenge but a model: it is trained under uniform attention, so its accuracy tells whether the task needs
    attention at all. (The challenge `uniform` replaces the weights only at inference.)
    """

    name: ClassVar[str] = "uniform"

    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """Nothing to learn."""
        return UniformNetwork(size)


@dataclass(frozen=True)
class Random(Attention):
    """Weights drawn from U(0, 1) and normalised, in training and after (Vashishth et al.).

    Not a challenge but a model: it is trained under weights drawn from U(0, 1), drawn anew whenever it reads a
    text. After training a text keeps the weights that it was once given. (The challenge `random_weights` replaces
    trained weights only when predicting.)
    """

    name: ClassVar[str] = "random"

    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """Nothing to learn."""
        return RandomNetwork(size)


ATTENTIONS: Registry[Attention] = Registry("attention", partial(classes_below, "attentest.models.parts", Attention))


def _check_normaliser(attention: str, normaliser: str) -> None:
    if normaliser not in NORMALISERS:
        raise InputError(f"Attention {attention!r}: normaliser={normaliser!r} must be one of {', '.join(NORMALISERS)}.")


class AdditiveNetwork(EnergyNetwork):
    """v·tanh(W h + U q + b)."""

    def __init__(self, size: int, query: int | None, normaliser: str = "softmax") -> None:
        super().__init__()
        self.normaliser = normaliser
        hidden = max(1, size // 2)
        self.keys = nn.Linear(size, hidden)
        self.of_query = None if query is None else nn.Linear(query, hidden, bias=False)
        self.vector = nn.Linear(hidden, 1, bias=False)

    def energies(self, keys: Tensor, query: Tensor | None = None) -> Tensor:
        """From a hidden layer."""
        if self.of_query is not None and query is not None:
            keys = keys + self.of_query(query)[..., None, :]
        energies: Tensor
        if torch.is_grad_enabled():
            energies = self.vector(keys.tanh())[..., 0]
        else:  # tanh(x) = 2σ(2x) − 1, several times faster on CPU than tanh
            vector = self.vector.weight
            energies = nn.functional.linear((2 * keys).sigmoid_(), 2 * vector)[..., 0] - vector.sum()
        return energies

    def replay(self, states: AnySignal, mask: Tensor, query: Tensor | None = None) -> AnySignal:
        """A hidden layer, a vector, a softmax; to the hidden layer a query is one bias more."""
        weight, bias = self.keys.weight.detach(), self.keys.bias.detach()
        if self.of_query is not None and query is not None:
            bias = bias + self.of_query(query)[:, None]
        layer = states.map(lambda h: h @ weight.T).settled(bias)
        energies = layer.activated(torch.tanh).linear(self.vector)
        return self.replayed_weights(energies.map(lambda e: e[..., 0]), mask)


class ScaledDotNetwork(EnergyNetwork):
    """h·q / √m; the learned query of a single sequence is itself the map to a one-number key."""

    def __init__(self, size: int, query: int | None, made: ScaledDot) -> None:
        super().__init__()
        self.normaliser = made.normaliser
        self.scale = math.sqrt(size) if made.scaled else 1.0
        self.keys = nn.Linear(size, 1 if query is None else query, bias=False)
        if made.init == "normal":
            nn.init.normal_(self.keys.weight)
        if not made.mapped:
            self.keys.weight.requires_grad_(False).copy_(torch.eye(size))

    def energies(self, keys: Tensor, query: Tensor | None = None) -> Tensor:
        """From a product with the query."""
        energies = keys[..., 0] if query is None else (keys @ query[..., None])[..., 0]
        return energies / self.scale

    def replay(self, states: AnySignal, mask: Tensor, query: Tensor | None = None) -> AnySignal:
        """A product with the query, a softmax."""
        keys = states.linear(self.keys)
        return self.replayed_weights(keys.map(lambda e: self.energies(e, query)), mask)


class UniformNetwork(EnergyNetwork):
    """1/T."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.keys = nn.Linear(size, 1, bias=False).requires_grad_(False)

    def energies(self, keys: Tensor, query: Tensor | None = None) -> Tensor:
        """The same for every real token."""
        return keys.new_zeros(keys.shape[:-1])

    def replay(self, states: AnySignal, mask: Tensor, query: Tensor | None = None) -> AnySignal:
        """The same, whatever the states."""
        return states.map(lambda s: 0 * s[..., 0]).softmax(mask)


class RandomNetwork(AttentionNetwork):
    """u_t / Σ u, with u from U(0, 1): of the model's seed, the instance and the token; new in training."""

    asks_the_instance = True
    seed: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.keys = nn.Linear(size, 1, bias=False).requires_grad_(False)
        self.register_buffer("seed", torch.randint(2**31, ()))

    def weigh(self, keys: Tensor, mask: Tensor, query: Tensor | None = None) -> Tensor:
        """New weights in every pass of training, always the same after it."""
        if self.training:
            # From torch's generator, which the loop seeds: hashing and asking for a number would make a GPU wait.
            drawn = 1.0 - torch.rand(keys.shape[:-1], dtype=keys.dtype, device=keys.device)
        else:
            drawn = self._drawn(mask, query).to(keys.dtype)
        drawn = torch.where(mask, drawn, 0.0).expand(keys.shape[:-1])
        return drawn / drawn.sum(-1, keepdim=True).clamp(min=torch.finfo(drawn.dtype).tiny)

    def _drawn(
        self, mask: Bool[Tensor, "*#batch token"], query: Shaped[Tensor, "*#batch query"] | None
    ) -> Float[Tensor, "*batch token"]:
        """The numbers before they are normalised, counted along the real tokens."""
        if query is None:
            raise InputError("Attention 'random' needs the instances' keys, and was asked with none.")
        shape = torch.broadcast_shapes(query.shape[:-1], mask.shape[:-1])
        keys, masks = query[..., 0].expand(shape).flatten(), mask.expand(*shape, -1).reshape(-1, mask.shape[-1])
        drawn = uniforms(keys, 1, masks.shape[1], int(self.seed), "attention", masks)
        # Above zero, so that no text of one token is left without weight.
        return (1.0 - drawn).view(*shape, -1)

    def replay(self, states: AnySignal, mask: Tensor, query: Tensor | None = None) -> AnySignal:
        """The same, whatever the states."""
        energies = self._drawn(mask, query).log()
        return states.map(lambda s: 0 * s[..., 0]).settled(energies).softmax(mask)
