"""A study of people on disk, and all that a server or a command does with it.

people.json      what was asked of whom: design, runs, seed, rules; sealed, with the sha256 of the items
items.jsonl      the items, what must not be seen included
consent.md       what annotators agree to, and
instructions.md  what they are told: both may be edited, and whoever agreed to another text is asked again
answers.sqlite   who answered what, and when
report.html      the results
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from attentest.errors import InputError, StorageError, UnknownName
from attentest.people.answers import Annotator, Answer, AnswerKind, AnswerStore, Event
from attentest.people.assignment import assigned, portions_of
from attentest.people.design import DESIGNS, Design
from attentest.people.item import Item, item_from
from attentest.store.atomic import checksum, make_folder, write_text
from attentest.store.regular import content
from attentest.store.sealed import read_sealed, sealed

__all__ = ["DEFAULT_PEOPLE", "Documents", "PeopleStudy", "Progress", "check_study_name", "find_study", "studies_in"]

DEFAULT_PEOPLE = Path("people")
RECORD, ITEMS, CONSENT, INSTRUCTIONS, ANSWERS, REPORT, SIMULATED = (
    *("people.json", "items.jsonl", "consent.md", "instructions.md", "answers.sqlite", "report.html"),
    "simulated.html",
)
#: Characters of a study's name, which stands in addresses.
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


@dataclass(frozen=True)
class Documents:
    """What an annotator reads before they begin, in Markdown; ``version`` tells this text from any other."""

    consent: str
    instructions: str

    @property
    def version(self) -> str:
        """A hash of both."""
        return hashlib.sha256(f"{self.consent}\n\f\n{self.instructions}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Progress:
    """How far an annotator is."""

    annotator: str
    done: int
    total: int
    #: Whether they agreed to the texts as these are now.
    consented: bool
    #: The item to answer next; None where all are answered.
    next: str | None
    #: The item that was answered last, which ``undo`` takes back; None where there is none.
    last: str | None

    @property
    def finished(self) -> bool:
        """Whether every item is answered."""
        return self.next is None


class PeopleStudy:
    """One study; safe to use from several threads, beside other processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._orders: dict[tuple[int, str], list[Item]] = {}
        missing = f"{path} is not a study of people: it has no {RECORD}. Make one with 'attentest people new'."
        again = "Restore it from a backup: answers belong to the items as they were."
        self.record = read_sealed(path / RECORD, ("design", "items", "seed"), missing, again)
        self.design: Design = DESIGNS.parse(self.record["design"])
        if not (path / ITEMS).is_file() or checksum(path / ITEMS) != self.record["items"]["sha256"]:
            raise StorageError(f"{path / ITEMS} is missing or was altered after it was written. {again}")

    @classmethod
    def create(cls, path: Path, record: dict[str, Any], items: list[Item], documents: Documents) -> PeopleStudy:
        """Write a new study, the record last: a folder without it is no study."""
        if (path / RECORD).exists():
            raise InputError(f"{path} already holds a study. Choose another name (--name).")
        make_folder(path)
        write_text(path / ITEMS, "".join(json.dumps(i.record(), ensure_ascii=False) + "\n" for i in items))
        write_text(path / CONSENT, documents.consent)
        write_text(path / INSTRUCTIONS, documents.instructions)
        about = {"sha256": checksum(path / ITEMS), "count": len(items)}
        write_text(path / RECORD, sealed({**record, "items": about}))
        return cls(path)

    @property
    def name(self) -> str:
        """The study's name, which is its folder's."""
        return self.path.name

    @cached_property
    def items(self) -> dict[str, Item]:
        """All items by id, in the order of the file."""
        # Other marks that end a line, as U+2028, may stand in a text.
        lines = (self.path / ITEMS).read_text("utf-8").split("\n")
        return {item.id: item for item in (item_from(json.loads(line)) for line in lines if line)}

    @cached_property
    def store(self) -> AnswerStore:
        """The answers."""
        return AnswerStore(self.path / ANSWERS)

    @property
    def portions(self) -> int:
        """Into how many parts the items are dealt that not everybody gets."""
        return int(self.record.get("portions", 1))

    @cached_property
    def _portions(self) -> dict[str, int]:
        return portions_of(list(self.items.values()), int(self.record.get("overlap", 0)), self.portions)

    def documents(self) -> Documents:
        """The texts as they are now."""
        texts = []
        for name in (CONSENT, INSTRUCTIONS):
            try:
                texts.append(content(self.path / name).decode().replace("\r\n", "\n"))
            except (OSError, ValueError) as error:
                raise StorageError(f"{self.path / name} cannot be read: write it as Markdown in UTF-8.") from error
        return Documents(*texts)

    # Who

    def invite(self, name: str) -> str:
        """A new annotator's link, which is told now and never again."""
        return self.store.add(name, "person", self.portions)[1]

    def annotator(self, link: str) -> Annotator:
        """The annotator whose link it is."""
        found = self.store.linked(link)
        if found is None:
            raise UnknownName("link of this study", f"{link[:6]}…", ["(ask whoever invited you for a new one)"])
        return found

    def assigned(self, annotator: Annotator) -> list[Item]:
        """The items of an annotator, in their order."""
        key = annotator.portion, annotator.name
        if key not in self._orders:
            self._orders[key] = assigned(list(self.items.values()), self._portions, *key, int(self.record["seed"]))
        return self._orders[key]

    def portion(self, portion: int) -> list[Item]:
        """The items of one portion, with those that everybody gets, in the order of the file."""
        return [item for item in self.items.values() if self._portions[item.id] in (-1, portion)]

    # What a page does

    def progress(self, annotator: Annotator) -> Progress:
        """How far an annotator is, wherever they answered."""
        own, given = self.assigned(annotator), self.store.given(annotator)
        done = [item for item in own if item.id in given]
        following = next((item.id for item in own if item.id not in given), None)
        last = max(given.values(), key=lambda event: event.id).item if given else None
        return Progress(annotator.name, len(done), len(own), self.has_consented(annotator), following, last)

    def next(self, annotator: Annotator) -> Item | None:
        """The item to answer next; None where all are answered."""
        following = self.progress(annotator).next
        return None if following is None else self.items[following]

    def item(self, annotator: Annotator, item: str) -> Item:
        """One of an annotator's own items."""
        if item not in self.items or self._portions[item] not in (-1, annotator.portion):
            raise UnknownName("item of yours", item[:40], ["(open your link again)"])
        return self.items[item]

    def answer(
        self, annotator: Annotator, item: str, choice: str, nonce: str, seconds: float | None = None
    ) -> Progress:
        """Store an answer, or another one in its place; when this returns it is on disk.

        ``nonce`` is made up by the page for every answer and sent again with it after a lost acknowledgement: what was
        sent twice counts once.
        """
        if not self.has_consented(annotator):
            raise InputError("Read the texts and agree before you answer.")
        asked = self.item(annotator, item)
        if asked.choice(choice) is None:
            known = ", ".join(each.value for each in asked.shown.choices)
            raise InputError(f"{choice[:40]!r} is no answer to this item. There are: {known}.")
        self.store.answer(annotator, item, choice, nonce, seconds)
        return self.progress(annotator)

    def undo(self, annotator: Annotator, nonce: str) -> Progress:
        """Take back the last answer that counts; its item is asked again. The history keeps both."""
        self.store.undo(annotator, nonce)
        return self.progress(annotator)

    def given(self, annotator: Annotator) -> dict[str, Event]:
        """By item, the answers of an annotator that count."""
        return self.store.given(annotator)

    def has_consented(self, annotator: Annotator) -> bool:
        """Whether they agreed to the texts as these are now; a program need not."""
        return annotator.kind != "person" or self.documents().version in self.store.consents(annotator)

    def consent(self, annotator: Annotator, version: str) -> Progress:
        """Record that an annotator agreed to the texts of this version, which must be the present one."""
        documents = self.documents()
        if version != documents.version:
            raise InputError("The texts were changed since you opened them. Read them again, please.")
        self.store.consent(annotator, version, f"{documents.consent}\n\f\n{documents.instructions}")
        return self.progress(annotator)

    def forget(self, annotator: Annotator) -> int:
        """Delete an annotator and all they answered, for good, and the report, which may show it."""
        gone = self.store.forget(annotator)
        (self.path / REPORT).unlink(missing_ok=True)
        return gone

    def answers(self, kind: AnswerKind | None = None) -> list[Answer]:
        """Every answer that counts."""
        return self.store.answers(kind)

    def close(self) -> None:
        """Let the file of answers go."""
        if "store" in self.__dict__:
            self.store.close()

    def __enter__(self) -> PeopleStudy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_study_name(name: str) -> str:
    """A name that can stand in an address and be a folder."""
    if not name or not set(name) <= PLAIN or name[0] in ".-" or len(name) > 60:
        raise InputError(
            f"{name[:60]!r} cannot be a study's name: write up to 60 letters, digits, dots, hyphens or underscores."
        )
    return name


def studies_in(root: Path) -> Iterator[Path]:
    """The folders of all studies below a folder, the one touched last first."""
    found = [path.parent for path in root.glob(f"*/{RECORD}")]
    yield from sorted(found, key=lambda path: (path / RECORD).stat().st_mtime, reverse=True)


def find_study(text: str, root: Path) -> PeopleStudy:
    """A study by its path or its name."""
    if (Path(text) / RECORD).is_file():
        return PeopleStudy(Path(text))
    names = {path.name: path for path in studies_in(root)}
    if text not in names:
        raise UnknownName(f"study of people in {root}", text[:80], names or ["(none)"])
    return PeopleStudy(names[text])
