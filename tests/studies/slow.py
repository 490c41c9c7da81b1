"""Challenges that take their time, fail or write down what they were asked, and a run that puts them."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from tests.runs.test_run import small

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Challenge, Examination, numbers
from attentest.errors import InputError
from attentest.runs.examination import examine
from attentest.runs.run import Run
from attentest.store.findings import Measure

#: Where Noted writes the rows of every batch it is asked about.
LOG = "ATTENTEST_TEST_LOG"


@dataclass(frozen=True)
class Noted(Challenge):
    """The largest weight, after a while."""

    name: ClassVar[str] = "noted"
    question: ClassVar[str] = "Who was asked?"
    reference: ClassVar[str] = "—"
    seconds: float = 0.0
    #: After so many batches, longer than anybody waits; 0: never.
    forever_after: int = 0

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (Measure("largest", "largest", "mean", "largest weight"),)

    def examine(self, examination: Examination) -> pa.Table:
        if os.environ.get(LOG):
            with Path(os.environ[LOG]).open("a") as log:
                log.write(" ".join(map(str, examination.rows.tolist())) + "\n")
        for_ever = self.forever_after and len(Path(os.environ[LOG]).read_text().splitlines()) > self.forever_after
        time.sleep(600 if for_ever else self.seconds)
        nothing = pa.nulls(len(examination.rows), pa.string())
        return pa.table(
            {"row": examination.rows, "largest": numbers(examination.weights.amax(-1)), "not_judged": nothing}
        )


@dataclass(frozen=True)
class Failing(Challenge):
    """Fails at the text of a row."""

    name: ClassVar[str] = "failing"
    question: ClassVar[str] = "What if not?"
    reference: ClassVar[str] = "—"
    row: int = 0
    #: Whether the user can put it right.
    by_user: bool = False

    @property
    def measures(self) -> tuple[Measure, ...]:
        return ()

    def examine(self, examination: Examination) -> pa.Table:
        if self.row in examination.rows and not os.environ.get("ATTENTEST_TEST_MENDED"):
            error: type[Exception] = InputError if self.by_user else ZeroDivisionError
            raise error("there is nothing to divide\nby")
        nothing = pa.nulls(len(examination.rows), pa.string())
        return pa.table({"row": examination.rows, "not_judged": nothing})


def noted_rows() -> Counter[int]:
    """How often each row was examined."""
    return Counter(int(row) for row in Path(os.environ[LOG]).read_text().split())


def in_small_batches(monkeypatch_or_module=None, *, tokens: int = 24, chunk: int = 17) -> None:
    """Cut texts into many batches, and keep what each gave at once."""
    cut = examine.bucketed
    cut_small = lambda encoded, **_: cut(encoded, tokens=tokens, chunk=chunk)  # noqa: E731
    if monkeypatch_or_module is None:
        examine.bucketed, examine.KEEP_SECONDS = cut_small, 0.0
    else:
        monkeypatch_or_module.setattr(examine, "bucketed", cut_small)
        monkeypatch_or_module.setattr(examine, "KEEP_SECONDS", 0.0)


def run_of(*challenges: Challenge | str) -> Run:
    chosen = tuple(CHALLENGES.parse(c) if isinstance(c, str) else c for c in challenges)
    return small(challenges=chosen)


__all__ = ["LOG", "Failing", "Noted", "in_small_batches", "noted_rows", "run_of"]
