"""What the program knows of itself: marks, measured errors and AUROCs, in one small file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attentest.calibration.analysis.fitting import Errors, Evidence, errors_of, fit_marks, held_out
from attentest.calibration.analysis.literature import EVIDENCE, THOROUGH, TRUTHS, test_of
from attentest.calibration.analysis.scoring import score, scores
from attentest.calibration.analysis.table import Table
from attentest.statistics.intervals import Interval
from attentest.store.atomic import write_text

__all__ = ["calibrated", "errors_by", "single_test", "write_calibrated"]

#: Columns that say for which models a calibration speaks.
RANGE = {
    "words": "words",
    "classes": "classes",
    "deciding": "importance.deciding.mask",
    "texts": "texts",
}


def errors_by(table: Table, groups: str = "mechanism", *, thorough: bool = False) -> dict[str, Errors]:
    """The errors of every use and of texts, with each ``mechanism``, ``carrier`` or kind of ``world`` left out.

    A thorough audit has the same marks, and one more way of taking words out that must agree.
    """
    found = {}
    for use in EVIDENCE:
        evidence = table.evidence(use)
        judged = table.evidence(use, THOROUGH[use]) if thorough else evidence
        found[use] = errors_of(evidence, held_out(evidence, _groups(evidence, groups), judged=judged))
    if thorough:
        return found
    texts = table.text_evidence()
    if len(texts):
        found["text"] = errors_of(texts, held_out(texts, _groups(texts, groups)))
    return found


def _groups(evidence: Evidence, groups: str) -> np.ndarray:
    if groups == "mechanism":
        return evidence.mechanism
    names, end = (evidence.world, "(") if groups == "world" else (evidence.mechanism, " / ")
    return np.array([name.partition(end)[0] for name in names], dtype=object)


def single_test(table: Table, use: str, measure: str) -> tuple[Evidence, np.ndarray]:
    """What one test says of every member, under the same fit, with each mechanism left out."""
    evidence = table.evidence(use, (measure,))
    if test_of(measure)[1] < 0:
        turned = -evidence.intervals[..., ::-1]
        evidence = Evidence(turned, evidence.truth, evidence.mechanism, evidence.world)
    return evidence, held_out(evidence, evidence.mechanism, None)


def calibrated(table: Table) -> dict[str, Any]:
    """Of the members that count: the marks of all, errors with each mechanism left out, and AUROCs.

    An error is that of an answer: how many of the clear members that got it got it wrongly. ``verdict.USE`` is the
    AUROC of what decides a use: the lowest of its measures.
    """
    marks = {use: _marks(table.evidence(use)) for use in EVIDENCE}
    marks["text"] = _marks(table.text_evidence())
    areas: dict[str, dict[str, Any]] = {f"verdict.{use}": {TRUTHS[use]: _decides(table, use)} for use in EVIDENCE}
    for truth in TRUTHS.values():
        for one in scores(table, truth, [measure for measure in table.measures if test_of(measure)[1]]):
            areas.setdefault(one.measure, {})[truth] = _rounded(one.extremes)
    cells = set(zip(table.names("mechanism"), table.names("world"), strict=True))
    return {
        "marks": marks,
        "errors": _by_answer(errors_by(table)),
        "thorough": _by_answer(errors_by(table, thorough=True)),
        "auroc": dict(sorted(areas.items())),
        "range": {name: found for name, column in RANGE.items() if (found := _range(table.column(column)))},
        "members": len(table),
        "mechanisms": len(set(table.names("mechanism").tolist())),
        "cells": len(cells),
    }


def _by_answer(errors: Mapping[str, Errors]) -> dict[str, Any]:
    said = {use: found.lists() for use, found in errors.items()}
    return {use: {"yes": found["given_yes"], "no": found["given_no"]} for use, found in said.items()}


def _decides(table: Table, use: str) -> list[float | None]:
    lowest = np.min([table.column(name) for name in EVIDENCE[use]], axis=0)
    name = EVIDENCE[use][0]
    return _rounded(score(Table(table.frame.assign(**{name: lowest}), table.texts), name, TRUTHS[use]).extremes)


def write_calibrated(table: Table, path: Path) -> None:
    """The file that the verdict reads."""
    write_text(path, _lines(calibrated(table)) + "\n")


def _lines(value: Any, depth: int = 0) -> str:
    """JSON with a line for every key of the outer two levels, so that a change of one number changes one line."""
    if depth < 2 and isinstance(value, dict):
        inner = [f"{' ' * (depth + 1)}{json.dumps(key)}: {_lines(each, depth + 1)}" for key, each in value.items()]
        return "{\n" + ",\n".join(inner) + "\n" + " " * depth + "}"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _marks(evidence: Evidence) -> list[float]:
    marks = fit_marks(evidence)
    return [round(marks.no, 4), round(marks.yes, 4)]


def _rounded(interval: Interval) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 4) for value in interval]


def _range(values: np.ndarray) -> list[float] | None:
    known = values[np.isfinite(values)]
    return [float(known.min()), float(known.max())] if len(known) else None
