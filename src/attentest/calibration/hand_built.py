"""Models written by hand: what each word says, which states carry it, and where attention looks, apart from each other.

A model's answer is Σ α_t h_t. What word s says, u_s, is fixed by the world, so every model here is right. A mechanism
says which states carry it, h_t = Σ_s R_ts u_s, and which states are weighed. So two models may attend alike and use
other words, or use the same words and attend elsewhere, and what is true of each is known by intervention.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attentest.data.vocabulary import SPECIAL, Vocabulary
from attentest.data.worlds.composed import KEEPS, TURNS, Conjunction, Negation, Order
from attentest.data.worlds.planted import Planted
from attentest.data.worlds.shortcuts import WITH, WITHOUT, Context, Pair
from attentest.data.worlds.simple import EACH, AnyOf, told
from attentest.data.worlds.world import World, invented
from attentest.models.custom.own_model import OwnModel, subject_of_functions

__all__ = ["Carrier", "Look", "Mechanism", "Reader", "Words", "built"]


@dataclass(frozen=True)
class Words:
    """What a hand-built model sees of a batch: features of words, [batch, word]."""

    says: Float[Tensor, "batch word class"]
    #: Which words decide, look as if they did, end the text; a number between 0 and 1 that is each word's own.
    decides: Float[Tensor, "batch word"]
    decoy: Float[Tensor, "batch word"]
    end: Float[Tensor, "batch word"]
    chance: Float[Tensor, "batch word"]
    mask: Bool[Tensor, "batch word"]


class Reader:
    """Features of a world's words, and what they say."""

    def __init__(self, world: World | Planted, vocabulary: Vocabulary) -> None:
        self.classes = len(world.classes)
        self.turned = isinstance(world, Negation)
        self.ordered = isinstance(world, Order) or (isinstance(world, Planted) and world.kind == Pair.name)
        votes = votes_of(world)
        deciding = {*votes, *((*TURNS, *KEEPS) if self.turned else ())}
        decoys = invented("decoy", 0, 12)
        self.words = {word: place for place, word in enumerate(vocabulary.words)}
        table = torch.zeros(len(vocabulary.words), self.classes + 5)
        for word, place in self.words.items():
            if word in votes:
                number, strength = votes[word]
                table[place, number] = strength
            about = (word in deciding, word in decoys, word == ".", word_chance(word), word in TURNS)
            if word not in SPECIAL:
                table[place, self.classes :] = torch.tensor([float(value) for value in about])
        self.table = table

    def read(self, embedded: Float[Tensor, "batch word feature"], mask: Bool[Tensor, "batch word"]) -> Words:
        """The features of a batch."""
        says = embedded[..., : self.classes]
        decides, decoy, end, chance, turns = embedded[..., self.classes :].unbind(-1)
        if self.turned:
            before = nn.functional.pad(turns, (1, 0))[:, :-1, None]
            says = says * (1 - before) + says.flip(-1) * before
        if self.ordered:  # the first word of the pair tells: one that has no cue before it
            cue = says.sum(-1)
            before = (cue.cumsum(-1) - cue).clamp(max=1.0)
            says = says * (1 - before[..., None])
        return Words(says * mask[..., None], decides * mask, decoy * mask, end * mask, chance, mask)


def votes_of(world: World | Planted) -> dict[str, tuple[int, float]]:
    """For which class each word speaks, and how strongly, so that the sum of all is right."""
    if isinstance(world, AnyOf):
        quiet = 0.6 / (world.redundancy - 1)
        return {word: (1 - side, (1.0, quiet)[side]) for side in (0, 1) for word in invented("trigger", side, EACH)}
    if isinstance(world, Conjunction):
        return {
            word: (1 - side % 2, (0.7, 1.0)[side % 2]) for side in range(4) for word in invented("trigger", side, EACH)
        }
    votes = {word: (number, 1.0) for word, number in told(len(world.classes)).items()}
    if isinstance(world, Planted) and world.kind == Context.name:
        if len(world.classes) > 2:
            raise ValueError("a sum of votes says which of two classes a word tells in its context, not of more")
        votes |= dict.fromkeys((*invented("cue", 1, EACH), *WITH), (1, 0.7))
        votes |= dict.fromkeys(WITHOUT, (0, 1.0))
    return votes


def word_chance(word: str) -> float:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big") / 2**32


class Carrier(ABC):
    """Which states carry what words say."""

    name: ClassVar[str]

    @abstractmethod
    def carries(self, words: Words) -> Float[Tensor, "batch state word"]:
        """How much of each word each state carries."""

    def states(self, words: Words) -> Float[Tensor, "batch state class"]:
        """What each state says."""
        return self.carries(words) @ words.says


class Look(ABC):
    """Which states are weighed."""

    name: ClassVar[str]

    @abstractmethod
    def scores(self, words: Words) -> Float[Tensor, "batch state"]:
        """What attention's softmax is taken of."""


@dataclass(frozen=True)
class Mechanism:
    """A carrier and a look."""

    carrier: Carrier
    look: Look
    #: Whether states are the larger, the less they weigh, so that every word counts alike wherever attention looks.
    level: bool = False

    @property
    def name(self) -> str:
        """Both, by their names."""
        return f"{'level ' * self.level}{self.carrier.name} / {self.look.name}"


def built(
    mechanism: Mechanism,
    world: World | Planted,
    vocabulary: Vocabulary,
    *,
    scale: float = 6.0,
    bend: Callable[[Tensor], Tensor] | None = None,
) -> OwnModel:
    """The model of a mechanism in a world, with its answers multiplied by ``scale``; ``bend`` bends its affine head."""
    reader = Reader(world, vocabulary)

    def encode(embedded: Tensor, mask: Tensor) -> Tensor:
        words = reader.read(embedded, mask)
        states, scores = mechanism.carrier.states(words), mechanism.look.scores(words)
        if mechanism.level:
            share = weighed(scores, mask) * mask.sum(-1, keepdim=True)
            states = states / share.clamp(min=1e-6)[..., None]
        return torch.cat([states, scores[..., None]], dim=-1)

    def weighed(scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)

    def attend(states: Tensor, mask: Tensor) -> Tensor:
        return weighed(states[..., -1], mask)

    def decode(context: Tensor) -> Tensor:
        said = context[..., :-1]
        return scale * (said if bend is None else bend(said))

    return subject_of_functions(
        encode,
        attend,
        decode,
        embedding=nn.Embedding.from_pretrained(reader.table, padding_idx=0),
        words=reader.words,
        classes=reader.classes,
    ).over(vocabulary)
