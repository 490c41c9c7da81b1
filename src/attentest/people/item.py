"""An item: what an annotator sees, and apart from it what an annotator must not see.

``Item.seen`` is all that may leave for a browser. Condition, text, truth and whether the item is a check stay here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["COVERED", "Choice", "Hidden", "Item", "Kind", "Panel", "Shown", "item_from", "item_id"]

#: "item" counts; "check" asks for a named answer; "gold" has a planted truth. The last two are in no figure.
Kind = Literal["item", "check", "gold"]
#: Stands for words that an annotator must not read, however many they are.
COVERED = "…"


@dataclass(frozen=True)
class Choice:
    """An answer that can be given: what is stored, what is read, and the key that gives it."""

    value: str
    words: str
    key: str


@dataclass(frozen=True)
class Panel:
    """A text with some words marked, or with a shade from 0 to 1 for every word."""

    tokens: tuple[str, ...]
    marked: tuple[int, ...] = ()
    shades: tuple[float, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Shown:
    """What an annotator sees."""

    panels: tuple[Panel, ...]
    question: str
    choices: tuple[Choice, ...]
    #: What the model predicts; "": not shown.
    prediction: str = ""
    #: What the text is asked with: a question, a hypothesis; "": nothing.
    second: str = ""


@dataclass(frozen=True)
class Hidden:
    """What an annotator must not see."""

    condition: str
    #: The id of the text in the run.
    text: str
    kind: Kind = "item"
    #: The choice that is right, where answers can be right; "" where they cannot.
    truth: str = ""
    #: What somebody would answer who knows the planted truth and nothing else; "" where that leaves a guess.
    planted: str = ""
    #: What tables need beside it: whether the prediction is correct, what stands left and right.
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """One thing to answer."""

    id: str
    shown: Shown
    hidden: Hidden

    def seen(self) -> dict[str, Any]:
        """All that an annotator's page may be sent, as plain values."""
        return {"id": self.id, **asdict(self.shown)}

    def record(self) -> dict[str, Any]:
        """All of it, as plain values."""
        return asdict(self)

    def choice(self, value: str) -> Choice | None:
        """The choice of this value."""
        return next((choice for choice in self.shown.choices if choice.value == value), None)


def item_id(seed: int, number: int) -> str:
    """An id that tells nothing of the item's condition or place."""
    return hashlib.sha256(f"{seed} item {number}".encode()).hexdigest()[:12]


def item_from(record: Mapping[str, Any]) -> Item:
    """The item that a record holds."""
    shown, hidden = record["shown"], record["hidden"]
    panels = tuple(
        Panel(tuple(p["tokens"]), tuple(p["marked"]), tuple(p["shades"]), p["title"]) for p in shown["panels"]
    )
    choices = tuple(Choice(**choice) for choice in shown["choices"])
    return Item(
        record["id"],
        Shown(panels, shown["question"], choices, shown["prediction"], shown["second"]),
        Hidden(**hidden),
    )
