"""Put challenges to a subject over a whole split: read each batch once, write findings as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from attentest.challenges import Challenge, Examination
from attentest.challenges.companions import Companion
from attentest.data.batches import Batch, Encoded, bucketed
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers.budget import ran_out
from attentest.measures.human_agreement import Annotations
from attentest.models.pretrained.memory import give_back, give_back_if_grown
from attentest.models.pretrained.pretrained import Pretrained
from attentest.models.subject import Reading, Subject
from attentest.progress import SILENT, Progress
from attentest.registry import parameters_of, text_of
from attentest.store.atomic import replacing
from attentest.store.findings import FindingsWriter
from attentest.studies.room import Room

__all__ = ["Texts", "examine"]


@dataclass(frozen=True)
class _Marks:
    """A split's rationale as flat flags, cut into padded batches on demand."""

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, split: Split) -> _Marks | None:
        if not split.has("rationale"):
            return None
        offsets = np.concatenate([[0], np.cumsum(split.lengths)])
        values = np.zeros(offsets[-1], bool)
        start = 0
        for chunk in split.table["rationale"].chunks:
            # A text without marks has none that decides; the others have one flag per token.
            marked = np.repeat(
                chunk.is_valid().to_numpy(zero_copy_only=False), split.lengths[start : start + len(chunk)]
            )
            place = values[offsets[start] : offsets[start + len(chunk)]]
            place[marked] = chunk.flatten().to_numpy(zero_copy_only=False)
            start += len(chunk)
        return cls(values, offsets)

    def batch(self, batch: Batch) -> torch.Tensor:
        """The flags of a batch at the positions of its real tokens."""
        mask = batch.mask.cpu()
        out = torch.zeros_like(mask)
        rows = batch.rows.cpu().numpy()
        parts = [self.values[self.offsets[row] : self.offsets[row + 1]] for row in rows]
        out[mask] = torch.from_numpy(np.concatenate(parts).astype(bool))
        return out.to(batch.mask.device)


@dataclass(frozen=True)
class _People:
    """What each person marked, as flat flags: text by text, person by person."""

    counts: np.ndarray
    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, split: Split) -> _People | None:
        if not split.has("annotations"):
            return None
        column = split.table["annotations"]
        counts = pc.list_value_length(column).fill_null(0).to_numpy()
        values = pc.list_flatten(pc.list_flatten(column)).to_numpy()
        return cls(counts, values, np.concatenate([[0], np.cumsum(counts * split.lengths)]))

    def batch(self, batch: Batch) -> Annotations:
        """The flags of a batch, with room for as many people as any text has."""
        mask, rows = batch.mask.cpu(), batch.rows.cpu().numpy()
        there = torch.from_numpy(np.arange(self.counts.max(initial=0)) < self.counts[rows, None])
        marked = there[:, :, None] & mask[:, None]
        flags = torch.zeros_like(marked)
        parts = [self.values[self.offsets[row] : self.offsets[row + 1]] for row in rows]
        flags[marked] = torch.from_numpy(np.concatenate(parts).astype(bool))
        return Annotations(flags.to(batch.mask.device), there.to(batch.mask.device))


@dataclass(frozen=True)
class Texts:
    """Where the rows to examine are steps of writing: the texts themselves, and the words they are written with."""

    split: Split
    vocabulary: Vocabulary

    def targets(self, batch: Batch) -> pa.ListArray:
        """The words to write, text by text."""
        assert batch.target is not None
        return self.split.take(batch.target.sentences.cpu().numpy()).table["target"].chunk(0)


