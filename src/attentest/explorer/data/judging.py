"""A run's verdict as plain values, read without the columns that hold something for every token.

The verdict on very many texts takes minutes and much memory, so a process of its own reads it:
``python -m attentest.explorer.data.judging RUN`` prints it as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attentest.errors import AttentestError, InputError, StorageError, line_of
from attentest.explorer.data.files import RunFiles
from attentest.explorer.plain import as_json
from attentest.presentation.line import Line
from attentest.presentation.text import interval_of, value_of
from attentest.report.verdict.judge import judge
from attentest.store.findings import Findings, read_findings
from attentest.store.folder import RunFolder

__all__ = ["Judge", "verdict_of"]

Row = dict[str, Any]
#: Lists of these findings that hold something for every class, and not for every token, which no line reads.
BY_CLASS = {"instances": ("probabilities",), "adversary": ("adversarial_probabilities",), "flip_sets": ()}


#: Verdicts on more texts than this are read by a process of their own.
MANY = 5_000
#: How many verdicts are read at once: one in the background, one that somebody waits for.
AT_ONCE = 2


class Judge:
    """Reads verdicts, each once, in threads and processes of their own."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, "judging")
        self._found: dict[Any, Future[Row]] = {}
        self._children: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def start(self, run: RunFiles) -> Future[Row]:
        """The verdict on a run, now or later."""
        key = run.id, run.stamp
        with self._lock:
            if key not in self._found:
                self._found[key] = self._threads.submit(self._read, run)
            return self._found[key]

    def known(self, name: str, stamp: Any) -> Row | None:
        """The verdict, where it was read already."""
        future = self._found.get((name, stamp))
        return future.result() if future is not None and future.done() and future.exception() is None else None

    def problem(self, name: str, stamp: Any) -> str:
        """Why there is no verdict, where that is known; "" else."""
        future = self._found.get((name, stamp))
        if future is None or not future.done() or future.cancelled():
            return ""
        error = future.exception()
        return "" if error is None else line_of(error) if isinstance(error, AttentestError) else "It cannot be judged."

    def stop(self) -> None:
        """End what is still being read."""
        self._stopped = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in tuple(self._children):
            child.terminate()

    def _read(self, run: RunFiles) -> Row:
        if run.texts <= MANY:
            return verdict_of(run)
        command = [sys.executable, "-m", __name__, str(run.folder.path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            self._children.add(child)
            if self._stopped:
                child.terminate()
            out, _ = child.communicate()
            self._children.discard(child)
        if child.returncode:
            raise StorageError(f"The verdict on {run.id} could not be read. Try 'attentest show {run.id}'.")
        found: Row = json.loads(out)
        if "error" in found:
            raise InputError(found["error"])
        return found


class Slim(RunFolder):
    """A run whose findings are read without what belongs to single tokens."""

    def findings(self, challenge: str) -> Findings:
        """The findings of one challenge, its file verified."""
        path = self.verify(f"findings/{challenge}.parquet")
        kept = BY_CLASS.get(challenge.partition("-")[0])
        if kept is None:
            return read_findings(path)
        lists = [field.name for field in pq.read_schema(path) if pa.types.is_list(field.type)]
        return read_findings(path, without=[name for name in lists if name not in kept])


def verdict_of(run: RunFiles) -> Row:
    """The verdict: a headline, three answers, the lines that they stand on."""
    verdict = judge(Slim(run.folder.path))
    return {
        "headline": verdict.headline,
        "goals": [
            {
                "key": goal.key,
                "goal": goal.goal,
                "short": goal.short,
                "reader": goal.reader,
                "answer": goal.answer,
                "why": goal.words,
                "error": goal.error,
                "known_by": goal.known_by,
            }
            for goal in verdict.goals
        ],
        "lines": [_line(line) for line in verdict.lines],
        "closing": verdict.closing,
        "limits": list(verdict.limits),
        "next_steps": list(verdict.next_steps),
        "failed": list(verdict.failed),
        "outside": list(verdict.outside),
        "also": [
            {
                "challenge": one.challenge,
                "words": one.words,
                "shown": value_of(one.estimate, one.form),
                "interval": interval_of(one.estimate, one.form),
                "judged": one.judged,
                "texts": one.texts,
            }
            for one in verdict.also
        ],
    }


def _line(line: Line) -> Row:
    found = line.estimate
    return {
        "key": line.key,
        "question": line.question,
        "short": line.short,
        "result": line.result,
        "reading": line.reading,
        "tone": line.tone,
        "about": line.about,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "shown": value_of(found, line.form),
        "interval": interval_of(found, line.form),
        "judged": found.judged,
        "not_judged": found.not_judged,
        "method": found.method,
        "decides": line.decides,
        "auroc": line.auroc,
        "challenge": line.findings,
    }


def main(path: str) -> None:
    """Print the verdict on a run, or one line that says why there is none."""
    try:
        found = verdict_of(RunFiles(Path(path)))
    except AttentestError as error:
        found = {"error": line_of(error)}
    sys.stdout.buffer.write(as_json(found))


if __name__ == "__main__":
    main(sys.argv[1])
