"""A verdict as plain values, for --json and for other programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from attentest.report.verdict.verdict import Verdict
from attentest.store.folder import RunFolder
from attentest.store.summary import estimate, estimates_by_class
from attentest.tasks import task_of

__all__ = ["record_of"]


def record_of(run: RunFolder, verdict: Verdict) -> dict[str, Any]:
    """The run, the verdict, and every measure with its interval; numbers that do not exist are null."""
    measures, steps = [], task_of(run.record["fields"]).writes
    for name in run.challenges:
        findings = run.findings(name)
        for measure in findings.measures:
            measures.append(
                {
                    "challenge": findings.challenge,
                    "measure": measure.name,
                    "words": measure.words,
                    **asdict(estimate(findings, measure)),
                    # A step's class is a word, and words are too many to be told apart.
                    "by_class": {}
                    if steps
                    else {c: asdict(e) for c, e in estimates_by_class(findings, measure).items()},
                }
            )
    record = {
        "run": run.path.name,
        "path": str(run.path),
        "report": str(run.path / "report.html"),
        "verdict": asdict(verdict),
        "measures": measures,
    }
    plain: dict[str, Any] = _plain(record)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
