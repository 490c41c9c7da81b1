"""A member of the calibration: a model of known truth, how it is audited, and what is put to it to know the truth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.text import Text
from attentest.models.subject import Subject
from attentest.runs.run import Run
from attentest.store.folder import RunFolder

__all__ = ["Known", "Member"]


@dataclass(frozen=True)
class Known:
    """A model, and texts whose units can be exchanged."""

    subject: Subject
    vocabulary: Vocabulary
    texts: Sequence[Text]
    #: Which of the audited texts these are, by their places in the split that was examined; None: the first ones.
    rows: Sequence[int] | None = None


@dataclass(frozen=True)
class Member(ABC):
    """A model of known truth: what is held out together with it, and where its dial stands."""

    #: How it came to be: hand-built, compiled, trained or planted.
    family: ClassVar[str]

    #: What it does, and in which world: whole mechanisms and whole worlds are held out.
    mechanism: str
    world: str
    #: What is turned from member to member of one mechanism and world, and how far; "" for one that stands alone.
    dial: str = ""
    value: float = 0.0
    seed: int = 0

    @property
    def name(self) -> str:
        """All that tells it from the others."""
        dial = f", {self.dial}={self.value:g}" if self.dial else ""
        return f"{self.family}: {self.mechanism} in {self.world}{dial}, seed {self.seed}"

    @abstractmethod
    def run(self, challenges: Sequence[str] | None, texts: int) -> Run:
        """Its audit: of so many texts, with these challenges, or the usual ones."""

    @abstractmethod
    def known(self, folder: RunFolder, texts: int) -> Known:
        """The model after its audit, and so many of the texts that were audited."""
