"""The named preparations of a declared corpus: the paper's, its released code's, another paper's."""

from __future__ import annotations

from attentest.data.corpora.declared import Declared
from attentest.errors import UnknownName

__all__ = ["names_of", "with_preset"]

#: Where a declaration does not say otherwise, both are the default preparation.
USUAL = ("paper", "released")


def with_preset(corpus: type[Declared], name: str) -> Declared:
    """The corpus prepared in that way."""
    if name not in (*USUAL, *corpus.presets):
        raise UnknownName(f"preset of corpus {corpus.name!r}", name, {*USUAL, *corpus.presets})
    return corpus(**corpus.presets.get(name, {}))


def names_of(declared: Declared) -> tuple[str, ...]:
    """The presets that come to this very preparation."""
    corpus = type(declared)
    return tuple(name for name in dict.fromkeys((*USUAL, *corpus.presets)) if with_preset(corpus, name) == declared)
