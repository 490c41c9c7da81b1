"""What the challenges say of a batch: it is read once, put to each of them, and halved where memory runs out."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from attentest.challenges.challenge import Challenge, Examination
from attentest.challenges.companions import Companion
from attentest.challenges.edits.twins import EditedTexts
from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.rationales import Annotators, Rationales
from attentest.data.vocabulary import Vocabulary
from attentest.devices import ran_out
from attentest.errors import line_of
from attentest.explainers.drawn_words import Continuations
from attentest.measures.human_agreement import Annotations
from attentest.memory import give_back, give_back_if_grown
from attentest.models.subject import Reading, Subject
from attentest.runs.examination.batch_limit import BatchLimit
from attentest.runs.examination.finite import finite_only
from attentest.training.training_texts import TrainingTexts

__all__ = ["Examined", "Examiner", "Stopped", "Texts", "give_back_memory", "in_order"]


@dataclass(frozen=True)
class Texts:
    """Where the rows to examine are steps of writing: the texts themselves, and the words they are written with."""

    split: Split
    vocabulary: Vocabulary

    def targets(self, batch: Batch) -> pa.ListArray:
        """The words to write, text by text."""
        assert batch.target is not None
        return self.split.take(batch.target.sentences.cpu().numpy()).table["target"].chunk(0)


@dataclass(frozen=True)
class Examined:
    """What a batch gave, and the seconds it took, challenge by challenge; the key '' holds the forward pass."""

    tables: Mapping[str, pa.Table]
    seconds: Mapping[str, float]


class Stopped(Exception):
    """The examination was given up."""


@dataclass
class Examiner:
    """Puts the challenges to batches, from several threads; a challenge that fails is not put again."""

    subject: Subject
    split: Split
    encoded: Encoded
    challenges: Mapping[str, Challenge]
    limit: BatchLimit
    seed: int
    meaning: str
    companions: Mapping[Companion, Subject]
    written: Texts | None
    say: Callable[[str], None]
    training: TrainingTexts | None = None
    failed: dict[str, Exception] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._rationales, self._annotators = Rationales.of(self.split), Annotators.of(self.split)
        self._edits = EditedTexts.of(self.split)
        self._texts = Split(self.split.table.select([n for n in ("tokens", "sentences") if self.split.has(n)]))
        self._continuations = Continuations(*self.encoded.text)
        self._seconds = Split(self.split.table.select(["second"])) if self.split.has("second") else None

    def examined(self, batch: Batch, names: Sequence[str]) -> Examined:
        """The findings of a batch; halved when memory runs out, as it may where several runs share a card."""
        if self.limit.holds(batch):
            try:
                found = self._whole(batch, names)
            except RuntimeError as error:
                if batch.texts == 1 or not ran_out(error):
                    raise
                self.limit.shrink(batch)
            else:
                if news := self.limit.news():
                    self.say(news)
                return found
            # Beyond the except block, so that the failed call's tensors are free by now.
            give_back_memory(self.subject)
        halves = [self.examined(half, names) for half in batch.halves()]
        there = [name for name in names if all(name in half.tables for half in halves)]
        tables = {name: pa.concat_tables([half.tables[name] for half in halves]) for name in there}
        return Examined(tables, Counter(halves[0].seconds) + Counter(halves[1].seconds))

    @torch.no_grad()
    def _whole(self, batch: Batch, names: Sequence[str]) -> Examined:
        now = time.monotonic()
        examination = self._examination(batch.to(self.subject.device))
        found: dict[str, pa.Table] = {}
        seconds = {"": time.monotonic() - now}
        for name in names:
            if self.stop.is_set():
                raise Stopped
            if name in self.failed:
                continue
            now = time.monotonic()
            try:
                found[name] = self._put(self.challenges[name], examination)
            except Exception as error:
                if isinstance(error, RuntimeError) and ran_out(error) and batch.texts > 1:
                    raise
                if self.failed.setdefault(name, error) is error:
                    self.say(f"Challenge {self.challenges[name].name!r} failed; the others continue: {line_of(error)}")
            give_back_if_grown()
            seconds[name] = time.monotonic() - now
        return Examined(found, seconds)

    def _put(self, challenge: Challenge, examination: Examination) -> pa.Table:
        of_texts = challenge.of_texts
        table = challenge.examine(examination)
        table = finite_only(table, examination, challenge.measures_of(self.subject), of_texts=of_texts)
        return _with_prediction(table, examination, of_texts=of_texts)

    def _examination(self, batch: Batch) -> Examination:
        """The batch, read once."""
        reading, written = self.subject.read(batch), self.written
        marks, people, seconds = self._rationales, self._annotators, self._seconds
        return Examination(
            self.subject,
            batch,
            reading,
            self.seed,
            _items(self._texts.take(batch.rows.cpu().numpy()), reading),
            None if marks is None else _any(reading, marks.batch(batch)),
            marks=self.meaning,
            second=None if seconds is None else _words(seconds, batch),
            annotations=None if people is None else _of_items(reading, people.batch(batch)),
            texts=len(self.encoded),
            companions=self.companions,
            donors=self.encoded.batch,
            marks_of=None if marks is None else marks.batch,
            edits=self._edits,
            continuations=self._continuations,
            training=self.training,
            vocabulary=None if written is None else written.vocabulary,
            targets=None if written is None else written.targets(batch),
        )


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


def give_back_memory(subject: Subject) -> None:
    """What was freed goes back to the device, or to the system, where the C library keeps it for itself."""
    if subject.device.type == "cuda":
        torch.cuda.empty_cache()
    else:
        give_back()


def _with_prediction(table: pa.Table, examination: Examination, *, of_texts: bool) -> pa.Table:
    """Add the predicted class, so that any findings can be grouped by it; of whole texts there is none."""
    if of_texts and examination.batch.target is not None:
        return table.append_column("predicted", pa.nulls(len(table), pa.int32()))
    predicted = examination.reading.predicted.cpu().numpy().astype(np.int32)
    rows = examination.rows
    order = np.argsort(rows)
    at = order[np.searchsorted(rows, table["row"].to_numpy(), sorter=order)]
    return table.append_column("predicted", pa.array(predicted[at]))


def in_order(table: pa.Table, of: Split) -> pa.Table:
    """One chunk's findings in the split's order, instance ids first; of steps of writing, their sentences' next."""
    table = table.take(pa.array(np.argsort(table["row"].to_numpy(), kind="stable")))
    for place, name in enumerate(name for name in ("id", "sentence") if of.has(name)):
        table = table.add_column(place, name, of.table[name].take(table["row"]))
    return table.drop_columns(["row"]).combine_chunks()
