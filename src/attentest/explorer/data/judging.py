"""A run's verdict as plain values, read without the columns that hold something for every token."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attentest.explorer.data.files import RunFiles
from attentest.presentation.line import Line
from attentest.presentation.text import interval_of, value_of
from attentest.report.verdict.judge import judge
from attentest.store.findings import Findings, read_findings
from attentest.store.folder import RunFolder

__all__ = ["verdict_of"]

Row = dict[str, Any]
#: Lists of these findings that hold something for every class, and not for every token, which no line reads.
BY_CLASS = {"instances": ("probabilities",), "adversary": ("adversarial_probabilities",), "flip_sets": ()}


class Slim(RunFolder):
    """A run whose findings are read without what belongs to single tokens."""

    def findings(self, challenge: str) -> Findings:
        """The findings of one challenge, its file checked page by page."""
        path = self.path / "findings" / f"{challenge}.parquet"
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
