"""Put challenges to a subject over a whole split, batches side by side, and keep what each gave as it comes."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import torch

from attentest.challenges.challenge import Challenge
from attentest.challenges.companions import Companion
from attentest.data.batches import Batch, Encoded, bucketed
from attentest.data.corpus import Split
from attentest.models.subject import Subject
from attentest.progress import EXAMINING, SILENT, Progress
from attentest.registry import parameters_of, text_of
from attentest.runs.examination.batch_limit import BatchLimit
from attentest.runs.examination.examiner import Examiner, Texts, give_back_memory, in_order
from attentest.runs.examination.pace import Forecast, Pace
from attentest.store.atomic import replacing
from attentest.store.findings import FindingsWriter
from attentest.store.parts import Parts
from attentest.training.training_texts import TrainingTexts

__all__ = ["UNFINISHED", "examine", "examiner_of", "measured"]

#: The folder, beside the findings, of what an unfinished examination has found so far.
UNFINISHED = "unfinished"
#: Seconds between two times that what was found is written down.
KEEP_SECONDS = 5.0
#: It is said how long the rest will take after so many seconds or batches, if it is at least so many seconds: small
#: batches tell only where they take long, since every batch costs something by itself.
ANNOUNCE_SECONDS, ANNOUNCE_BATCHES, WORTH_SAYING = 10.0, 5, 10.0
#: Texts that took so many seconds tell how long others will take.
TELLING_SECONDS = 3.0


def examiner_of(
    subject: Subject,
    split: Split,
    encoded: Encoded,
    challenges: Mapping[str, Challenge],
    *,
    seed: int,
    meaning: str = "",
    companions: Mapping[Companion, Subject] | None = None,
    written: Texts | None = None,
    training: TrainingTexts | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Examiner:
    """What puts the challenges to a subject on the texts of a split.

    ``meaning`` says what the split's marks are: planted, human, or nothing; ``companions`` are the other models that
    the challenges compare the subject with. Where texts are ``written``, the rows of the split are steps, all of a text
    in one batch; a challenge of texts gives rows of texts. Challenges may learn from the ``training`` texts first.
    """
    limit, others = BatchLimit(subject, encoded), companions or {}
    return Examiner(subject, split, encoded, challenges, limit, seed, meaning, others, written, say, training)


def examine(
    examiner: Examiner,
    folder: Path,
    *,
    workers: int = 1,
    finished: Callable[[str], None] = lambda name: None,
    announce: bool = False,
    progress: Progress = SILENT,
) -> dict[str, Exception]:
    """Write ``folder/<name>.parquet`` for every challenge, rows in the split's order; the errors of those that failed.

    Batches are examined side by side by ``workers`` threads with one torch thread each; what they find does not
    depend on how many there are.

    What was found is kept in ``folder/unfinished`` every few seconds, and taken up from there; it goes once the
    challenge's file is there and ``finished`` was told. With ``announce`` it is said, once a few batches tell, how long
    the others will take.
    """
    subject, encoded, challenges, limit = examiner.subject, examiner.encoded, examiner.challenges, examiner.limit
    layout = hashlib.sha256(f"{subject.device.type} {limit.positions} ".encode() + limit.sizes.tobytes()).hexdigest()
    parts = {name: Parts(folder / UNFINISHED / name, layout, progress.say) for name in challenges}
    if before := min((part.texts for part in parts.values()), default=0):
        progress.say(f"Resuming: {before} of {len(encoded)} texts were examined before.")
    forecast = _forecast(examiner, workers)
    if announce:
        _warm_up(examiner, forecast)
    started, announced = time.monotonic(), not announce
    chunks = 0
    with progress.stage("Examining", len(encoded)) as tick, _threads(workers, examiner) as pool, _kept(parts) as keep:
        for chunk, batches in enumerate(_batches(examiner)):
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
                left = forecast.told(elapsed := time.monotonic() - started, examiner.failed)
                tick(batch.texts, left=left)
                if not announced and _tells(forecast, elapsed):
                    announced = True
                    if left >= WORTH_SAYING:
                        progress.say(forecast.line(elapsed, {name: one.name for name, one in challenges.items()}))
                keep()
            give_back_memory(subject)
            chunks = chunk + 1
    for name, challenge in challenges.items():
        if name in examiner.failed:
            parts[name].keep()
        else:
            written = examiner.written
            of = examiner.split if written is None or not challenge.of_texts else written.split
            about = text_of(challenge), challenge.measures_of(subject), parameters_of(challenge)
            with replacing(folder / f"{name}.parquet") as path, FindingsWriter(path, *about) as writer:
                for chunk in range(chunks):
                    writer.write(in_order(parts[name].rows(chunk), of))
            finished(name)
            parts[name].forget()
    return examiner.failed


def measured(examiner: Examiner, *, workers: int = 1, progress: Progress = SILENT) -> tuple[Pace, float]:
    """The pace at which texts are examined, as by ``examine``, and the seconds it stands on; what is found goes."""
    forecast, started = _forecast(examiner, workers), time.monotonic()
    _warm_up(examiner, forecast)
    batches = next(_batches(examiner))
    with progress.stage("Measuring", len(examiner.encoded)) as tick, _threads(workers, examiner) as pool:
        for some in (batches[-2:], batches[:-2]):
            futures = {pool.submit(examiner.examined, batch, list(examiner.challenges)): batch for batch in some}
            for future in as_completed(futures):
                forecast.add(futures[future].sources, future.result().seconds)
                tick(futures[future].texts)
            if time.monotonic() - started >= TELLING_SECONDS:
                break
    return forecast.pace(examiner.failed), time.monotonic() - started


def _warm_up(examiner: Examiner, forecast: Forecast) -> None:
    """Examine the shortest text twice for nothing: the first time imports and fills caches, the second tells."""
    text = examiner.encoded.batch(np.array([examiner.encoded.lengths.argmin()]))
    examiner.examined(text, list(examiner.challenges))
    forecast.observe(text.sources, examiner.examined(text, list(examiner.challenges)).seconds)


def _forecast(examiner: Examiner, workers: int) -> Forecast:
    """Before the first batch."""
    limit = examiner.limit
    return Forecast(limit.sizes + 2.0, examiner.encoded.steps, limit.positions, workers)


def _batches(examiner: Examiner) -> Iterator[list[Batch]]:
    """How the texts are cut; a run that resumes must cut them alike."""
    limit = examiner.limit
    return bucketed(examiner.encoded, tokens=limit.positions, sizes=limit.sizes, trials=True)


def _tells(forecast: Forecast, took: float) -> bool:
    """Whether it may be announced."""
    return forecast.batches >= (2 if took >= ANNOUNCE_SECONDS else ANNOUNCE_BATCHES)


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
def _threads(workers: int, examiner: Examiner) -> Iterator[ThreadPoolExecutor]:
    """Threads that begin nothing more at the first failure; on Ctrl-C nobody waits for what they are at."""
    pool = ThreadPoolExecutor(workers, EXAMINING, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool
    except BaseException as error:
        examiner.stop.set()
        pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    pool.shutdown()