def examine(
    subject: Subject,
    split: Split,
    encoded: Encoded,
    challenges: Mapping[str, Challenge],
    folder: Path,
    *,
    seed: int,
    meaning: str = "",
    companions: Mapping[Companion, Subject] | None = None,
    written: Texts | None = None,
    workers: int = 1,
    progress: Progress = SILENT,
) -> None:
    """Write ``folder/<name>.parquet`` for every challenge, rows in the split's order, whole files or none.

    Batches are examined side by side by ``workers`` threads with one torch thread each; what they find does not
    depend on how many there are. ``meaning`` says what the split's marks are: planted, human, or nothing;
    ``companions`` are the other models that the challenges compare the subject with. Where texts are ``written``, the
    rows of the split are steps, all of a text in one batch; a challenge of texts gives rows of texts.
    """
    marks, people, room = _Marks.of(split), _People.of(split), Room(subject, encoded)
    texts = Split(split.table.select([name for name in ("tokens", "sentences") if split.has(name)]))

    seconds = Split(split.table.select(["second"])) if split.has("second") else None

    def examined(batch: Batch) -> dict[str, pa.Table]:
        """The findings of a batch; halved when memory runs out, as it may where several runs share a card."""
        if room.holds(batch):
            try:
                found = whole(batch)
            except RuntimeError as error:
                if batch.texts == 1 or not ran_out(error):
                    raise
                room.shrink(batch)
            else:
                if news := room.news():
                    progress.say(news)
                return found
            # Beyond the except block, so that the failed call's tensors are free by now.
            _give_back_memory(subject)
        halves = [examined(half) for half in batch.halves()]
        return {name: pa.concat_tables([half[name] for half in halves]) for name in challenges}

    @torch.no_grad()
    def whole(batch: Batch) -> dict[str, pa.Table]:
        batch = batch.to(subject.device)
        reading = subject.read(batch)
        examination = Examination(
            subject,
            batch,
            reading,
            seed,
            _items(texts.take(batch.rows.cpu().numpy()), reading),
            None if marks is None else _any(reading, marks.batch(batch)),
            marks=meaning,
            second=None if seconds is None else _words(seconds, batch),
            annotations=None if people is None else _of_items(reading, people.batch(batch)),
            texts=len(encoded),
            companions=companions or {},
            donors=encoded.batch,
            vocabulary=None if written is None else written.vocabulary,
            targets=None if written is None else written.targets(batch),
        )
        found: dict[str, pa.Table] = {}
        for name, challenge in challenges.items():
            table = challenge.examine(examination)
            found[name] = _with_prediction(table, examination, of_texts=challenge.of_texts)
            if isinstance(subject, Pretrained):
                give_back_if_grown()
        tick(batch.texts)
        return found

    with contextlib.ExitStack() as stack:
        writers: dict[str, FindingsWriter] = {}
        for name, challenge in challenges.items():
            path = stack.enter_context(replacing(folder / f"{name}.parquet"))
            measures, parameters = challenge.measures_of(subject), parameters_of(challenge)
            writer = FindingsWriter(path, text_of(challenge), measures, parameters)
            writers[name] = stack.enter_context(writer)
        tick = stack.enter_context(progress.stage("Examining", len(encoded)))
        pool = stack.enter_context(_pool(workers))
        for batches in bucketed(encoded, tokens=room.positions, sizes=room.sizes):
            # The longest first, so that no worker is left alone with them at the end.
            done = list(pool.map(examined, reversed(batches)))
            for name, writer in writers.items():
                of = split if written is None or not challenges[name].of_texts else written.split
                writer.write(_ordered([found[name] for found in reversed(done)], of))
            _give_back_memory(subject)


def _words(texts: Split, batch: Batch) -> pa.ListArray:
    """The words of the batch's second texts."""
    return texts.take(batch.rows.cpu().numpy()).table["second"].chunk(0)


def _items(texts: Split, reading: Reading) -> pa.ListArray:
    """What the attention weighs, as text: the tokens, or the sentences, their tokens joined by spaces."""
    tokens = texts.table["tokens"].chunk(0)
    if reading.groups is None:
        return tokens
    sizes = texts.table["sentences"].chunk(0)
    cuts = np.concatenate([[0], np.cumsum(sizes.flatten().to_numpy())]).astype(np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(cuts, tokens.flatten()), " ")
    counts = sizes.value_lengths().to_numpy(zero_copy_only=False)
    return pa.ListArray.from_arrays(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), joined)


def _any(reading: Reading, flags: torch.Tensor) -> torch.Tensor:
    """Whether any position of an item is marked."""
    return flags if reading.groups is None else reading.pooled(flags.long()) > 0


def _of_items(reading: Reading, annotations: Annotations) -> Annotations:
    """What each person marked, any word of an item marking it."""
    return annotations._replace(flags=_any(reading, annotations.flags))


def _give_back_memory(subject: Subject) -> None:
    """What was freed goes back to the device, or to the system, where the C library keeps it for itself."""
    if subject.device.type == "cuda":
        torch.cuda.empty_cache()
    else:
        give_back()


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that stop at the first failure (or Ctrl-C) instead of finishing what is queued."""
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _with_prediction(table: pa.Table, examination: Examination, *, of_texts: bool) -> pa.Table:
    """Add the predicted class, so that any findings can be grouped by it; of whole texts there is none."""
    if of_texts and examination.batch.target is not None:
        return table.append_column("predicted", pa.nulls(len(table), pa.int32()))
    predicted = examination.reading.predicted.cpu().numpy().astype(np.int32)
    rows = examination.rows
    order = np.argsort(rows)
    at = order[np.searchsorted(rows, table["row"].to_numpy(), sorter=order)]
    return table.append_column("predicted", pa.array(predicted[at]))


def _ordered(tables: Sequence[pa.Table], of: Split) -> pa.Table:
    """One chunk's findings in the split's order, instance ids first; of steps of writing, their sentences' next."""
    table = pa.concat_tables(tables)
    table = table.take(pa.array(np.argsort(table["row"].to_numpy(), kind="stable")))
    for place, name in enumerate(name for name in ("id", "sentence") if of.has(name)):
        table = table.add_column(place, name, of.table[name].take(table["row"]))
    return table.drop_columns(["row"]).combine_chunks()
