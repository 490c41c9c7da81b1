"""Members over real texts with planted words: trained ones, and some that are written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from attentest.calibration.families.hand_built import HandBuilt
from attentest.calibration.families.recipes import RECIPES
from attentest.calibration.families.trained import DIAL, Trained
from attentest.calibration.member import Member
from attentest.data.worlds.shortcuts import SHORTCUTS

__all__ = ["FAMILY", "HandBuiltOverReal", "TrainedOnPlanted", "members"]

FAMILY = "planted"
#: Texts of 17 to 40 words.
TEXTS = {"sst": "", "imdb": ", length=40", "ag_news": "", "snli": ""}
#: Who can learn which shortcut: words read one by one, or a few at once, do not tell which of two comes first.
BILSTM = ("bilstm, additive", "bilstm, dot")
ANY = ("bilstm, additive", "average, additive", "convolution, additive")
LEARNS = {"token": ANY, "context": ANY, "pair": BILSTM}
TRAINED_ON = 2000
#: Mechanisms that pass over real words: of faithful, misleading and mixed attention.
MECHANISMS = ("own / deciding", "own / others", "own / mixed", "gather / last", "leak / others", "level / arbitrary")


@dataclass(frozen=True)
class TrainedOnPlanted(Trained):
    """A small model, trained on real texts in which planted words decide."""

    family: ClassVar[str] = FAMILY


@dataclass(frozen=True)
class HandBuiltOverReal(HandBuilt):
    """A model of one mechanism that reads planted words and passes over the real ones."""

    family: ClassVar[str] = FAMILY


def members(*, quick: bool) -> Iterator[Member]:
    """Trained on every corpus and shortcut, and mechanisms in turn; none where it has to be quick.

    The corpora must be on this machine; a member whose corpus is not there says how to get it.
    """
    if quick:
        return
    for corpus, kind in product(TEXTS, SHORTCUTS):
        for model in LEARNS[kind]:
            yield TrainedOnPlanted(model, _world(corpus, kind), DIAL, TRAINED_ON)
    kinds = tuple(SHORTCUTS)
    for number, mechanism in enumerate(MECHANISMS):
        recipe = RECIPES[mechanism]
        for place, corpus in enumerate(("sst", "imdb", "ag_news")):
            value = recipe.values[(place + number) % len(recipe.values)]
            yield HandBuiltOverReal(mechanism, _world(corpus, kinds[(place + number) % 3]), recipe.dial, value)


def _world(corpus: str, kind: str) -> str:
    return f"planted-{corpus}(kind='{kind}'{TEXTS[corpus]})"
