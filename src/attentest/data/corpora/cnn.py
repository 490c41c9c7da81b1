"""CNN news articles and cloze questions with anonymised entities, as Jain & Wallace (2019) use them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import counted
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import lines
from attentest.errors import InputError
from attentest.tasks import TaskName

__all__ = ["CNN"]

#: Our split and the official folder of its questions.
FOLDERS: Mapping[str, str] = {"train": "training", "dev": "validation", "test": "test"}
ENTITY = "@entity"
JW = "Jain & Wallace 2019, Table 1"


@dataclass(frozen=True)
class CNN(Declared):
    """A news article, a sentence with @placeholder, and the entity of the article that belongs in its place.

    News articles with their entities made anonymous (`@entity7`), and a sentence with a gap. The classes are the
    entities that answer some training question; questions with another answer are left out and counted. As in Jain
    & Wallace (2019), only the entities that the article names may be chosen: every other class has a probability of
    zero.
    """

    name: ClassVar[str] = "cnn"
    summary: ClassVar[str] = "Which entity of a news article fills the gap in a sentence (CNN question answering)"
    task: ClassVar[TaskName] = "answer"
    licence: ClassVar[str] = "articles © CNN (research use)"
    citation: ClassVar[str] = "Hermann et al. 2015, Teaching machines to read and comprehend"
    homepage: ClassVar[str] = "https://cs.nyu.edu/~kcho/DMQA/"
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test")
    fields: ClassVar[tuple[str, ...]] = ("id", "context", "question", "answer")
    texts: ClassVar[tuple[str, ...]] = ("context", "question", "answer")
    min_frequency: ClassVar[int] = 8
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 380_298, JW),
        Expected("dev", "instances", 3_924, "official"),
        Expected("test", "instances", 3_198, JW),
        Expected("train", "vocabulary", 74_790, JW),
        Expected("train", "average length", 761, JW),
    )

    lowercase: Annotated[bool, "Lower case."] = True

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """questions/{training,validation,test}/*.question."""
        return {split: _questions(_folder(folder, name)) for split, name in FOLDERS.items()}

    def prepare(self, rows: Rows) -> Prepared:
        """The official splits; the classes are the entities that answer some training question."""
        entities = {row["answer"] for row in rows("train")}
        classes = sorted(entities, key=_number)
        left_out: list[str] = []
        return Prepared(
            splits={split: self._instances(split, rows(split), classes, left_out) for split in self.splits},
            classes=classes,
            preparation=f"the official tokens between white space, {'lower case' if self.lowercase else 'case kept'}, "
            "anonymised entities",
            left_out=left_out,
        )

    def _instances(
        self, split: str, rows: Iterable[Row], classes: list[str], left_out: list[str]
    ) -> Iterator[Instance]:
        index, reasons = {entity: i for i, entity in enumerate(classes)}, Counter[str]()
        for row in rows:
            if row["answer"] not in index:
                reasons["an answer that no training question has"] += 1
            elif row["answer"] not in row["context"].split():
                reasons["an answer that the article does not name"] += 1
            else:
                context, question = (
                    (text.lower() if self.lowercase else text).split() for text in (row["context"], row["question"])
                )
                named = sorted(index[entity] for entity in index.keys() & set(context))
                yield Instance(row["id"], context, index[row["answer"]], second=question, candidates=named)
        for why, count in reasons.items():
            counted(left_out, split, count, why, "question")


def _folder(folder: Path, name: str) -> Path:
    for candidate in (folder / name, folder / "questions" / name, folder / "cnn" / "questions" / name):
        if candidate.is_dir():
            return candidate
    raise InputError(f"{folder} has no folder questions/{name}: give the folder that holds the official questions.")


def _questions(folder: Path) -> Iterator[Row]:
    """One row a file: url, context, question, answer and entities, with empty lines between."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".question"))
    if not names:
        raise InputError(f"{folder} has no .question files.")
    for name in names:
        path = folder / name
        parts = "\n".join(lines(path)).strip("\n").split("\n\n")
        if len(parts) < 4 or not parts[3].startswith(ENTITY):
            raise InputError(f"{path} is no question: url, context, question, answer {ENTITY}…, entities expected.")
        yield {
            "id": path.stem,
            "context": parts[1],
            "question": parts[2],
            "answer": parts[3],
            "url": parts[0],
            "entities": "\n\n".join(parts[4:]).split("\n"),
        }


def _number(entity: str) -> tuple[int, str]:
    digits = entity.removeprefix(ENTITY)
    return (int(digits) if digits.isdecimal() else 0, entity)
