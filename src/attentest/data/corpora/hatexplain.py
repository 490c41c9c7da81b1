"""HateXplain: posts as hate speech, offensive or normal, with the words annotators gave as the reason.

The posts hold slurs and abuse: no message, demonstration or test shows one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from attentest.data.catalog.cleaning import shuffled
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.files.formats import text_of_file
from attentest.errors import InputError

__all__ = ["HateXplain"]

CLASSES = ("hatespeech", "normal", "offensive")
PAPER = "Mathew et al. 2021"
DIVISIONS = {"train": "train", "val": "dev", "test": "test"}


@dataclass(frozen=True)
class HateXplain(Declared):
    """Posts from social media, with the words that make them hateful or offensive.

    **The texts are slurs and abuse**, and a report shows some of the texts it examines. Three people labelled every
    post and marked the words that made them decide; a word is marked here where most of them marked it. Normal
    posts have no marks. What each of them marked is kept where it is known: the official files have it.
    """

    name: ClassVar[str] = "hatexplain"
    summary: ClassVar[str] = "Posts: hate speech, normal or offensive, with the words people marked (offensive text)"
    licence: ClassVar[str] = "MIT"
    citation: ClassVar[str] = (
        "Mathew et al. 2021, HateXplain: a benchmark dataset for explainable hate speech detection"
    )
    homepage: ClassVar[str] = "https://github.com/hate-alert/HateXplain"
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test")
    labels: ClassVar[tuple[str | int | None, ...]] = CLASSES
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 15_383, "post_id_divisions.json"),
        Expected("dev", "instances", 1_922, "post_id_divisions.json"),
        Expected("test", "instances", 1_924, "post_id_divisions.json"),
        Expected("all", "class hatespeech", 5_935, PAPER),
        Expected("all", "class offensive", 5_480, PAPER),
        Expected("all", "class normal", 7_814, PAPER),
    )
    sensitive: ClassVar[bool] = True

    two_classes: Annotated[bool, "Hate speech and offensive posts as one class, `toxic`."] = False

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """dataset.json and post_id_divisions.json, from the folder Data of the authors' repository."""
        paths = [found(folder, name) for name in ("dataset.json", "post_id_divisions.json")]
        posts, divisions = (_json(path) for path in paths)
        if lacking := [name for name in DIVISIONS if name not in divisions]:
            raise InputError(f"{paths[1].name} has no {lacking[0]!r}: it must name train, val and test.")
        return {split: _posts(posts, divisions[name], paths[0].name) for name, split in DIVISIONS.items()}

    def prepare(self, rows: Rows) -> Prepared:
        """The words between spaces; what most annotators marked is the rationale, normal posts have none."""
        left_out: list[str] = []
        splits: dict[str, list[Instance]] = {}
        for split in self.splits:
            noted: Counter[str] = Counter()
            posts = [self._instance(row, noted) for row in rows(split)]
            splits[split] = sorted(posts, key=lambda post: shuffled(post.id))
            left_out += [f"{split}: {count} kept, {why}" for why, count in sorted(noted.items())]
        return Prepared(
            splits,
            ("normal", "toxic") if self.two_classes else CLASSES,
            "words between spaces as released; a word is marked where most annotators marked it; normal posts have no "
            "marks; what each annotator marked is kept where the rows have it",
            left_out,
            rationale="human",
        )

    def _instance(self, row: Row, noted: Counter[str]) -> Instance:
        words = row["text"].split()
        marked = row.get("rationale")
        toxic = row["label"] != "normal"
        if toxic and not marked:
            noted["toxic and without marks: " + ("not found" if marked is None else "empty")] += 1
        elif row.get("approx"):
            noted["their marks placed by likeness"] += 1
        each = row.get("annotations")
        if any(not 0 <= place < len(words) for one in (marked or (), *(each or ())) for place in one):
            raise InputError(f"Post {row['id']!r}: a marked word lies outside its {len(words)} words.")
        label = int(toxic) if self.two_classes else CLASSES.index(row["label"])
        flags, *others = (_flags(one, len(words)) for one in (marked or (), *(each or ())))
        return Instance(row["id"], words, label, rationale=flags, annotations=None if each is None else others)


def _flags(places: Iterable[int], length: int) -> list[bool]:
    marked = set(places)
    return [place in marked for place in range(length)]


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(text_of_file(path))
    except ValueError as error:
        raise InputError(f"{path.name} is not JSON: get it again.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path.name} holds a {type(content).__name__}, not an object by post.")
    return content


def _posts(posts: Mapping[str, Any], names: Iterable[str], file: str) -> Iterator[Row]:
    """Posts with a majority label; the authors leave out those that three annotators label in three ways."""
    for name in names:
        if name not in posts:
            raise InputError(f"{file} has no post {name!r}, which post_id_divisions.json names.")
        try:
            words, marks = posts[name]["post_tokens"], posts[name]["rationales"]
            (label, votes), *_ = Counter(one["label"] for one in posts[name]["annotators"]).most_common()
            counts = [sum(column) for column in zip(*marks, strict=True)]
        except (LookupError, TypeError, ValueError) as error:
            raise InputError(f"{file}, post {name!r} has no post_tokens, annotators and rationales.") from error
        if votes > 1:
            row: dict[str, Any] = {"id": name, "text": " ".join(words), "label": label}
            if label != "normal":
                row["rationale"] = [place for place, count in enumerate(counts) if count * 2 > len(marks)]
                row["annotations"] = [[place for place, flag in enumerate(one) if flag] for one in marks]
            yield row
