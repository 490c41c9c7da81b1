"""ERASER movies: film reviews with the phrases that people say decide them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import shuffled
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.files.formats import json_lines, text_of_file
from attentest.data.sources.archive import Archive
from attentest.errors import InputError
from attentest.parameters import Within

__all__ = ["EraserMovies"]

CLASSES = ("NEG", "POS")


@dataclass(frozen=True)
class EraserMovies(Declared):
    """Film reviews, negative or positive, with marked phrases.

    Long reviews in which people marked phrases that decide. In test all such phrases are marked, in train and dev
    only some, so scores of different splits cannot be compared. The marks speak of plausibility.
    """

    name: ClassVar[str] = "eraser_movies"
    summary: ClassVar[str] = "Film reviews, negative or positive, with the phrases people marked (ERASER)"
    licence: ClassVar[str] = "none stated (research use)"
    citation: ClassVar[str] = (
        "Zaidan et al. 2007; DeYoung et al. 2020, ERASER: a benchmark to evaluate rationalized NLP models"
    )
    homepage: ClassVar[str] = "https://www.eraserbenchmark.com"
    sources: ClassVar[tuple[Archive, ...]] = (
        Archive(
            "https://www.eraserbenchmark.com/zipped/movies.tar.gz",
            sha256="66e18d4e6c9df9e9f5544572b0bfe92a39673f74ecbfc3859b46cedb2f5b2dee",
            size=3_899_487,
        ),
    )
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test")
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "rationale")
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 1_600, "the release"),
        Expected("dev", "instances", 200, "the release"),
        Expected("test", "instances", 199, "the release"),
    )

    first_tokens: Annotated[int, "Read only so many words of a review; 0: all.", Within(0, 10**9)] = 0

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """train.jsonl, val.jsonl and test.jsonl, and one file a review in docs/."""
        names = {"train": "train.jsonl", "dev": "val.jsonl", "test": "test.jsonl"}
        return {split: _reviews(found(folder, name)) for split, name in names.items()}

    def prepare(self, rows: Rows) -> Prepared:
        """The words between spaces, as the phrases count them."""
        left_out: list[str] = []
        splits: dict[str, list[Instance]] = {}
        for split in self.splits:
            texts = [self._instance(row) for row in rows(split)]
            splits[split] = sorted(texts, key=lambda text: shuffled(text.id))
            bare = sum(not any(text.rationale or ()) for text in texts)
            if bare:
                left_out.append(f"{split}: {bare} kept without a marked phrase")
        return Prepared(
            splits,
            ("negative", "positive"),
            "words between spaces as released; rationales of train and dev are partial, those of test exhaustive: "
            "compare scores within a split only"
            + (f"; the first {self.first_tokens} words" if self.first_tokens else ""),
            left_out,
            rationale="human",
        )

    def _instance(self, row: Row) -> Instance:
        words = row["text"].split()
        flags = [False] * len(words)
        for start, end in row["rationale"]:
            if not 0 <= start <= end <= len(words):
                raise InputError(f"Review {row['id']!r}: phrase {start}–{end} lies outside its {len(words)} words.")
            flags[start:end] = [True] * (end - start)
        most = self.first_tokens or len(words)
        return Instance(row["id"], words[:most], row["label"], rationale=flags[:most])


def _reviews(path: Path) -> Iterator[Row]:
    for number, row in enumerate(json_lines(path, text_of_file(path)), start=1):
        try:
            name, label = str(row["annotation_id"]), CLASSES.index(str(row["classification"]))
            evidences: Iterable[Iterable[Mapping[str, int]]] = row["evidences"]  # type: ignore[assignment]
            spans = sorted([one["start_token"], one["end_token"]] for group in evidences for one in group)
        except (LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"{path.name}, line {number} is no ERASER annotation of a review (annotation_id, classification NEG "
                f"or POS, evidences with start_token and end_token)."
            ) from error
        document = path.parent / "docs" / Path(name).name
        if not document.is_file():
            raise InputError(f"{path.name}, line {number}: docs/{document.name} is missing.")
        yield {"id": name, "text": text_of_file(document).strip("\n"), "label": label, "rationale": spans}
