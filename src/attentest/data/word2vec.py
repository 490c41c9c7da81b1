"""Word vectors trained on a corpus's own training texts, as Jain & Wallace (2019) did for MIMIC."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attentest.data.corpus import Corpus, Split
from attentest.data.files.unfinished import part_of
from attentest.data.vectors import Vectors, load_vectors
from attentest.data.vocabulary import SPECIAL, Vocabulary
from attentest.errors import InputError, StorageError
from attentest.progress import SILENT, Progress

__all__ = ["Word2Vec"]

BATCH = 1024


@dataclass(frozen=True)
class Word2Vec:
    """gensim's word2vec on one thread: the same corpus and fields give the same vectors."""

    dimension: int = 300
    window: int = 5
    epochs: int = 5
    #: Predict the context from the word (skip-gram) instead of the word from its context.
    skip_gram: bool = False
    seed: int = 0

    def train(self, corpus: Corpus, path: Path, *, progress: Progress = SILENT) -> Vectors:
        """Write the vectors of the training vocabulary to an .npz file; give them as they will be read."""
        if path.suffix.lower() != ".npz":
            raise InputError(f"{path} must end with .npz: vectors are kept as plain arrays 'words' and 'vectors'.")
        for name in ("dimension", "window", "epochs"):
            if getattr(self, name) < 1:
                raise InputError(f"word2vec: {name}={getattr(self, name)} must be 1 or more.")
        split = corpus["train"]
        vocabulary = Vocabulary.from_split(split, corpus.min_frequency)
        words, matrix = self._trained(_Texts(split, frozenset(vocabulary.words) - set(SPECIAL)), progress)
        _write(path, words, matrix)
        return load_vectors(path, vocabulary, split=split)

    def _trained(self, texts: _Texts, progress: Progress) -> tuple[list[str], np.ndarray]:
        library = _library()
        if not texts.words:
            raise InputError("word2vec: no word occurs often enough to have a vector. Give a larger corpus.")
        model = library.Word2Vec(
            vector_size=self.dimension,
            window=self.window,
            min_count=1,
            sg=int(self.skip_gram),
            seed=self.seed,
            workers=1,
        )
        model.build_vocab(texts)
        with progress.stage("word2vec", self.epochs * len(texts.split)) as tick:
            texts.tick = tick
            model.train(texts, total_examples=len(texts.split), epochs=self.epochs)
        return list(model.wv.index_to_key), np.asarray(model.wv.vectors, np.float32)


class _Texts:
    """The known words of every text, read anew each epoch, a few texts in memory at a time."""

    def __init__(self, split: Split, words: frozenset[str]) -> None:
        self.split = split
        self.words = words
        self.tick: Any = lambda units: None

    def __iter__(self) -> Iterator[list[str]]:
        for batch in self.split.table.select(["tokens"]).to_batches(max_chunksize=BATCH):
            for tokens in batch["tokens"].to_pylist():
                yield [token for token in tokens if token in self.words]
            self.tick(len(batch))


def _library() -> Any:
    try:
        return importlib.import_module("gensim.models")
    except ImportError as error:
        raise InputError(
            "Training word vectors needs the package gensim, which is not installed: pip install 'attentest[word2vec]'."
        ) from error


def _write(path: Path, words: list[str], matrix: np.ndarray) -> None:
    temporary = part_of(path)
    try:
        with temporary.open("xb") as file:
            np.savez(file, words=np.array("\n".join(words)), vectors=matrix)
        temporary.replace(path)
    except OSError as error:
        raise StorageError(f"Cannot write {path}: {error.strerror or error}. Name another file with --out.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
