"""Yelp-HAT: reviews in which several people highlighted the words that tell the sentiment."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from attentest.data.catalog.cleaning import csv_records, parts_of, shuffled
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.sources.archive import Archive
from attentest.data.splits import stratified
from attentest.errors import InputError

__all__ = ["YelpHAT"]

HEADER = ["Input.label", "Input.text", "Answer.Q1Answer", "Answer.html_output"]
#: The parts of the release; those on hand are splits of the rows.
PARTS = ("part1_50words", "part6_100words", "part7", "part8_200words")
MISSING = ("part3", "part4", "part5")
#: Whether so many marks by so many annotators mark a word.
AGREEMENTS: Mapping[str, Callable[[int, int], bool]] = {
    "any": lambda marks, people: marks > 0,
    "majority": lambda marks, people: marks * 2 > people,
    "all": lambda marks, people: marks == people > 0,
}
SPAN = re.compile(r"<span([^>]*)>(.*?)</span>", re.DOTALL)


@dataclass(frozen=True)
class YelpHAT(Declared):
    """Restaurant reviews, negative or positive, with human attention maps.

    Reviews in which two to four people highlighted the words that tell the sentiment. The parts of the release that
    are on this machine are pooled and split anew, those that are not are named. What each person highlighted is
    kept, so that the challenge `rationale` can say how far they agree.
    """

    name: ClassVar[str] = "yelp_hat"
    summary: ClassVar[str] = "Restaurant reviews, negative or positive, highlighted by two to four people (Yelp-HAT)"
    licence: ClassVar[str] = "none stated; Yelp Dataset terms (academic use)"
    citation: ClassVar[str] = (
        "Sen et al. 2020, Human attention maps for text classification: do humans and neural networks focus on the "
        "same words?"
    )
    homepage: ClassVar[str] = "https://github.com/cansusen/Human-Attention-for-Text-Classification"
    sources: ClassVar[tuple[Archive, ...]] = (
        Archive(
            "https://github.com/cansusen/Human-Attention-for-Text-Classification/archive/"
            "205c1552bc7be7ec48623d79d85d4c6fbfe62362.tar.gz",
            members=("*/raw_data/ham_part*.csv",),
        ),
    )
    splits: ClassVar[tuple[str, ...]] = PARTS
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "annotations")
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)
    expected: ClassVar[tuple[Expected, ...]] = tuple(
        Expected(part, "rows", count, "the release") for part, count in zip(PARTS, (300, 439, 625, 181), strict=True)
    )
    min_frequency: ClassVar[int] = 2

    agreement: Annotated[
        str, "A word is marked where `any`, the `majority` or `all` of the review's annotators highlighted it."
    ] = "majority"

    def __post_init__(self) -> None:
        if self.agreement not in AGREEMENTS:
            raise InputError(f"agreement={self.agreement!r} is not one of {', '.join(AGREEMENTS)}.")

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """The files ham_part*.csv: a line for every annotator of a review."""
        found = {_part(path): path for path in sorted(folder.rglob("ham_part*.csv"))}
        if not found:
            raise InputError(f"{folder} holds no ham_part*.csv, which corpus {self.name!r} is read from.")
        return {part: _reviews(path, part) for part, path in found.items()}

    def prepare(self, rows: Rows) -> Prepared:
        """All parts on hand pooled, then split by label; a word's tokens inherit its mark."""
        parts = [part for part in (*PARTS, *MISSING) if rows.has(part)]
        lacking = [part for part in (*PARTS, *MISSING) if part not in parts]
        people: dict[int, int] = {}
        texts: list[Instance] = []
        for part in parts:
            for row in rows(part):
                text, count = self._instance(row)
                people[count] = people.get(count, 0) + 1
                texts.append(text)
        texts.sort(key=lambda text: shuffled(text.id))
        chosen = stratified([text.id for text in texts], [str(text.label) for text in texts])
        spread = ", ".join(f"{reviews} by {count}" for count, reviews in sorted(people.items()))
        return Prepared(
            {name: [texts[i] for i in numbers] for name, numbers in chosen.items()},
            ("negative", "positive"),
            f"parts pooled, stratified 70/10/20; spaCy tokens, lower case; marked where {self.agreement} of the "
            f"annotators highlighted the word (reviews by number of annotators: {spread})",
            partial=f"{len(texts):,} reviews; not here: {', '.join(lacking)}" if lacking else "",
            rationale="human",
        )

    def _instance(self, row: Row) -> tuple[Instance, int]:
        """The review, and how many people's highlights fit its words."""
        words = row["text"].split()
        fitting = [one for one in row["annotations"] if len(one.get("tokens", words)) == len(words)]
        chosen = [set(one["selected"]) for one in fitting]
        agreed = AGREEMENTS[self.agreement]
        pairs = [(token, place) for place, word in enumerate(words) for token in parts_of(word)]
        each = [[place in one for _, place in pairs] for one in chosen]
        flags = [agreed(sum(place in one for one in chosen), len(chosen)) for _, place in pairs]
        tokens = [token for token, _ in pairs]
        return Instance(row["id"], tokens, row["label"], rationale=flags, annotations=each), len(fitting)


def _part(path: Path) -> str:
    return path.stem.removeprefix("ham_").replace("(", "_").rstrip(")")


def _reviews(path: Path, part: str) -> Iterator[Row]:
    records = csv_records(path, columns=(len(HEADER),))
    if (header := next(records, [])) != HEADER:
        raise InputError(f"{path.name} begins with {','.join(header)!r}, not {','.join(HEADER)!r}.")
    reviews: dict[str, dict[str, Any]] = {}
    for label, text, answer, marked in records:
        if label not in ("0", "1"):
            raise InputError(f"{path.name}: label {label!r} is neither 0 nor 1.")
        words = text.split()
        review = reviews.setdefault(
            text,
            {"id": f"{part}-{len(reviews)}", "text": text, "label": int(label), "tokens": words, "annotations": []},
        )
        spans = [(re.search(r"\bactive\b", attributes), inner) for attributes, inner in SPAN.findall(marked)]
        own = [html.unescape(re.sub(r"<[^>]*>", "", inner)) for _, inner in spans]
        while own and not own[-1].strip():
            own.pop()
        selected = [place for place, (active, _) in enumerate(spans[: len(own)]) if active]
        other = {} if len(own) == len(words) else {"tokens": own}
        review["annotations"].append({"answer": answer, "selected": selected, **other})
    yield from reviews.values()
