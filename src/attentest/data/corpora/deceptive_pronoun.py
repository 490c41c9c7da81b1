"""Pronouns whose gender is the label (Pruthi et al. 2020): the words that decide it are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import shuffled
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.files.formats import text_of_file
from attentest.data.sources.archive import Archive
from attentest.errors import InputError

__all__ = ["DeceptivePronoun", "planted", "tagged_lines", "task_file"]

PRONOUNS = frozenset(("he", "she", "her", "his", "him", "himself", "herself"))
SPLITS = ("train", "dev", "test")
ARCHIVE = Archive(
    "https://github.com/danishpruthi/deceptive-attention/archive/8c8823efab5a65ea85a9c04130b3622711d2fac5.tar.gz",
    members=("*/classification_tasks/data/pronoun/*", "*/classification_tasks/data/sst-wiki/*"),
)
CITATION = "Pruthi et al. 2020, Learning to deceive with attention-based explanations"
HOMEPAGE = "https://github.com/danishpruthi/deceptive-attention"
LICENCE = "none stated (research use)"


@dataclass(frozen=True)
class DeceptivePronoun(Declared):
    """Wikipedia sentences about a man or a woman; the pronouns decide.

    The label is the gender of the pronouns, so they are known to decide, and marked. Made to train attention that
    hides the words it uses (Pruthi et al. 2020).
    """

    name: ClassVar[str] = "deceptive_pronoun"
    summary: ClassVar[str] = "Wikipedia sentences with he or she: the label is the pronouns' gender (planted truth)"
    licence: ClassVar[str] = LICENCE
    citation: ClassVar[str] = CITATION
    homepage: ClassVar[str] = HOMEPAGE
    sources: ClassVar[tuple[Archive, ...]] = (ARCHIVE,)
    splits: ClassVar[tuple[str, ...]] = SPLITS
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "impermissible")
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)
    expected: ClassVar[tuple[Expected, ...]] = tuple(
        Expected(split, "instances", count, "the release")
        for split, count in zip(SPLITS, (9_017, 1_127, 1_127), strict=True)
    )

    lowercase: Annotated[bool, "Lower case, as the authors' code does."] = True

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """data/pronoun/{train,dev,test}.txt: M or F, a tab, the words."""
        return {split: self._read(folder, split) for split in SPLITS}

    def prepare(self, rows: Rows) -> Prepared:
        """The released words; the pronouns are what the label depends on."""
        return planted(rows, ("he", "she"), self.lowercase)

    def _read(self, folder: Path, split: str) -> Iterator[Row]:
        path = task_file(folder, "pronoun", split)

        def places(number: int, words: Sequence[str]) -> list[int]:
            return [place for place, word in enumerate(words) if word.lower() in PRONOUNS]

        return tagged_lines(path, ("M", "F"), f"pronoun-{split}", places)


def task_file(folder: Path, task: str, split: str) -> Path:
    """The file of a split, in the folder itself or in the task's folder somewhere below it."""
    path = folder / f"{split}.txt"
    return path if path.is_file() else found(folder, f"{task}/{split}.txt")


def tagged_lines(
    path: Path, tags: Sequence[str], name: str, places: Callable[[int, Sequence[str]], list[int]]
) -> Iterator[Row]:
    """Lines of a tag, a tab and words, with the places of the words that decide."""
    for number, line in enumerate(text_of_file(path).removesuffix("\n").split("\n")):
        tag, tab, text = line.partition("\t")
        if not tab or tag not in tags:
            raise InputError(f"{path.name}, line {number + 1} is not {' or '.join(tags)}, a tab and a text.")
        yield {
            "id": f"{name}-{number}",
            "text": text.strip(),
            "label": tags.index(tag),
            "impermissible": places(number, text.split()),
        }


def planted(rows: Rows, classes: Sequence[str], lowercase: bool) -> Prepared:
    """Released words, with the impermissible ones marked."""
    splits: dict[str, list[Instance]] = {}
    for split in SPLITS:
        texts = []
        for row in rows(split):
            words = (row["text"].lower() if lowercase else row["text"]).split()
            marked = set(row["impermissible"])
            if any(not 0 <= place < len(words) for place in marked):
                raise InputError(f"Text {row['id']!r}: a marked word lies outside its {len(words)} words.")
            flags = [place in marked for place in range(len(words))]
            texts.append(Instance(row["id"], words, row["label"], rationale=flags))
        splits[split] = sorted(texts, key=lambda text: shuffled(text.id))
    return Prepared(
        splits,
        classes,
        f"words between spaces as released{', lower case' if lowercase else ''}; the impermissible words, on which "
        "the label depends, are marked",
        rationale="planted",
    )
