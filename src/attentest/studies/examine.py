"""Put challenges to a subject over a whole split: read each batch once, and keep what each gave as it comes."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
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
from attentest.errors import line_of
from attentest.explainers.budget import ran_out
from attentest.measures.human_agreement import Annotations
from attentest.memory import give_back, give_back_if_grown
from attentest.models.subject import Reading, Subject
from attentest.progress import EXAMINING, SILENT, Progress
from attentest.registry import parameters_of, text_of
from attentest.store.atomic import replacing
from attentest.store.findings import FindingsWriter
from attentest.store.parts import Parts
from attentest.studies.finite import finite_only
from attentest.studies.marked import Marks, People
from attentest.studies.pace import Forecast, Pace
from attentest.studies.room import Room

__all__ = ["UNFINISHED", "Texts", "examine", "measured"]

#: The folder, beside the findings, of what an unfinished examination has found so far.
UNFINISHED = "unfinished"
#: Seconds between two times that what was found is written down.
KEEP_SECONDS = 5.0
#: It is said how long the rest will take after so many seconds or batches, if it is at least so many seconds: small
#: batches tell only where they take long, since every batch costs something by itself.
ANNOUNCE_SECONDS, ANNOUNCE_BATCHES, WORTH_SAYING = 10.0, 5, 10.0
#: Texts that took so many seconds tell how long others will take.
TELLING_SECONDS = 3.0


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
    finished: Callable[[str], None] = lambda name: None,
    announce: bool = False,
    progress: Progress = SILENT,
) -> dict[str, Exception]:
    """Write ``folder/<name>.parquet`` for every challenge, rows in the split's order; the errors of those that failed.

    Batches are examined side by side by ``workers`` threads with one torch thread each; what they find does not
    depend on how many there are. ``meaning`` says what the split's marks are: planted, human, or nothing;
    ``companions`` are the other models that the challenges compare the subject with. Where texts are ``written``, the
    rows of the split are steps, all of a text in one batch; a challenge of texts gives rows of texts.

    What was found is kept in ``folder/unfinished`` every few seconds, and taken up from there; it goes once the
    challenge's file is there and ``finished`` was told. With ``announce`` it is said, once a few batches tell, how long
    the others will take.
    """
    room = Room(subject, encoded)
    examiner = _Examiner(
        subject, split, encoded, challenges, room, seed, meaning, companions or {}, written, progress.say
    )
    layout = hashlib.sha256(f"{subject.device.type} {room.positions} ".encode() + room.sizes.tobytes()).hexdigest()
    parts = {name: Parts(folder / UNFINISHED / name, layout, progress.say) for name in challenges}
    if before := min((part.texts for part in parts.values()), default=0):
        progress.say(f"Resuming: {before} of {len(encoded)} texts were examined before.")
    forecast = _forecast(encoded, room, workers)
    if announce:
        examiner.warm_up(forecast)
    started, announced = time.monotonic(), not announce
    chunks = 0
    with progress.stage("Examining", len(encoded)) as tick, _threads(workers, examiner) as pool, _kept(parts) as keep:
        for chunk, batches in enumerate(_batches(encoded, room)):
            # The longest first, so that no worker is left alone with them at the end.
            asked = {
                number: [name for name, part in parts.items() if not part.has(chunk, number)]
                for number in reversed(range(len(batches)))
            }
            for number in (number for number, names in asked.items() if not names):
                forecast.skip(batches[number].sources)
                tick(batches[number].texts)
            waiting = {
                pool.submit(examiner.examined, batches[number], names): number
                for number, names in asked.items()
                if names
            }
            for future in as_completed(waiting):
                batch = batches[number := waiting.pop(future)]
                found = future.result()
                for name, table in found.tables.items():
                    parts[name].add(chunk, number, table, batch.texts)
                forecast.add(batch.sources, found.seconds)
                left = forecast.left(elapsed := time.monotonic() - started, examiner.failed)
                tick(batch.texts, left=left)
                if not announced and _tells(forecast, elapsed):
                    announced = True
                    if left >= WORTH_SAYING:
                        progress.say(forecast.line(elapsed, {name: one.name for name, one in challenges.items()}))
                keep()
            _give_back_memory(subject)
            chunks = chunk + 1
    for name, challenge in challenges.items():
        if name in examiner.failed:
            parts[name].keep()
        else:
            of = split if written is None or not challenge.of_texts else written.split
            about = text_of(challenge), challenge.measures_of(subject), parameters_of(challenge)
            with replacing(folder / f"{name}.parquet") as path, FindingsWriter(path, *about) as writer:
                for chunk in range(chunks):
                    writer.write(_ordered(parts[name].rows(chunk), of))
            finished(name)
            parts[name].forget()
    return examiner.failed


def measured(
    subject: Subject,
    split: Split,
    encoded: Encoded,
    challenges: Mapping[str, Challenge],
    *,
    seed: int,
    meaning: str = "",
    companions: Mapping[Companion, Subject] | None = None,
    written: Texts | None = None,
    workers: int = 1,
    progress: Progress = SILENT,
) -> tuple[Pace, float]:
    """The pace at which texts are examined, as by ``examine``, and the seconds it stands on; what is found goes."""
    room = Room(subject, encoded)
    about = seed, meaning, companions or {}, written, progress.say
    examiner = _Examiner(subject, split, encoded, challenges, room, *about)
    forecast, started = _forecast(encoded, room, workers), time.monotonic()
    examiner.warm_up(forecast)
    batches = next(_batches(encoded, room))
    with progress.stage("Measuring", len(encoded)) as tick, _threads(workers, examiner) as pool:
        for some in (batches[-2:], batches[:-2]):
            futures = {pool.submit(examiner.examined, batch, list(challenges)): batch for batch in some}
            for future in as_completed(futures):
                forecast.add(futures[future].sources, future.result().seconds)
                tick(futures[future].texts)
            if time.monotonic() - started >= TELLING_SECONDS:
                break
    return forecast.pace(examiner.failed), time.monotonic() - started


def _forecast(encoded: Encoded, room: Room, workers: int) -> Forecast:
    """Before the first batch."""
    return Forecast(room.sizes + 2.0, encoded.steps, room.positions, workers)


def _batches(encoded: Encoded, room: Room) -> Iterator[list[Batch]]:
    """How the texts are cut; a run that resumes must cut them alike."""
    return bucketed(encoded, tokens=room.positions, sizes=room.sizes, trials=True)


@dataclass(frozen=True)
class _Examined:
    """What a batch gave, and the seconds it took, challenge by challenge; reading it is under no name."""

    tables: Mapping[str, pa.Table]
    seconds: Mapping[str, float]


def _tells(forecast: Forecast, took: float) -> bool:
    """Whether it may be announced."""
    return forecast.batches >= (2 if took >= ANNOUNCE_SECONDS else ANNOUNCE_BATCHES)


class _Stopped(Exception):
    """The examination was given up."""


@dataclass
class _Examiner:
    """Puts the challenges to batches, from several threads; a challenge that fails is not put again."""

    subject: Subject
    split: Split
    encoded: Encoded
    challenges: Mapping[str, Challenge]
    room: Room
    seed: int
    meaning: str
    companions: Mapping[Companion, Subject]
    written: Texts | None
    say: Callable[[str], None]
    failed: dict[str, Exception] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._marks, self._people = Marks.of(self.split), People.of(self.split)
        self._texts = Split(self.split.table.select([n for n in ("tokens", "sentences") if self.split.has(n)]))
        self._seconds = Split(self.split.table.select(["second"])) if self.split.has("second") else None

    def warm_up(self, forecast: Forecast) -> None:
        """Examine the shortest text twice for nothing: the first time imports and fills caches, the second tells."""
        text = self.encoded.batch(np.array([self.encoded.lengths.argmin()]))
        self.examined(text, list(self.challenges))
        forecast.observe(text.sources, self.examined(text, list(self.challenges)).seconds)

    def examined(self, batch: Batch, names: Sequence[str]) -> _Examined:
        """The findings of a batch; halved when memory runs out, as it may where several runs share a card."""
        if self.room.holds(batch):
            try:
                found = self._whole(batch, names)
            except RuntimeError as error:
                if batch.texts == 1 or not ran_out(error):
                    raise
                self.room.shrink(batch)
            else:
                if news := self.room.news():
                    self.say(news)
                return found
            # Beyond the except block, so that the failed call's tensors are free by now.
            _give_back_memory(self.subject)
        halves = [self.examined(half, names) for half in batch.halves()]
        there = [name for name in names if all(name in half.tables for half in halves)]
        tables = {name: pa.concat_tables([half.tables[name] for half in halves]) for name in there}
        return _Examined(tables, Counter(halves[0].seconds) + Counter(halves[1].seconds))

    @torch.no_grad()
    def _whole(self, batch: Batch, names: Sequence[str]) -> _Examined:
        now = time.monotonic()
        examination = self._examination(batch.to(self.subject.device))
        found: dict[str, pa.Table] = {}
        seconds = {"": time.monotonic() - now}
        for name in names:
            if self.stop.is_set():
                raise _Stopped
            if name in self.failed:
                continue
            now = time.monotonic()
            try:
                found[name] = self._put(self.challenges[name], examination)
            except Exception as error:
                if isinstance(error, RuntimeError) and ran_out(error) and batch.texts > 1:
                    raise
                if self.failed.setdefault(name, error) is error:
                    self.say(f"Challenge {name!r} failed; the others continue: {line_of(error)}")
            give_back_if_grown()
            seconds[name] = time.monotonic() - now
        return _Examined(found, seconds)

    def _put(self, challenge: Challenge, examination: Examination) -> pa.Table:
        of_texts = challenge.of_texts
        table = challenge.examine(examination)
        table = finite_only(table, examination, challenge.measures_of(self.subject), of_texts=of_texts)
        return _with_prediction(table, examination, of_texts=of_texts)

    def _examination(self, batch: Batch) -> Examination:
        """The batch, read once."""
        reading, written = self.subject.read(batch), self.written
        marks, people, seconds = self._marks, self._people, self._seconds
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
            vocabulary=None if written is None else written.vocabulary,
            targets=None if written is None else written.targets(batch),
        )


@contextlib.contextmanager
def _kept(parts: Mapping[str, Parts]) -> Iterator[Callable[[], None]]:
    """To be called after every batch: writes down what was found if it is time; where work ends early, at once."""
    last = time.monotonic()

    def keep() -> None:
        nonlocal last
        if time.monotonic() - last >= KEEP_SECONDS:
            for part in parts.values():
                part.keep()
            last = time.monotonic()

    try:
        yield keep
    except BaseException:
        for part in parts.values():
            part.keep()
        raise


@contextlib.contextmanager
def _threads(workers: int, examiner: _Examiner) -> Iterator[ThreadPoolExecutor]:
    """Threads that begin nothing more at the first failure; on Ctrl-C nobody waits for what they are at."""
    pool = ThreadPoolExecutor(workers, EXAMINING, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    except BaseException as error:
        examiner.stop.set()
        pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    pool.shutdown()


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


def _with_prediction(table: pa.Table, examination: Examination, *, of_texts: bool) -> pa.Table:
    """Add the predicted class, so that any findings can be grouped by it; of whole texts there is none."""
    if of_texts and examination.batch.target is not None:
        return table.append_column("predicted", pa.nulls(len(table), pa.int32()))
    predicted = examination.reading.predicted.cpu().numpy().astype(np.int32)
    rows = examination.rows
    order = np.argsort(rows)
    at = order[np.searchsorted(rows, table["row"].to_numpy(), sorter=order)]
    return table.append_column("predicted", pa.array(predicted[at]))


def _ordered(table: pa.Table, of: Split) -> pa.Table:
    """One chunk's findings in the split's order, instance ids first; of steps of writing, their sentences' next."""
    table = table.take(pa.array(np.argsort(table["row"].to_numpy(), kind="stable")))
    for place, name in enumerate(name for name in ("id", "sentence") if of.has(name)):
        table = table.add_column(place, name, of.table[name].take(table["row"]))
    return table.drop_columns(["row"]).combine_chunks()
