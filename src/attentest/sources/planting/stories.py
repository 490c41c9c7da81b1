"""Stories with a question each, bAbI's or the built-in ones, as questions over their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from attentest.data.corpora import CORPORA
from attentest.errors import InputError, shown
from attentest.sources.question import Planted, Question

__all__ = ["story_questions"]

#: What ends a sentence of a story.
STOP = "."


def story_questions(corpus: str, *, limit: int = 0, seed: int = 0) -> Iterator[Question]:
    """The test questions of a corpus of stories; every sentence is a source.

    The sentences that decide are those of the corpus's supporting ones that name the answer; the twin of each names
    another answer of the corpus. Supporting sentences that name none, such as who took the milk, stay as they are.
    """
    found = CORPORA.parse(corpus).load()
    split = found["test"]
    if found.task != "answer" or found.provenance.rationale != "planted" or not split.has("second"):
        raise InputError(
            f"--corpus {shown(corpus)} is no corpus of stories whose supporting sentences are known. Use stories-1 to "
            "stories-3, or babi-1 to babi-3; your own questions are a file (--data)."
        )
    rows = split.table.slice(0, min(limit, len(split)) or len(split)).to_pylist()
    for row in rows:
        yield _question(found.name, row, found.classes, seed)


def _question(corpus: str, row: dict[str, list[str]], classes: Sequence[str], seed: int) -> Question:
    sentences: list[list[str]] = [[]]
    supports: list[bool] = [False]
    for token, mark in zip(row["tokens"], row["rationale"], strict=True):
        sentences[-1].append(token)
        supports[-1] |= bool(mark)
        if token == STOP:
            sentences.append([])
            supports.append(False)
    told = [(words, marked) for words, marked in zip(sentences, supports, strict=True) if words]
    name, value = str(row["id"]), classes[int(str(row["label"]))]
    other = Random(f"{seed}/{name}").choice([each for each in classes if each != value])
    deciding = tuple(place for place, (words, marked) in enumerate(told) if marked and value in words)
    twins = tuple(_written([other if word == value else word for word in told[place][0]]) for place in deciding)
    planted = Planted(corpus, deciding, value, other, twins)
    return Question(_written(row["second"]), tuple(_written(words) for words, _ in told), id=name, planted=planted)


def _written(words: Sequence[str]) -> str:
    """Words as a sentence: its first letter large, and no space before its mark."""
    text = " ".join(words)
    for mark in (STOP, "?", ","):
        text = text.replace(f" {mark}", mark)
    return text[:1].upper() + text[1:]
