"""Dates are read again from the linked words alone, by a reader that knows English numbers but not the generator."""

from __future__ import annotations

from datetime import date

import pytest

from attentest.data.corpora.dates import Dates
from attentest.data.corpus import Corpus
from attentest.data.steps import stepped
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError

NUMBERS = {
    word: number
    for number, words in enumerate(
        [
            "-",
            "one/first",
            "two/second",
            "three/third",
            "four/fourth",
            "five/fifth",
            "six/sixth",
            "seven/seventh",
            "eight/eighth",
            "nine/ninth",
            "ten/tenth",
            "eleven/eleventh",
            "twelve/twelfth",
            "thirteen/thirteenth",
            "fourteen/fourteenth",
            "fifteen/fifteenth",
            "sixteen/sixteenth",
            "seventeen/seventeenth",
            "eighteen/eighteenth",
            "nineteen/nineteenth",
            "twenty/twentieth",
        ]
    )
    for word in words.split("/")
}
NUMBERS |= {"thirty": 30, "thirtieth": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80}
NUMBERS |= {"ninety": 90}
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Dates(train=600, dev=50, test=100).load()


def number(words: list[str]) -> int:
    """What some words count: digits, an ordinal, or tens and units."""
    digits = [word.rstrip("stndrh") for word in words]
    return int(digits[0]) if digits[0].isdigit() else sum(NUMBERS[word] for word in words)


def told(part: int, words: list[str]) -> str:
    """What the words that are linked to a part of the target say of it."""
    year = int(words[0]) if words[0].isdigit() and part < 2 else None
    if year is not None and year < 100:
        year += 1900 if year >= 50 else 2000
    if part == 0:
        return str(year // 100) if year else "20" if words[0] in ("two", "twenty") else "19"
    if part == 1:
        return f"{year % 100:02}" if year else "00" if "thousand" in words else f"{number(words):02}"
    return f"{MONTHS.index(words[0][:3]) + 1:02}" if part == 3 else f"{number(words):02}"


def test_linked_words_tell_every_part_of_the_date(corpus: Corpus) -> None:
    for row in corpus["train"].table.to_pylist():
        links = [tuple(map(int, link.split("-"))) for link in row["alignment"]]
        for part, word in enumerate(row["target"]):
            linked = [row["tokens"][i] for i, j in links if j == part]
            assert (word == "-") == (not linked)
            assert word == "-" or told(part, linked) == word, row


def test_weekdays_are_those_of_the_dates(corpus: Corpus) -> None:
    names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    said = 0
    for row in corpus["train"].table.to_pylist():
        century, year, _, month, _, day = row["target"]
        when = date(int(century + year), int(month), int(day))
        for token in {*row["tokens"]} & {*names}:
            said += 1
            assert names[when.weekday()] == token
    assert said > 50


def test_sentences_are_distinct_and_the_same_everywhere(corpus: Corpus) -> None:
    texts = [tuple(tokens) for split in corpus.splits.values() for tokens in split.table["tokens"].to_pylist()]
    assert len({*texts}) == len(texts) == 750
    assert Dates(train=600, dev=50, test=100).load().digest == corpus.digest
    assert Dates(train=10, dev=50, test=100).load()["test"].table.equals(corpus["test"].table)
    assert Dates(train=600, dev=50, test=100, seed=6).load().digest != corpus.digest


def test_a_step_marks_the_words_that_tell_it(corpus: Corpus) -> None:
    steps = stepped(corpus["test"], Vocabulary.from_split(corpus["train"])).table.to_pylist()
    assert len(steps) == 7 * 100
    month = steps[3]
    assert month["second"][2:] == ["-"]
    assert next(word for word, marked in zip(month["tokens"], month["rationale"], strict=True) if marked)[:3] in MONTHS
    assert not any(steps[6]["rationale"])


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="dev=0"):
        Dates(dev=0).load()
    with pytest.raises(InputError, match="Lower train"):
        Dates(train=200_000).load()
