"""The corpora attentest knows by name."""

from __future__ import annotations

from typing import ClassVar, Protocol

from attentest.data.corpora.reviews import Reviews
from attentest.data.corpora.sst import SST
from attentest.data.corpus import Corpus
from attentest.registry import Named, Registry

__all__ = ["CORPORA", "CorpusSource"]


class CorpusSource(Named, Protocol):
    """A named corpus: its fields say how it is prepared, ``load`` prepares it."""

    summary: ClassVar[str]
    licence: ClassVar[str]
    citation: ClassVar[str]

    def load(self) -> Corpus:
        """The corpus with its splits."""
        ...


CORPORA: Registry[CorpusSource] = Registry("corpus", {"reviews": Reviews, "sst": SST}, plural="corpora")
