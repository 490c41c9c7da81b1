"""Remove and retrain (Hooker et al. 2019): texts without the tokens that an explainer of a first model ranks highest.

If the tokens mattered, a model trained without them is worse. Unlike erasure at test time, the new model has met texts
with gaps: nothing falls off the manifold it was trained on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import torch

from attentest.data.batches import Batch, Encoded, bucketed
from attentest.data.corpus import Corpus, Split
from attentest.data.sentences import kept_sentences
from attentest.data.vocabulary import SPECIAL, UNKNOWN, Vocabulary
from attentest.errors import InputError, StorageError
from attentest.explainers import EXPLAINERS, Explainer
from attentest.models.subject import Subject
from attentest.progress import SILENT, Progress
from attentest.store.atomic import replacing
from attentest.store.folder import RunFolder

__all__ = ["Removal", "ranks_of", "without_top"]


@dataclass(frozen=True)
class Removal:
    """Remove and retrain (ROAR): the model is trained on texts without the tokens that an explainer ranks highest.

    The explainer explains a first model of the same kind and seed, trained on the whole texts.
    """

    explainer: str
    #: The share of every text's tokens that is removed.
    share: float
    #: "mask": the unknown word takes their place; "delete": they are gone.
    by: Literal["mask", "delete"] = "mask"

    def __post_init__(self) -> None:
        EXPLAINERS.parse(self.explainer)
        if not 0 < self.share < 1:
            raise InputError(f"removal_share={self.share} must lie between 0 and 1.")
        if self.by not in ("mask", "delete"):
            raise InputError(f"removal_by={self.by!r} must be 'mask' or 'delete'.")


def ranks_of(
    folder: RunFolder,
    subject: Subject,
    vocabulary: Vocabulary,
    corpus: Corpus,
    explainer: str,
    progress: Progress = SILENT,
) -> dict[str, np.ndarray]:
    """Every token's place in the explainer's ranking of its text, 0 the highest; kept in the first model's folder."""
    name = f"ranks-{hashlib.sha256(explainer.encode()).hexdigest()[:12]}.npz"
    if not folder.is_finished(name, progress.say):
        method = EXPLAINERS.parse(explainer)
        found = {split: _ranked(subject, corpus[split], vocabulary, method, progress) for split in corpus.splits}
        with replacing(folder.path / name) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **found)
        folder.finish(name, explainer=explainer)
    try:
        with np.load(folder.verify(name), allow_pickle=False) as kept:
            return {split: kept[split] for split in corpus.splits}
    except (OSError, ValueError, KeyError) as error:
        raise StorageError(f"{folder.path / name} cannot be read ({error}). Delete it and run again.") from error


@torch.no_grad()
def _ranked(
    subject: Subject, split: Split, vocabulary: Vocabulary, method: Explainer, progress: Progress
) -> np.ndarray:
    encoded, subject = Encoded.of(split, vocabulary), subject.at("word")
    offsets = np.concatenate([[0], np.cumsum(split.lengths)])
    out = np.zeros(offsets[-1], np.int32)
    with progress.stage("Explaining", len(split)) as tick:
        for batches in bucketed(encoded):
            for batch in batches:
                here = batch.to(subject.device)
                scores = method.scores(subject, here, subject.read(here)).double()
                _place(out, offsets, here, scores)
                tick(len(batch))
    return out


def _place(out: np.ndarray, offsets: np.ndarray, batch: Batch, scores: torch.Tensor) -> None:
    """Write the ranks of a batch to where its texts lie; equal scores rank in the order of the text."""
    order = torch.where(batch.mask, scores, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    ranks = order.argsort(-1)
    rows, lengths = batch.rows.cpu().numpy(), batch.mask.sum(-1).cpu().numpy()
    starts = np.repeat(offsets[rows], lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    out[starts + within] = ranks[batch.mask].cpu().numpy()


def without_top(corpus: Corpus, ranks: dict[str, np.ndarray], removal: Removal) -> Corpus:
    """The corpus with the highest ranked share of every text's tokens masked or deleted (one token always stays)."""
    splits = {name: _reduced(split, ranks[name], removal) for name, split in corpus.splits.items()}
    return Corpus(
        corpus.name, corpus.classes, splits, corpus.provenance, task=corpus.task, min_frequency=corpus.min_frequency
    )


def _reduced(split: Split, ranks: np.ndarray, removal: Removal) -> Split:
    lengths = split.lengths
    if len(ranks) != lengths.sum():
        raise StorageError("The kept ranking belongs to another corpus. Delete the first model's run and run again.")
    most = np.minimum(np.ceil(removal.share * lengths).astype(np.int64), np.maximum(lengths - 1, 0))
    gone = ranks < np.repeat(most, lengths)
    tokens = pa.concat_arrays([chunk.flatten() for chunk in split.table["tokens"].chunks])
    if removal.by == "mask":
        values, kept = pa.compute.if_else(pa.array(gone), SPECIAL[UNKNOWN], tokens), lengths
    else:
        values, kept = tokens.filter(pa.array(~gone)), lengths - most
    offsets = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)
    table = split.table.select(["id", "label"])
    table = table.append_column("tokens", pa.ListArray.from_arrays(offsets, values))
    if split.has("sentences"):
        left = np.ones_like(gone) if removal.by == "mask" else ~gone
        table = table.append_column("sentences", kept_sentences(split, left))
    return Split(table.combine_chunks())
