"""What some subjects can do beyond being read and reread.

A challenge or an explainer that needs more says so in its ``needs``; that it is passed over, refused or listed follows
from that one line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch, Encoded, Sequences
from attentest.errors import NotApplicable
from attentest.models.networks.beam import Weigh, Written
from attentest.models.networks.signals import AnySignal
from attentest.models.replaced import AttentionPlace, Replacement
from attentest.models.subject import Reading, Subject

__all__ = [
    "Attends",
    "CutsWords",
    "Generates",
    "GeneratesInLayers",
    "HoldsAttention",
    "Layered",
    "Randomisable",
    "ReadsMany",
    "Replayable",
    "Selects",
    "lacking",
    "required",
]

Need = TypeVar("Need")


def lacking(needs: Iterable[type], subject: object) -> str | None:
    """What a subject lacks of this, in words; None where it has it all."""
    missing = next((need for need in needs if not isinstance(subject, need)), None)
    return None if missing is None else f"this is for {getattr(missing, 'called', missing.__name__)}"


def required(need: type[Need], subject: object, who: str, advice: str = "") -> Need:
    """The subject as what is needed of it; one that is not that is refused, with advice."""
    if not isinstance(subject, need):
        raise NotApplicable(" ".join(filter(None, (f"{who} does not apply: {lacking((need,), subject)}.", advice))))
    return subject


@runtime_checkable
class ReadsMany(Protocol):
    """Reads many texts for their logits alone, at less cost than reading each whole."""

    def logits_of_many(
        self, batch: Batch, words: Float[Tensor, "word embedding"], index: Int[Tensor, "batch position"]
    ) -> Float[Tensor, "batch class"]:
        """The logits of every text, with the embedding ``words[index]`` at each position."""


@runtime_checkable
class HoldsAttention(Protocol):
    """A subject whose rereading has no gradient at the embeddings, and that holds its attention by itself."""

    def under_own_attention(
        self, batch: Batch, rows: Int[Tensor, " point"], embeddings: Float[Tensor, "point position embedding"]
    ) -> Float[Tensor, "point class"]:
        """The logits of texts at other embeddings, every attention held at what it is for the text as it stands."""


@runtime_checkable
class CutsWords(Protocol):
    """Cuts words into pieces: what a text costs is told by these."""

    def piece_counts(self, encoded: Encoded) -> np.ndarray:
        """How many pieces each text has."""

    def pieces_that_fit(self, longest: int) -> int:
        """How many pieces may be examined at once, of texts of so many."""


class Generates(ABC):
    """Writes texts: the rows of its batches are steps of writing, and its classes are words."""

    called: ClassVar[str] = "models that write texts"

    @abstractmethod
    def translate(
        self, text: Sequences, keys: Int[Tensor, " sentence"], *, beam: int = 5, weigh: Weigh | None = None
    ) -> Written:
        """What it writes by beam search; ``weigh`` puts other weights in the place of its own at every step."""


class Layered(ABC):
    """Has many layers of attention, each of which can be replaced in every head."""

    called: ClassVar[str] = (
        "models with layers of attention: checkpoints of the Transformers library, or a Transformer decoder"
    )

    @property
    @abstractmethod
    def attention_places(self) -> tuple[AttentionPlace, ...]:
        """Every attention."""

    @abstractmethod
    def with_layers_replaced(
        self, batch: Batch, places: Sequence[int], replacement: Replacement
    ) -> Float[Tensor, "batch class"]:
        """The logits when these attentions, by their numbers among ``attention_places``, are replaced in every head."""


class GeneratesInLayers(Generates, Layered):
    """Writes texts with many layers of attention, which can be replaced while it writes."""

    called: ClassVar[str] = "a Transformer decoder"

    @abstractmethod
    def translate_with_layers_replaced(
        self,
        text: Sequences,
        keys: Int[Tensor, " sentence"],
        sets: Sequence[Sequence[int]],
        replacement: Replacement,
        *,
        beam: int = 1,
    ) -> list[Written]:
        """What it writes by itself with each of these sets of attentions replaced, side by side."""


class Attends(ABC):
    """Has an attention that can be given other states."""

    called: ClassVar[str] = "models whose attention can be given other states"

    @abstractmethod
    def attend(
        self, batch: Batch, states: Float[Tensor, "batch token state"], queries: Batch
    ) -> Float[Tensor, "batch token"]:
        """The weights its attention gives these states, real where ``batch`` has items, for those of ``queries``.

        ``queries`` has as many rows as ``batch``. A model without queries looks at the states alone.
        """

    @property
    def texts_are_queries(self) -> bool:
        """Whether the query is made of the text that is weighed, and so can be that of another text."""
        return False


class Replayable(ABC):
    """Can be replayed layer by layer, as lrp and deep_lift do."""

    called: ClassVar[str] = "models that can be replayed layer by layer"

    @abstractmethod
    def replay(self, batch: Batch, embeddings: AnySignal) -> AnySignal:
        """The logits once more, computed with signals (models/networks/signals.py)."""


class Randomisable(ABC):
    """Is made of parts whose weights can be drawn anew."""

    called: ClassVar[str] = "models whose parts can be drawn anew"

    @property
    @abstractmethod
    def parts(self) -> tuple[str, ...]:
        """The parts with learnt weights, from the output down."""

    @abstractmethod
    def randomised(self, parts: tuple[str, ...], seed: int) -> Subject:
        """The same model with these parts' weights drawn anew, as before training; the others are shared."""


class Selects(ABC):
    """Selects words and predicts from these alone."""

    called: ClassVar[str] = "models that select the words they read: train one with a selector (--selector)"

    @abstractmethod
    def kept(self, batch: Batch) -> Float[Tensor, "batch token"]:
        """How probable it is that each word is read; of a text, those above one half are, or the most probable one."""

    @abstractmethod
    def given(self, batch: Batch, chosen: Bool[Tensor, "batch token"]) -> Reading:
        """What it says when these words are read, whatever it would have selected."""
