"""A budget of time becomes a number of texts, once: measured on a few, recorded, and kept when a run resumes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.durations import in_words
from attentest.models.subject import Subject
from attentest.runs.examination.batch_limit import BatchLimit
from attentest.runs.examination.pace import Pace
from attentest.runs.run import Run
from attentest.store.folder import RunFolder
from attentest.tasks import TASKS

__all__ = ["TRIED", "affordable", "within_time"]

#: So many texts are drawn to be tried; no fewer are examined, however short the time. While they take less than so many
#: seconds, they tell little, and so many times as many are tried.
TRIED, TELLING, MORE = 16, 3.0, 8
#: The share of the time that is planned with, and the seconds kept for verdict and report.
PLANNED, KEPT = 0.8, 15.0


def within_time(
    run: Run,
    folder: RunFolder,
    subject: Subject,
    vocabulary: Vocabulary,
    *,
    began: float,
    workers: int,
    measure: Callable[[Run], tuple[Pace, float]],
    say: Callable[[str], None],
) -> Run:
    """The run limited to as many texts as fit into its time, which began at ``began`` on the monotonic clock.

    ``measure`` examines the few texts of a run and says at what pace, and on how many seconds that stands.
    """
    if not run.time:
        return run
    budget = folder.record.get("budget")
    if budget is None:
        split = run.texts[run.split]
        rows = run.drawn()[: run.limit or len(split)]
        encoded = Encoded.of(split.take(rows.tolist()), vocabulary)
        texts, kept = len(rows), True
        if texts > TRIED:
            tried, limit = TRIED, BatchLimit(subject, encoded)
            pace, took = measure(replace(run, limit=tried))
            while took < TELLING and MORE * tried <= texts:
                tried *= MORE
                pace, took = measure(replace(run, limit=tried))
            seconds = pace.each(limit.sizes + 2.0, encoded.steps, limit.positions) / workers
            fit = affordable(seconds, run.time - (time.monotonic() - began))
            texts, kept = max(TRIED, fit), fit >= TRIED
        budget = {"seconds": run.time, "texts": texts, "of": len(rows), "kept": kept}
        folder.note(budget=budget)
    if budget["texts"] < budget["of"]:
        wholes = TASKS[run.corpus.task].wording.wholes
        why = f"to keep within {in_words(run.time)}"
        if not budget.get("kept", True):  # as report/verdict/missing.py reads it: the first records do not say
            why = f"the fewest that there can be: {in_words(run.time)} will be exceeded"
        say(f"Time    {budget['texts']} of {budget['of']} {wholes} are examined, {why}")
    return replace(run, limit=budget["texts"])


def affordable(seconds: np.ndarray, left: float) -> int:
    """How many texts, each taking so many seconds, fit into what is left, some of it kept for the report."""
    return int(np.searchsorted(np.cumsum(seconds), PLANNED * left - KEPT, side="right"))
