"""An architecture: every choice that makes a network, apart from its vocabulary and its classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attentest.errors import InputError
from attentest.models.attention import ATTENTIONS, Additive, Attention
from attentest.models.encoders import ENCODERS, BiLSTM, Encoder
from attentest.models.heads import HEADS, Head
from attentest.registry import text_of

__all__ = ["STRUCTURES", "Architecture"]

#: "flat": one attention over the words of a text; "hierarchical": one over the words of each sentence, one over these.
STRUCTURES = ("flat", "hierarchical")


@dataclass(frozen=True)
class Architecture:
    """The parts of a network, and how they are put together."""

    encoder: Encoder = field(default_factory=BiLSTM)
    attention: Attention = field(default_factory=Additive)
    #: None: one sigmoid for two classes, a softmax for more.
    head: Head | None = None
    embedding: int = 300
    structure: str = "flat"

    def __post_init__(self) -> None:
        if self.structure not in STRUCTURES:
            raise InputError(f"structure={self.structure!r} must be one of {', '.join(STRUCTURES)}.")

    @property
    def sites(self) -> tuple[str, ...]:
        """Where such a network attends; the last attention before the output comes first."""
        return ("word",) if self.structure == "flat" else ("sentence", "word")

    def to_record(self) -> dict[str, Any]:
        """As plain values for run.json."""
        head = None if self.head is None else text_of(self.head)
        return {
            "encoder": text_of(self.encoder),
            "attention": text_of(self.attention),
            "head": head,
            "embedding": self.embedding,
            **({} if self.structure == "flat" else {"structure": self.structure}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Architecture:
        """From the plain values of run.json."""
        head = record.get("head")
        return cls(
            ENCODERS.parse(record["encoder"]),
            ATTENTIONS.parse(record["attention"]),
            None if head is None else HEADS.parse(head),
            int(record["embedding"]),
            record.get("structure", "flat"),
        )
