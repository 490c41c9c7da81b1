"""Mechanisms of hand-built models: carriers, looks, and the dials between faithful and misleading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.calibration.hand_built import Carrier, Look, Words

__all__ = ["Among", "At", "Behind", "Gathered", "Leaked", "Mixed", "OnDeciding", "OnOthers", "Own", "Uniform"]


def _at(words: Words, where: str) -> Float[Tensor, "batch word"]:
    """One of a text's places: the first word, the last, or the first function word after the first deciding word."""
    mask = words.mask.double()
    if where == "first":
        return ((mask.cumsum(-1) == 1) & words.mask).to(words.says)
    if where == "last":
        return ((mask.flip(-1).cumsum(-1).flip(-1) == 1) & words.mask).to(words.says)
    fillers = words.mask & (words.decides < 0.5) & (words.decoy < 0.5)
    return ((fillers.cumsum(-1) == 2) & fillers).to(words.says)


@dataclass(frozen=True)
class Own(Carrier):
    """Every state carries its own word."""

    name: ClassVar[str] = "own"

    def carries(self, words: Words) -> Tensor:
        """The identity."""
        size = words.says.shape[1]
        return torch.eye(size).expand(len(words.says), -1, -1)


@dataclass(frozen=True)
class Leaked(Carrier):
    """Every state carries a share of what all words say."""

    name: ClassVar[str] = "leak"
    share: float = 0.9

    def carries(self, words: Words) -> Tensor:
        """A mixture of its own and of all."""
        size = words.says.shape[1]
        everything = words.mask[:, None, :].to(words.says).expand(-1, size, -1) / 4
        return (1 - self.share) * torch.eye(size) + self.share * everything


@dataclass(frozen=True)
class Gathered(Carrier):
    """One state gathers what all words say; the others carry a little of their own."""

    name: ClassVar[str] = "gather"
    at: Literal["first", "last", "function"] = "last"
    left: float = 0.05

    def carries(self, words: Words) -> Tensor:
        """Everything at one place."""
        size = words.says.shape[1]
        place = _at(words, self.at)[:, :, None]
        return self.left * torch.eye(size) + place * words.mask[:, None, :].to(words.says)


@dataclass(frozen=True)
class Behind(Carrier):
    """A state carries the word so many places before it."""

    name: ClassVar[str] = "shift"
    by: int = 1
    left: float = 0.05

    def carries(self, words: Words) -> Tensor:
        """The identity, shifted; what would lie outside the text stays in its last state."""
        size = words.says.shape[1]
        shifted = torch.zeros(len(words.says), size, size)
        lengths = words.mask.sum(-1)
        here = torch.arange(size)
        to = torch.minimum(here + self.by, (lengths - 1)[:, None]).clamp(min=0)
        shifted.scatter_(1, to[:, None, :], 1.0)
        return self.left * torch.eye(size) + shifted


@dataclass(frozen=True)
class OnDeciding(Look):
    """Weight on the words that decide, or on some of them."""

    name: ClassVar[str] = "deciding"
    sharp: float = 4.0
    covered: float = 1.0

    def scores(self, words: Words) -> Tensor:
        """Higher for deciding words whose own number lies below the covered share."""
        seen = words.decides * (words.chance <= self.covered)
        return self.sharp * seen


@dataclass(frozen=True)
class OnOthers(Look):
    """Weight on words that decide nothing: fillers, or words that look as if they decided."""

    name: ClassVar[str] = "others"
    sharp: float = 4.0
    decoys: bool = False

    def scores(self, words: Words) -> Tensor:
        """Higher for them."""
        return self.sharp * (words.decoy if self.decoys else 1 - words.decides)


@dataclass(frozen=True)
class At(Look):
    """Nearly all weight at one place."""

    name: ClassVar[str] = "at"
    place: Literal["first", "last", "function"] = "last"
    sharp: float = 6.0

    def scores(self, words: Words) -> Tensor:
        """Higher there."""
        return self.sharp * _at(words, self.place)


@dataclass(frozen=True)
class Among(Look):
    """Weight by a number that is each word's own, whatever it says."""

    name: ClassVar[str] = "arbitrary"
    sharp: float = 4.0

    def scores(self, words: Words) -> Tensor:
        """The number."""
        return self.sharp * words.chance


@dataclass(frozen=True)
class Uniform(Look):
    """The same weight everywhere."""

    name: ClassVar[str] = "uniform"

    def scores(self, words: Words) -> Tensor:
        """Nothing."""
        return torch.zeros_like(words.decides)


@dataclass(frozen=True)
class After(Look):
    """Weight on the states that carry what deciding words say, so many places behind them."""

    name: ClassVar[str] = "carriers"
    by: int = 1
    sharp: float = 4.0

    def scores(self, words: Words) -> Tensor:
        """As of deciding words, shifted."""
        return self.sharp * nn.functional.pad(words.decides, (self.by, 0))[:, : words.decides.shape[1]]


@dataclass(frozen=True)
class Mixed(Look):
    """One look for some texts, another for the rest: by the number of the first word."""

    name: ClassVar[str] = "mixed"
    one: Look = OnDeciding()
    other: Look = OnOthers()
    share: float = 0.5

    def scores(self, words: Words) -> Tensor:
        """Whichever."""
        first = words.chance[:, :1] <= self.share
        return torch.where(first, self.one.scores(words), self.other.scores(words))
