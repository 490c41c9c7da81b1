"""The corpora attentest knows by name: one file each. Whatever is declared here is found; nothing is listed."""

from __future__ import annotations

from typing import ClassVar, Protocol

from attentest.data.corpus import Corpus
from attentest.registry import Named, Registry, classes_below
from attentest.tasks import TASKS

__all__ = ["CORPORA", "CorpusSource"]


class CorpusSource(Named, Protocol):
    """A named corpus: its fields say how it is prepared, ``load`` prepares it."""

    summary: ClassVar[str]
    licence: ClassVar[str]
    citation: ClassVar[str]

    def load(self) -> Corpus:
        """The corpus with its splits."""
        ...


def _found() -> dict[str, type[CorpusSource]]:
    """Those that are generated on the spot, worlds among them, then by task."""
    from attentest.data.corpora.declared import Declared
    from attentest.data.generated import Generated

    folders = (__name__, "attentest.data.worlds")
    found = {
        name: cls for base in (Generated, Declared) for at in folders for name, cls in classes_below(at, base).items()
    }
    tasks = list(TASKS)

    def place(name: str) -> tuple[bool, int]:
        return issubclass(found[name], Declared), tasks.index(found[name].task)

    return {name: found[name] for name in sorted(found, key=place)}


CORPORA: Registry[CorpusSource] = Registry("corpus", _found, plural="corpora")
