"""IMDB film reviews (Maas et al. 2011), prepared as Jain & Wallace (2019) did, as far as raw text allows.

Their counts come from the Keras release: punctuation gone, and <br /> left as the word ``br``. Preset ``released``
tokenises that way; ``paper`` takes spaCy's tokens, as the text says, and line breaks for what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, ClassVar

from attentest.data.catalog.cleaning import counted, instances
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.files.formats import read_table
from attentest.data.sources.archive import Archive
from attentest.data.sources.hub import Hub
from attentest.data.sources.source import Source
from attentest.data.splits import stratified
from attentest.errors import InputError
from attentest.parameters import SEEDS, SHARE, Within

__all__ = ["IMDB"]

OFFICIAL = "the archive's README"
TABLE_1 = "Jain & Wallace 2019, Table 1"
TABLE_5 = "Tutek & Šnajder 2020, Table 5"
LENGTHS = "theirs counts before the length limits and has no dev split"
NO_DEV = "theirs has the dev texts in training: with them ours has"
SAMPLE = "another sample: theirs follows the order of the Keras release, which raw text does not give"
SPACY = "theirs is counted on the Keras release, without punctuation: see preset released"
#: The official reviews are negative or positive by their ratings; those in between are not among them.
RATINGS = (1, 2, 3, 4, 7, 8, 9, 10)
KERAS = frozenset('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n')
SPACED = str.maketrans(dict.fromkeys(KERAS, " "))


@dataclass(frozen=True)
class IMDB(Declared):
    """Film reviews, negative or positive.

    They have some hundred words. Jain & Wallace (2019) took the Keras release, in which punctuation is gone
    and line breaks are the word `br` (`tokens="keras"`); the default is spaCy's tokens, as their text says. 123
    texts occur in both official splits.
    """

    name: ClassVar[str] = "imdb"
    summary: ClassVar[str] = "Film reviews, negative or positive (IMDB, Maas et al.)"
    licence: ClassVar[str] = "none stated (research use)"
    citation: ClassVar[str] = "Maas et al. 2011, Learning word vectors for sentiment analysis"
    homepage: ClassVar[str] = "https://ai.stanford.edu/~amaas/data/sentiment/"
    sources: ClassVar[tuple[Source, ...]] = (
        Archive(
            "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
            size=84_125_825,
            members=("aclImdb/*/pos/*.txt", "aclImdb/*/neg/*.txt"),
        ),
        Hub("stanfordnlp/imdb", "e6281661ce1c48d982bc483cf8a173c1bbeb5d31", ("plain_text/t*.parquet",)),
    )
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 25_000, OFFICIAL),
        Expected("test", "rows", 25_000, OFFICIAL),
        Expected("train", "class negative", 12_500, TABLE_1, ("paper", "released"), LENGTHS),
        Expected("train", "class positive", 12_500, TABLE_1, ("paper", "released"), LENGTHS),
        Expected("test", "class negative", 2184, TABLE_1, ("paper", "released"), SAMPLE),
        Expected("test", "class positive", 2172, TABLE_1, ("paper", "released"), SAMPLE),
        Expected("all", "average length", 179, TABLE_1, ("paper",), SPACY),
        Expected("all", "average length", 179, TABLE_1, ("released",)),
        Expected("train", "vocabulary", 13_916, TABLE_1, ("paper",), f"{NO_DEV} 13,286"),
        Expected("train", "vocabulary", 13_916, TABLE_1, ("released",), f"{NO_DEV} 14,358, near the notebook's 14,355"),
        Expected("train", "average length", 234, TABLE_5, ("tutek_snajder",), "with the dev reviews ours is 233.6"),
        Expected("train", "vocabulary", 41_919, TABLE_5, ("tutek_snajder",), "their least frequency is not given"),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "released": {"tokens": "keras"},
        "tutek_snajder": {"tokens": "words", "more_than": 0, "fewer_than": 0, "test_share": 1.0, "min_df": 2},
    }
    min_frequency: ClassVar[int] = 10

    tokens: Annotated[
        str, "`spacy`: English tokens; `keras`: words between punctuation, `br` among them; `words`: without it."
    ] = "spacy"
    more_than: Annotated[int, "Keep reviews with more tokens than this.", Within(0, 10**9)] = 6
    fewer_than: Annotated[int, "Keep reviews with fewer tokens than this; 0: no limit.", Within(0, 10**9)] = 400
    dev_share: Annotated[float, "The share of the training reviews that becomes the dev split.", SHARE] = 0.2
    test_share: Annotated[
        float, "The share of the official test reviews that is examined; 1.0: all.", Within(0, 1, without=(0,))
    ] = 0.2
    min_df: Annotated[int, "Training reviews a word must occur in to be known.", Within(0, 10**9)] = 10
    ratings: Annotated[
        bool, "The eight ratings that reviews have (1 to 4 and 7 to 10) as classes, instead of negative and positive."
    ] = False
    seed: Annotated[int, "Decides which reviews go to dev and into the test sample.", SEEDS] = 1378

    def __post_init__(self) -> None:
        if self.tokens not in ("spacy", "keras", "words"):
            raise InputError(f"Corpus 'imdb': tokens={self.tokens!r} is unknown. Write 'spacy', 'keras' or 'words'.")
        for name, share in (("dev_share", self.dev_share), ("test_share", self.test_share)):
            if not 0 < share <= 1 or (name == "dev_share" and share == 1):
                raise InputError(f"Corpus 'imdb': {name}={share} is no share. Write a number between 0 and 1.")

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """aclImdb/{train,test}/{neg,pos}/<number>_<rating>.txt, or the hub's Parquet files; both classes in turn."""
        parquet = {split: sorted(folder.rglob(f"{split}-*.parquet")) for split in self.splits}
        if all(parquet.values()):
            return {split: _from_hub(files, split) for split, files in parquet.items()}
        return {split: _official(folder, split) for split in self.splits}

    def prepare(self, rows: Rows) -> Prepared:
        """Train and dev from the official training reviews, a sample of the official test reviews; all streams."""
        left_out: list[str] = []
        parts = self._parts(rows, "train", {"train": 1 - self.dev_share, "dev": self.dev_share})
        if self.test_share < 1:
            parts |= self._parts(rows, "test", {"rest": 1 - self.test_share, "test": self.test_share})
            left_out.append(f"test: {len(parts['rest'])} texts left out: not in the {self.test_share:.0%} sample")
        splits = {
            split: self._stream(rows, official, split, parts.get(split), left_out)
            for split, official in (("train", "train"), ("dev", "train"), ("test", "test"))
        }
        if self.ratings:
            for split in ("train", "test"):
                counted(left_out, split, sum(row.get("rating") is None for row in rows(split)), "no rating", "review")
        classes = [f"{rating} of 10" for rating in RATINGS] if self.ratings else ("negative", "positive")
        return Prepared(splits, classes, self._preparation, left_out, min_frequency=self.min_df)

    @property
    def _preparation(self) -> str:
        how = {"spacy": "spaCy tokens", "keras": "words between punctuation, br kept", "words": "words"}[self.tokens]
        low = f"{self.more_than} < " if self.more_than else ""
        high = f" < {self.fewer_than}" if self.fewer_than else ""
        limits = f"; {low}tokens{high}" if low or high else ""
        return f"{how}, lower case{limits}; dev is {self.dev_share:.0%} of training (seed {self.seed})"

    def _parts(self, rows: Rows, official: str, shares: Mapping[str, float]) -> dict[str, frozenset[str]]:
        """The ids that go to each part, by label and a hash of the id."""
        ids, labels = zip(*((row["id"], str(row["label"])) for row in self._rated(rows(official))), strict=True)
        chosen = stratified(ids, labels, fractions=shares, seed=self.seed)
        return {part: frozenset(ids[place] for place in places.tolist()) for part, places in chosen.items()}

    def _rated(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The reviews, or with ``ratings`` those that have one, which takes the label's place."""
        if not self.ratings:
            yield from rows
            return
        none = True
        for row in rows:
            if row.get("rating") is not None:
                none = False
                yield {**row, "label": RATINGS.index(row["rating"])}
        if none:
            raise InputError("Corpus 'imdb': these reviews have no ratings; get the official archive.")

    def _stream(
        self, rows: Rows, official: str, split: str, chosen: frozenset[str] | None, left_out: list[str]
    ) -> Iterator[Instance]:
        wanted = (row for row in self._rated(rows(official)) if chosen is None or row["id"] in chosen)
        short = long = 0
        for review in self._tokenised(wanted):
            length = len(review.tokens)
            if length <= self.more_than:
                short += 1
            elif self.fewer_than and length >= self.fewer_than:
                long += 1
            else:
                yield review
        counted(left_out, split, short, f"{self.more_than} tokens or fewer")
        counted(left_out, split, long, f"{self.fewer_than} tokens or more")

    def _tokenised(self, rows: Iterable[Row]) -> Iterator[Instance]:
        if self.tokens == "spacy":
            return instances(rows, _without_breaks, lambda row: int(row["label"]), mask_digits=False)
        text = _without_breaks if self.tokens == "words" else lambda row: str(row["text"])
        return (Instance(row["id"], _words(text(row)), int(row["label"])) for row in rows)


def _without_breaks(row: Row) -> str:
    return str(row["text"]).replace("<br />", " ")


def _words(text: str) -> list[str]:
    """Keras' words: lower case, its punctuation for spaces, apostrophes kept."""
    return text.lower().translate(SPACED).split()


def _official(folder: Path, split: str) -> Iterator[Row]:
    found: list[list[Path]] = []
    for name in ("neg", "pos"):
        places = sorted(path for path in folder.rglob(f"{split}/{name}") if path.is_dir())
        files = [path for path in places[0].iterdir() if path.suffix == ".txt"] if places else []
        if not files:
            raise InputError(f"{folder} holds no {split}/{name}/*.txt: give the folder that holds aclImdb/{split}.")
        found.append(sorted(files, key=_number))
    for label, path in (numbered for both in zip_longest(*found) for numbered in enumerate(both)):
        if path is None:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8 ({error.reason}): it is not the official file.") from error
        number, _, rating = path.stem.partition("_")
        if not (number.isdigit() and rating.isdigit()):
            raise InputError(f"{path} is not named <number>_<rating>.txt, as the official reviews are.")
        name = f"{split}/{'pos' if label else 'neg'}/{path.stem}"
        yield {"id": name, "text": text, "label": label, "rating": int(rating)}


def _from_hub(files: Iterable[Path], split: str) -> Iterator[Row]:
    """The hub's reviews, which have no numbers and no ratings: they are numbered in its order."""
    found: list[list[str]] = [[], []]
    for path in files:
        table = read_table(path)
        for text, label in zip(table.cells("text"), table.cells("label"), strict=True):
            if label not in (0, 1):
                raise InputError(f"{path} holds the label {label!r}: the labelled reviews have 0 or 1.")
            found[label].append(str(text))
    for number, both in enumerate(zip_longest(*found)):
        for label, text in enumerate(both):
            if text is not None:
                yield {"id": f"{split}/{'pos' if label else 'neg'}/hub-{number}", "text": text, "label": label}


def _number(path: Path) -> tuple[int, str]:
    number = path.stem.partition("_")[0]
    return (int(number) if number.isdigit() else -1, path.name)
