"""Clusters of embeddings and of states, learned from a sample of training tokens, in bounded memory.

The texts are read twice: once to move the centres, once to label the tokens by the nearest. Only a block of texts is
held at a time (some 30 MB for vectors of 300 numbers), and three labels for every token.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Encoded
from attentest.data.vocabulary import END
from attentest.models.subject import Reading, Subject
from attentest.statistics.information import Information, information, pointwise

__all__ = ["Clusters", "KMeans", "Sample", "nearest", "one_state_each"]

#: Texts are shuffled and read so many at a time, in batches of so many padded positions.
CHUNK, POSITIONS = 1024, 16384
#: The centres are drawn (k-means++) from so many times as many representations as there are clusters.
FIRST = 3
#: Distances that are computed at once.
CELLS = 1 << 24


@dataclass(frozen=True)
class Sample:
    """Which tokens of the training texts are clustered: some words, in texts drawn at random."""

    #: The words' indices.
    words: np.ndarray
    #: The texts, in the order in which they are read.
    rows: np.ndarray
    #: At most so many tokens.
    most: int
    seed: int

    @classmethod
    def of(cls, encoded: Encoded, words: int, how: str, most: int, seed: int) -> Sample:
        """The most frequent words, or words drawn in proportion to their frequency to the power of ¾."""
        random, (tokens, offsets) = np.random.default_rng(seed), encoded.text
        counts = np.bincount(tokens, minlength=END + 1).astype(np.float64)
        counts[: END + 1] = 0
        known = int((counts > 0).sum())
        with np.errstate(divide="ignore"):
            keys = np.log(counts) if how == "frequent" else 0.75 * np.log(counts) + random.gumbel(size=len(counts))
        chosen = np.sort(np.argsort(-keys, kind="stable")[: min(words, known)])
        here = np.concatenate([[0], np.cumsum(np.isin(tokens, chosen))])
        of_text = here[offsets[1:]] - here[offsets[:-1]]
        rows = random.permutation(len(encoded))
        rows = rows[of_text[rows] > 0]
        before = np.cumsum(of_text[rows]) - of_text[rows]
        return cls(chosen, rows[before < most], most, seed)

    def blocks(self, subject: Subject, encoded: Encoded) -> Iterator[tuple[Tensor, Tensor, np.ndarray]]:
        """Embeddings, states and rows of the tokens, shuffled within every batch of texts."""
        left, words = self.most, torch.from_numpy(self.words).to(subject.device)
        for number, start in enumerate(range(0, len(self.rows), CHUNK)):
            rows = self.rows[start : start + CHUNK]
            rows = rows[np.argsort(encoded.lengths[rows], kind="stable")]
            size = max(1, POSITIONS // (int(encoded.lengths[rows[-1]]) + 2))
            parts = np.split(rows, np.arange(size, len(rows), size))
            random = np.random.default_rng([self.seed, number])
            for part in (parts[place] for place in random.permutation(len(parts))):
                batch = encoded.batch(part).to(subject.device)
                reading = subject.read(batch)
                here = torch.isin(batch.text.tokens, words) & batch.mask
                order = torch.from_numpy(random.permutation(int(here.sum()))[: max(left, 0)]).to(subject.device)
                left -= len(order)
                text = batch.rows[:, None].expand_as(here)[here][order].cpu().numpy()
                yield reading.embeddings[here][order], reading.states[here][order], text


def one_state_each(reading: Reading) -> bool:
    """Whether every position has an embedding and a state."""
    return reading.groups is None and reading.embeddings.shape[:2] == reading.states.shape[:2] == reading.mask.shape


@dataclass(frozen=True)
class KMeans:
    """How the vectors are clustered."""

    clusters: int
    batch: int
    reassignment: float

    def begun(self, first: int, seed: int) -> Any:
        """The estimator before the first vectors, which are so many."""
        # Here, because every audit imports this module, and scikit-learn takes as long to import as torch.
        from sklearn.cluster import MiniBatchKMeans

        return MiniBatchKMeans(
            min(self.clusters, first),
            batch_size=self.batch,
            n_init=1,
            init_size=first,
            random_state=seed,
            reassignment_ratio=self.reassignment,
            # The labels of every batch would cost as much again, and nobody asks for them.
            compute_labels=False,
        )


@dataclass(frozen=True)
class Clusters:
    """Centres of embeddings and states, and what the training tokens' clusters say of each other."""

    words: Int[Tensor, " word"]
    embeddings: Float[Tensor, "cluster embedding"]
    states: Float[Tensor, "cluster state"]
    tokens: int
    found: Information
    #: The standard error of the information, by text.
    error: float
    #: The information of the same labels, those of states shuffled.
    chance: float
    #: How often each cluster of states occurs, summed up to one.
    cumulative: np.ndarray

    @classmethod
    def learned(cls, subject: Subject, encoded: Encoded, sample: Sample, asked: KMeans) -> Clusters:
        """Centres by mini-batch k-means, each token seen once, and the labels of the same tokens by them."""
        centres = [torch.from_numpy(one).to(subject.device) for one in _centres(subject, encoded, sample, asked)]
        found = [
            (*(nearest(vectors, of).cpu().numpy() for vectors, of in zip(pair, centres, strict=True)), text)
            for *pair, text in sample.blocks(subject, encoded)
        ]
        first, second, texts = (np.concatenate(labels) for labels in zip(*found, strict=True))
        shuffled = np.random.default_rng([sample.seed, 1]).permutation(second)
        return cls(
            torch.from_numpy(sample.words).to(subject.device),
            centres[0],
            centres[1],
            len(first),
            information(first, second),
            _error(pointwise(first, second), texts),
            information(first, shuffled).value,
            np.cumsum(np.bincount(second, minlength=len(centres[1]))) / len(second),
        )


