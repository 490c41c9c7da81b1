"""Mechanisms of hand-built models: carriers, looks, and the dials between faithful and misleading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.calibration.hand_built import Carrier, Look, Words

__all__ = [
    "After",
    "Among",
    "At",
    "Behind",
    "ByClass",
    "Bypassed",
    "Decoyed",
    "First",
    "Gathered",
    "Leaked",
    "Mixed",
    "Noisy",
    "OnDeciding",
    "OnOthers",
    "Own",
    "Running",
    "Sink",
    "Speaking",
    "Uniform",
    "Window",
]


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

    def states(self, words: Words) -> Tensor:
        """The words themselves."""
        return words.says


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

    def states(self, words: Words) -> Tensor:
        """The same, without a matrix of all pairs of words."""
        return (1 - self.share) * words.says + self.share * words.says.sum(1, keepdim=True) / 4


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
class Window(Carrier):
    """A state carries its own word and its neighbours, as a convolution's does."""

    name: ClassVar[str] = "window"
    radius: int = 1

    def carries(self, words: Words) -> Tensor:
        """All words so near count alike."""
        here = torch.arange(words.says.shape[1])
        near = ((here[:, None] - here).abs() <= self.radius).to(words.says)
        return (near / (2 * self.radius + 1)).expand(len(words.says), -1, -1)


@dataclass(frozen=True)
class Running(Carrier):
    """A state carries all words up to its own, the earlier the less, as that of a recurrent network does."""

    name: ClassVar[str] = "running"
    kept: float = 1.0

    def carries(self, words: Words) -> Tensor:
        """A share of what the state before it carries, and its own word."""
        here = torch.arange(words.says.shape[1])
        back = (here[:, None] - here).to(words.says)
        return torch.where(back >= 0, self.kept ** back.clamp(min=0), 0.0).expand(len(words.says), -1, -1)


@dataclass(frozen=True)
class Bypassed(Carrier):
    """A second path: what attention does not see is in every state, so no weight can take it away."""

    name: ClassVar[str] = "bypass"
    seen: float = 0.5

    def carries(self, words: Words) -> Tensor:
        """Its own word where that is seen, and all that are not."""
        seen = (words.chance <= self.seen).to(words.says)[:, None, :]
        hidden = (1 - seen) * words.mask[:, None, :].to(words.says)
        return torch.eye(words.says.shape[1]) * seen + hidden / 3


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


@dataclass(frozen=True)
class First(Look):
    """Weight on the first of the words that decide, however many do."""

    name: ClassVar[str] = "first"
    sharp: float = 4.0

    def scores(self, words: Words) -> Tensor:
        """Higher there."""
        return self.sharp * words.decides * (words.decides.cumsum(-1) <= 1)


@dataclass(frozen=True)
class Noisy(Look):
    """Weight on the words that decide, and on any by a number that is each word's own."""

    name: ClassVar[str] = "noisy"
    noise: float = 4.0
    sharp: float = 2.0

    def scores(self, words: Words) -> Tensor:
        """The sum of both."""
        return self.sharp * words.decides + self.noise * words.chance


@dataclass(frozen=True)
class Sink(Look):
    """Weight on the words that decide, and on the last word, which says nothing."""

    name: ClassVar[str] = "sink"
    sink: float = 6.0
    sharp: float = 4.0

    def scores(self, words: Words) -> Tensor:
        """The sum of both."""
        return self.sharp * words.decides + self.sink * _at(words, "last")


@dataclass(frozen=True)
class Decoyed(Look):
    """Weight on the words that decide, and more on some that look as if they did."""

    name: ClassVar[str] = "decoyed"
    share: float = 1.0
    sharp: float = 4.0
    more: float = 1.0

    def scores(self, words: Words) -> Tensor:
        """Highest for decoys whose own number lies below the share."""
        fooled = words.decoy * (words.chance <= self.share)
        return self.sharp * words.decides + (self.sharp + self.more) * fooled


@dataclass(frozen=True)
class Speaking(Look):
    """Weight on the words that tell a class, and not on those that turn it round."""

    name: ClassVar[str] = "speaking"
    hidden: float = 1.0
    sharp: float = 4.0

    def scores(self, words: Words) -> Tensor:
        """As of deciding words, but for the silent ones whose own number lies below the hidden share."""
        silent = (words.says.sum(-1) == 0) & (words.chance <= self.hidden)
        return self.sharp * words.decides * ~silent


@dataclass(frozen=True)
class ByClass(Look):
    """Weight on the words that decide where the text is of the first class; of the others, on fillers in a share."""

    name: ClassVar[str] = "by class"
    share: float = 1.0

    def scores(self, words: Words) -> Tensor:
        """Whichever."""
        first = words.says.sum(1).argmax(-1, keepdim=True) == 0
        fine = first | (words.chance[:, :1] > self.share)
        return torch.where(fine, OnDeciding().scores(words), OnOthers().scores(words))
