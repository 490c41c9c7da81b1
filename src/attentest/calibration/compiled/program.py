"""What a compiled transformer does, layer by layer: which head looks where, and what it moves.

A program speaks of named features of the residual stream. A head's score of a key by a query is a sum of products of a
feature of each; what it finds it adds to other features. A unit of the feed-forward part adds where a sum of features
is positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Head", "Layer", "Match", "Move", "Program", "Unit"]


@dataclass(frozen=True)
class Match:
    """Adds ``strength`` × the query's feature × the key's to a score."""

    strength: float
    query: str
    key: str


@dataclass(frozen=True)
class Move:
    """Adds a feature of what is attended to to a feature of the row."""

    source: str
    target: str
    scale: float = 1.0


@dataclass(frozen=True)
class Head:
    """Where it looks, and what it moves."""

    matches: tuple[Match, ...]
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True)
class Unit:
    """Adds ``writes`` × the sum of ``reads`` and the bias, where that is positive."""

    reads: Mapping[str, float]
    bias: float
    writes: Mapping[str, float]


@dataclass(frozen=True)
class Layer:
    """Heads side by side, then units."""

    heads: tuple[Head, ...]
    units: tuple[Unit, ...] = ()


@dataclass(frozen=True)
class Program:
    """The layers; the answer is what they leave in ``answer.0``, ``answer.1`` … of [CLS], times the scale."""

    layers: tuple[Layer, ...]
    #: The attention that is audited, such as ``layer 2 head 1``.
    site: str
    scale: float = 6.0
    #: Features of words beside those of the world.
    words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def features(self) -> set[str]:
        """All that it speaks of."""
        named = set[str]()
        for layer in self.layers:
            for head in layer.heads:
                named |= {name for match in head.matches for name in (match.query, match.key)}
                named |= {name for move in head.moves for name in (move.source, move.target)}
            for unit in layer.units:
                named |= {*unit.reads, *unit.writes}
        return named
