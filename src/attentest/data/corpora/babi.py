"""The first three bAbI tasks (en-10k), with their supporting facts as rationale."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from attentest.data.catalog.cleaning import counted
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found, lines
from attentest.data.corpora.words import Words
from attentest.data.sources.archive import Archive
from attentest.data.sources.source import Source
from attentest.data.splits import stratified
from attentest.errors import InputError
from attentest.parameters import SHARE
from attentest.tasks import TaskName

__all__ = ["Babi", "Babi1", "Babi2", "Babi3"]

OFFICIAL_TRAIN = 10_000
#: What stands in for the training file of a task whose 10k file could not be had.
STAND_INS = ("train_1k", "train_10k_last10pct")
JW = "Jain & Wallace 2019, Table 1"


def _expected(average_length: int) -> tuple[Expected, ...]:
    return (
        Expected("train", "rows", OFFICIAL_TRAIN, "official, en-10k"),
        Expected("test", "rows", 1_000, "official, en-10k"),
        Expected("train", "instances", OFFICIAL_TRAIN, JW, because="15 % of the training questions are dev"),
        Expected("test", "instances", 1_000, JW),
        Expected("train", "vocabulary", 40, JW, because="theirs is one vocabulary of all three tasks"),
        Expected(
            "train",
            "average length",
            average_length,
            JW,
            because="no mean: 67 and 421 are the lengths of the longest training stories of tasks 1 and 2",
        ),
    )


@dataclass(frozen=True)
class Babi(Declared, ABC):
    """A story, a question about it and a one-word answer; the rationale is the sentences that give the answer."""

    #: Number and official name of the task.
    number: ClassVar[int]
    title: ClassVar[str]

    task: ClassVar[TaskName] = "answer"
    licence: ClassVar[str] = "CC BY 3.0"
    citation: ClassVar[str] = (
        "Weston et al. 2015, Towards AI-complete question answering: a set of prerequisite toy tasks"
    )
    homepage: ClassVar[str] = "https://research.facebook.com/downloads/babi/"
    sources: ClassVar[tuple[Source, ...]] = (
        # The copy that Keras has used for years: the authors' own address has no HTTPS.
        Archive("https://s3.amazonaws.com/text-datasets/babi_tasks_1-20_v1-2.tar.gz", members=("*/en-10k/qa[123]_*",)),
    )
    fields: ClassVar[tuple[str, ...]] = ("id", "context", "question", "answer", "support")
    texts: ClassVar[tuple[str, ...]] = ("context", "question", "answer")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "released": {"final_marks": False}}

    dev: Annotated[
        float,
        "The share of the training questions that chooses the best epoch; "
        "questions about one story may fall on both sides.",
        SHARE,
    ] = 0.15
    final_marks: Annotated[bool, "Keep the last full stop and the question mark; the released code drops them."] = True

    def __post_init__(self) -> None:
        if not 0 < self.dev < 1:
            raise InputError(f"Corpus {self.name!r}: dev={self.dev} must be a share between 0 and 1.")

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """en-10k/qa<number>_<title>_{train,test}.txt."""
        stem = f"en-10k/qa{self.number}_{self.title}"
        return {
            split: questions(found(folder, f"{stem}_{split}.txt"), f"qa{self.number}-10k-{split}")
            for split in self.splits
        }

    def prepare(self, rows: Rows) -> Prepared:
        """Train and dev from the training questions, the official test."""
        training, partial = self._training(rows)
        classes = sorted({row["answer"] for row in training})
        shares = {"train": 1 - self.dev, "dev": self.dev}
        places = stratified([row["id"] for row in training], [""] * len(training), fractions=shares)
        parts = {name: [training[place] for place in chosen] for name, chosen in places.items()}
        left_out: list[str] = []
        marks = "" if self.final_marks else ", without the last full stop and the question mark"
        return Prepared(
            splits={
                split: self._instances(split, part, classes, left_out)
                for split, part in (parts | {"test": list(rows("test"))}).items()
            },
            classes=classes,
            preparation=f"spaCy English tokens, lower case{marks}; the sentences of the story in order; "
            f"{self.dev:.0%} of the training questions are dev",
            left_out=left_out,
            partial=partial,
            rationale="planted",
        )

    def _training(self, rows: Rows) -> tuple[list[Row], str]:
        """The training questions and, where they are not all there, which they are."""
        if rows.has("train") or not any(rows.has(split) for split in STAND_INS):
            training: list[Row] = list(rows("train"))
            short = len(training) < OFFICIAL_TRAIN
            return training, f"train has {len(training):,} of {OFFICIAL_TRAIN:,} questions" if short else ""
        there = [split for split in STAND_INS if rows.has(split)]
        every = [row for split in there for row in rows(split)]
        distinct = {(tuple(row["context"]), row["question"]): row for row in reversed(every)}
        kept = list(reversed(distinct.values()))
        return kept, (
            f"train is {' and '.join(there)}: {len(kept):,} questions, {len(every) - len(kept)} repeated ones left "
            f"out, in place of the official {OFFICIAL_TRAIN:,}"
        )

    def _instances(
        self, split: str, rows: Sequence[Row], classes: Sequence[str], left_out: list[str]
    ) -> Iterator[Instance]:
        words, reasons, index = Words(), Counter[str](), {answer: i for i, answer in enumerate(classes)}
        for row in rows:
            if row["answer"] not in index:
                reasons["an answer that no training question has"] += 1
                continue
            sentences = [words.tokens(sentence) for sentence in row["context"]]
            tokens = [token for sentence in sentences for token in sentence]
            facts = set(row["support"])
            marks = [place in facts for place, sentence in enumerate(sentences) for _ in sentence]
            question = words.tokens(row["question"])
            if not self.final_marks:
                tokens, marks, question = tokens[:-1], marks[:-1], question[:-1]
            yield Instance(row["id"], tokens, index[row["answer"]], second=question, rationale=marks)
        for why, count in reasons.items():
            counted(left_out, split, count, why, "question")


@dataclass(frozen=True)
class Babi1(Babi):
    """Where is a person: one supporting fact.

    Stories made by a program, a question each, and the one sentence that answers it marked. Where the official
    10,000 training questions are not here but the smaller files are, these stand in and are named as partial.
    """

    name: ClassVar[str] = "babi-1"
    summary: ClassVar[str] = "Where is a person? Stories of up to 10 sentences, one supporting fact (bAbI task 1)"
    folder: ClassVar[str] = "babi/qa1"
    number: ClassVar[int] = 1
    title: ClassVar[str] = "single-supporting-fact"
    expected: ClassVar[tuple[Expected, ...]] = _expected(8)


@dataclass(frozen=True)
class Babi2(Babi):
    """Where is an object: two supporting facts.

    As `babi-1`; two sentences give the answer, and longer stories lie around them.
    """

    name: ClassVar[str] = "babi-2"
    summary: ClassVar[str] = "Where is an object? Stories with two supporting facts (bAbI task 2)"
    folder: ClassVar[str] = "babi/qa2"
    number: ClassVar[int] = 2
    title: ClassVar[str] = "two-supporting-facts"
    expected: ClassVar[tuple[Expected, ...]] = _expected(67)


@dataclass(frozen=True)
class Babi3(Babi):
    """Where was an object before: three supporting facts.

    As `babi-1`; three sentences give the answer, in longer stories still.
    """

    name: ClassVar[str] = "babi-3"
    summary: ClassVar[str] = "Where was an object before? Stories with three supporting facts (bAbI task 3)"
    folder: ClassVar[str] = "babi/qa3"
    number: ClassVar[int] = 3
    title: ClassVar[str] = "three-supporting-facts"
    expected: ClassVar[tuple[Expected, ...]] = _expected(421)


def questions(path: Path, prefix: str) -> Iterator[Row]:
    """The questions of an official file: the story so far, the question, its answer and supporting facts."""
    story: list[str] = []
    places: dict[str, int] = {}
    count = 0
    for number, line in enumerate(lines(path), start=1):
        if not line.strip():
            continue
        place, _, text = line.partition(" ")
        if place == "1":
            story, places = [], {}
        if "\t" not in text:
            places[place] = len(story)
            story.append(text.strip())
            continue
        cells = [cell.strip() for cell in text.split("\t")]
        if len(cells) != 3 or not story or any(fact not in places for fact in cells[2].split()):
            raise InputError(
                f"{path}, line {number} is no question of bAbI: question, answer, supporting facts, by tabs."
            )
        support = [places[fact] for fact in cells[2].split()]
        yield {
            "id": f"{prefix}-{count}",
            "context": list(story),
            "question": cells[0],
            "answer": cells[1],
            "support": support,
        }
        count += 1
