"""Pretrained word vectors for a vocabulary, from GloVe or fastText text, or from .npz."""

from __future__ import annotations

import codecs
import gzip
import itertools
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from attentest.data.corpus import Split
from attentest.data.vocabulary import PAD, SPECIAL, Vocabulary
from attentest.errors import InputError
from attentest.memory import at_most

__all__ = ["Missing", "Vectors", "check_vectors", "load_vectors"]

#: Bytes that reading a file of vectors may take.
MEMORY = 8 << 30
#: Bytes of a line.
LONGEST = 1 << 20

Missing = Literal["normal", "zero"]


@dataclass(frozen=True)
class Vectors:
    """One vector per word of the vocabulary, and how much of it, and of its texts, the file covers."""

    matrix: Float[np.ndarray, "word dimension"]
    found: Bool[np.ndarray, " word"]
    #: The share of the vocabulary's words (without the special ones) that have a vector.
    types: float
    #: The share of a split's tokens that have a vector, where a split was given.
    tokens: float | None = None

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])


def load_vectors(
    path: str | PathLike[str],
    vocabulary: Vocabulary,
    *,
    missing: Missing = "normal",
    seed: int = 0,
    split: Split | None = None,
) -> Vectors:
    """The vocabulary's vectors; other words get N(0, 1) (Jain & Wallace, paper) or zeros (released code)."""
    path = Path(path)
    check_vectors(path)
    index = {word.encode(): i for i, word in enumerate(vocabulary.words) if word not in SPECIAL}
    try:
        with at_most(MEMORY):
            dimension, rows = (_from_npz if _ending(path) == ".npz" else _from_text)(path, index)
    except MemoryError as error:
        raise InputError(
            f"{path.name} takes more than {MEMORY >> 30} GB of memory to read: give a part of it, with fewer words."
        ) from error
    if index and not rows:
        raise InputError(f"{path.name} has a vector for none of the vocabulary's {len(index)} words.")
    matrix = np.zeros((len(vocabulary), dimension), np.float32)
    if missing == "normal":
        matrix = np.random.default_rng(seed).standard_normal(matrix.shape, dtype=np.float32)
        matrix[PAD] = 0
    found = np.zeros(len(vocabulary), bool)
    for row, vector in rows.items():
        matrix[row], found[row] = vector, True
    return Vectors(matrix, found, len(rows) / max(len(index), 1), _covered(found, vocabulary, split))


def check_vectors(path: Path) -> None:
    """Refuse what no word vectors can be read from, by its name and its first line."""
    if not path.is_file():
        raise InputError(f"{path} is no file: name word vectors as .txt, .vec (both also .gz) or .npz.")
    if _ending(path) not in (".npz", ".txt", ".vec"):
        raise InputError(f"{path.name} is of no known format: word vectors are .txt, .vec or .npz files.")
    if _ending(path) != ".npz":
        first = list(itertools.islice(_lines(path, LONGEST), 2))
        dimension, lines = _begun(path, iter(first))
        for number, line in lines:
            _vector(path, number, _word_and_numbers(path, number, line, dimension)[1])


def _ending(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def _covered(found: np.ndarray, vocabulary: Vocabulary, split: Split | None) -> float | None:
    if split is None:
        return None
    values, _ = vocabulary.encode(split.table["tokens"])
    return float(found[values].mean()) if len(values) else 0.0


def _from_npz(path: Path, index: Mapping[bytes, int]) -> tuple[int, dict[int, np.ndarray]]:
    """The array ``vectors`` for the names in ``words``: an array, or one text with a word a line."""
    try:
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            words, vectors = arrays["words"], arrays["vectors"]
    except (LookupError, ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path.name} is no .npz file of plain arrays 'words' and 'vectors' ({_first_line(error)})."
        ) from error
    names = str(words).split("\n") if words.ndim == 0 else words.tolist()
    if words.dtype.kind != "U" or vectors.dtype.kind != "f" or vectors.ndim != 2 or len(names) != len(vectors):
        raise InputError(
            f"{path.name}: 'words' ({words.dtype}, {len(names)}) must be text, one word for each row of "
            f"floating-point 'vectors' ({vectors.dtype}, shape {vectors.shape})."
        )
    if not np.isfinite(vectors).all():
        raise InputError(f"{path.name}: 'vectors' holds a number that is not finite.")
    rows: dict[int, np.ndarray] = {}
    for number, word in enumerate(names):
        row = index.get(word.encode())
        if row is not None and row not in rows:
            rows[row] = vectors[number].astype(np.float32)
    return int(vectors.shape[1]), rows


def _from_text(path: Path, index: Mapping[bytes, int]) -> tuple[int, dict[int, np.ndarray]]:
    """Words and their numbers, line by line; a first line ``count dimension`` (fastText) is no word."""
    dimension, lines = _begun(path, _lines(path, LONGEST))
    rows: dict[int, np.ndarray] = {}
    for number, line in lines:
        word, numbers = _word_and_numbers(path, number, line, dimension)
        row = index.get(word)
        if row is not None and row not in rows:
            rows[row] = _vector(path, number, numbers)
    return dimension, rows


def _begun(path: Path, lines: Iterator[tuple[int, bytes]]) -> tuple[int, Iterator[tuple[int, bytes]]]:
    """How many numbers a word has, and the lines of words."""
    number, line = next(lines, (1, b""))
    first = line.removeprefix(codecs.BOM_UTF8).split(b" ")
    if len(first) == 2 and all(field.isdigit() for field in first):
        dimension = int(first[1])
    else:
        dimension = len(first) - 1
        lines = itertools.chain([(number, b" ".join(first))], lines)
    if dimension < 1:
        raise InputError(f"{path.name}, line {number}: expected a word and its numbers, got {line[:40]!r}.")
    return dimension, lines


def _word_and_numbers(path: Path, number: int, line: bytes, dimension: int) -> tuple[bytes, bytes]:
    word, _, numbers = line.partition(b" ")
    return (word, numbers) if line.count(b" ") == dimension else _spaced_word(path, number, line, dimension)


def _lines(path: Path, longest: int) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank. As bytes: some words hold what Unicode takes for an end of line."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(longest), b""), start=1):
                if len(line) >= longest:
                    raise InputError(
                        f"{path.name}, line {number} is longer than {longest >> 20} MB: no word vector is."
                    )
                if stripped := line.rstrip(b" \r\n"):
                    yield number, stripped
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path.name} cannot be read ({_first_line(error)}): copy it again.") from error


def _spaced_word(path: Path, number: int, line: bytes, dimension: int) -> tuple[bytes, bytes]:
    """A word that holds spaces, as some of glove.840B do, and its numbers."""
    word, *numbers = line.rsplit(b" ", dimension)
    if len(numbers) < dimension or _is_number(word.rpartition(b" ")[2]):
        raise InputError(
            f"{path.name}, line {number} has {line.count(b' ')} numbers where {dimension} were expected: "
            "the file is damaged or of another format."
        )
    return word, b" ".join(numbers)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _vector(path: Path, number: int, numbers: bytes) -> np.ndarray:
    try:
        vector = np.array([float(field) for field in numbers.split(b" ")], np.float32)
    except ValueError as error:
        raise InputError(
            f"{path.name}, line {number}: {_first_line(error)}. The file is damaged, or of another format."
        ) from error
    if not np.isfinite(vector).all():
        raise InputError(f"{path.name}, line {number} holds a number that is not finite.")
    return vector


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0].rstrip(".")
