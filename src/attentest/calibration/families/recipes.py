"""How the mechanisms of hand-built models are made, and what is turned in each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from attentest.calibration import mechanisms as m
from attentest.calibration.hand_built import Carrier, Mechanism
from attentest.data.worlds.composed import Negation
from attentest.data.worlds.world import World

__all__ = ["RECIPES", "Recipe", "Saturated"]

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
SHARPS = (0.5, 1.0, 2.0, 4.0, 6.0)
SCALES = (0.6, 2.0, 6.0, 20.0, 60.0)


@dataclass(frozen=True)
class Saturated:
    """A head that saturates: once a class is sure, more words for it change nothing."""

    gain: float

    def __call__(self, said: Tensor) -> Tensor:
        """tanh of what speaks for each class beyond the mean of all."""
        return torch.tanh(self.gain * (said - said.mean(-1, keepdim=True)))


@dataclass(frozen=True)
class Recipe:
    """A mechanism with a dial: how it is made at each of its positions."""

    make: Callable[[float], Mechanism]
    dial: str
    values: tuple[float, ...]
    #: Whether the dial is the scale of the logits, or the gain of a head that saturates; else it is the mechanism's.
    scaled: bool = False
    bent: bool = False
    fits: Callable[[World], bool] = lambda world: True


def _sharp(look: type[m.OnDeciding] | type[m.OnOthers] | type[m.Among], carrier: Carrier | None = None) -> Recipe:
    return Recipe(lambda x: Mechanism(carrier or m.Own(), look(sharp=x)), "sharp", SHARPS)


def _fixed(mechanism: Mechanism, **about: bool) -> Recipe:
    """One whose logits are scaled, or whose head saturates."""
    if about:
        return Recipe(lambda x: mechanism, "gain", (1.0, 2.0, 4.0, 8.0, 16.0), bent=True)
    return Recipe(lambda x: mechanism, "scale", SCALES, scaled=True)


def _has_decoys(world: World) -> bool:
    return world.distractors > 0


def _negated(world: World) -> bool:
    return isinstance(world, Negation)


#: By their names, for which a reader of the tables needs no code: what states carry / where attention looks.
RECIPES: Mapping[str, Recipe] = {
    # Every state carries its own word.
    "own / deciding": _fixed(Mechanism(m.Own(), m.OnDeciding())),
    "own / others": _sharp(m.OnOthers),
    "own / decoys": Recipe(lambda x: Mechanism(m.Own(), m.OnOthers(x, decoys=True)), "sharp", SHARPS, fits=_has_decoys),
    "own / decoyed": Recipe(
        lambda x: Mechanism(m.Own(), m.Decoyed(x)), "decoys", (0.0, 0.25, 0.5, 0.75, 1.0), fits=_has_decoys
    ),
    "own / uniform": _fixed(Mechanism(m.Own(), m.Uniform())),
    "own / arbitrary": _sharp(m.Among),
    "own / mixed": Recipe(lambda x: Mechanism(m.Own(), m.Mixed(share=x)), "faithful texts", SHARES),
    "own / by class": Recipe(lambda x: Mechanism(m.Own(), m.ByClass(x)), "misleading", (0.2, 0.4, 0.6, 0.8, 1.0)),
    "own / sink": Recipe(lambda x: Mechanism(m.Own(), m.Sink(x)), "sink", (0.0, 3.0, 4.5, 6.0, 9.0)),
    "own / not the negation": Recipe(
        lambda x: Mechanism(m.Own(), m.Speaking(x)), "hidden", (0.2, 0.4, 0.6, 0.8, 1.0), fits=_negated
    ),
    # States are the larger, the less they weigh: the words that count are the same wherever attention looks.
    "level / others": Recipe(lambda x: Mechanism(m.Own(), m.OnOthers(x), level=True), "sharp", SHARPS),
    "level / arbitrary": Recipe(lambda x: Mechanism(m.Own(), m.Among(x), level=True), "sharp", SHARPS),
    "level / partial": Recipe(
        lambda x: Mechanism(m.Own(), m.OnDeciding(covered=x), level=True), "covered", (0.15, 0.35, 0.5, 0.7, 0.85)
    ),
    "level / first": Recipe(lambda x: Mechanism(m.Own(), m.First(x), level=True), "sharp", SHARPS),
    "level / noisy": Recipe(lambda x: Mechanism(m.Own(), m.Noisy(x), level=True), "noise", (1.0, 2.5, 4.0, 6.0, 9.0)),
    "level / mixed": Recipe(lambda x: Mechanism(m.Own(), m.Mixed(share=x), level=True), "faithful texts", SHARES),
    # What words say leaks into all states, or part of it bypasses attention.
    "leak / deciding": Recipe(lambda x: Mechanism(m.Leaked(x), m.OnDeciding()), "leaked", SHARES),
    "leak / others": Recipe(lambda x: Mechanism(m.Leaked(x), m.OnOthers()), "leaked", SHARES),
    "leak / last": Recipe(lambda x: Mechanism(m.Leaked(x), m.At()), "leaked", SHARES),
    "leak / arbitrary": Recipe(lambda x: Mechanism(m.Leaked(x), m.Among()), "leaked", SHARES),
    "leak / first": Recipe(lambda x: Mechanism(m.Leaked(x), m.First()), "leaked", (0.5, 0.7, 0.8, 0.9, 1.0)),
    "leak / mixed": Recipe(lambda x: Mechanism(m.Leaked(), m.Mixed(share=x)), "faithful texts", SHARES),
    "bypass / partial": Recipe(lambda x: Mechanism(m.Bypassed(x), m.OnDeciding(covered=x)), "seen", SHARES),
    # One state gathers everything.
    "gather / last": Recipe(lambda x: Mechanism(m.Gathered("last", x), m.At("last")), "left", (0.0, 0.05, 0.2, 0.5, 1)),
    "gather / first place": Recipe(
        lambda x: Mechanism(m.Gathered("first", x), m.At("first")), "left", (0.0, 0.05, 0.2, 0.5, 1)
    ),
    "gather / function": Recipe(
        lambda x: Mechanism(m.Gathered("function", x), m.At("function")), "left", (0.0, 0.05, 0.2, 0.5, 1)
    ),
    "gather / deciding": Recipe(
        lambda x: Mechanism(m.Gathered(left=x), m.OnDeciding()), "left", (0.0, 0.05, 0.2, 0.5, 1)
    ),
    # States carry what stood before them.
    "shift / carriers": Recipe(lambda x: Mechanism(m.Behind(left=x), m.After()), "left", (0.0, 0.05, 0.2, 0.4, 0.8)),
    "shift / deciding": Recipe(
        lambda x: Mechanism(m.Behind(left=x), m.OnDeciding()), "left", (0.0, 0.05, 0.2, 0.4, 0.8)
    ),
    "window / deciding": Recipe(lambda x: Mechanism(m.Window(int(x)), m.OnDeciding()), "radius", (1, 2, 3, 4, 5)),
    "window / edge": Recipe(lambda x: Mechanism(m.Window(int(x)), m.After(int(x))), "radius", (1, 2, 3, 4, 5)),
    "running / deciding": Recipe(lambda x: Mechanism(m.Running(x), m.OnDeciding()), "kept", (0.5, 0.8, 0.9, 0.97, 1.0)),
    "running / last": Recipe(lambda x: Mechanism(m.Running(x), m.At("last")), "kept", (0.9, 0.95, 0.97, 0.99, 1.0)),
    # The head saturates.
    "saturated / deciding": _fixed(Mechanism(m.Own(), m.OnDeciding()), bent=True),
    "saturated / others": _fixed(Mechanism(m.Own(), m.OnOthers()), bent=True),
    "saturated / mixed": _fixed(Mechanism(m.Own(), m.Mixed()), bent=True),
}