def nearest(vectors: Float[Tensor, "vector size"], centres: Float[Tensor, "cluster size"]) -> Int[Tensor, " vector"]:
    """The nearest centre of every vector, the lowest where several are as near."""
    half = centres.square().sum(-1) / 2
    parts = vectors.to(centres).split(max(1, CELLS // len(centres)))
    return torch.cat([(half - part @ centres.T).argmin(-1) for part in parts])


def _centres(subject: Subject, encoded: Encoded, sample: Sample, asked: KMeans) -> list[np.ndarray]:
    """Of embeddings and of states: the first vectors give the centres (k-means++), then they move batch by batch."""
    fits: list[Any] = []
    for pair in _cut(sample.blocks(subject, encoded), FIRST * asked.clusters, asked.batch):
        if not fits:
            fits = [asked.begun(len(pair[0]), sample.seed) for _ in pair]
        for fit, vectors in zip(fits, pair, strict=True):
            fit.partial_fit(vectors)
    return [np.asarray(fit.cluster_centers_, dtype=np.float32) for fit in fits]


def _cut(blocks: Iterator[tuple[Tensor, Tensor, np.ndarray]], first: int, size: int) -> Iterator[list[np.ndarray]]:
    """The vectors of all blocks cut anew: so many first, then so many at a time, and what is left."""
    waiting: list[np.ndarray] = []
    for *pair, _ in blocks:
        came = [vectors.float().cpu().numpy() for vectors in pair]
        waiting = [np.concatenate(both) for both in zip(waiting, came, strict=True)] if waiting else came
        start = 0
        while len(waiting[0]) - start >= first:
            yield [vectors[start : start + first] for vectors in waiting]
            start, first = start + first, size
        waiting = [vectors[start:] for vectors in waiting]
    if waiting and len(waiting[0]):
        yield waiting


def _error(values: np.ndarray, texts: np.ndarray) -> float:
    """The standard error of the mean, whole texts drawn (the delta method for a ratio of sums)."""
    _, text, sizes = np.unique(texts, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        return float("nan")
    apart = np.bincount(text, values) - values.mean() * sizes
    return float(np.sqrt(len(sizes) / (len(sizes) - 1) * (apart**2).sum()) / len(values))
