"""What the program knows of itself: marks, measured errors and AUROCs, in one small file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attentest.calibration.analysis.fitting import Errors, Evidence, errors_of, fit_marks, held_out
from attentest.calibration.analysis.literature import EVIDENCE, TRUTHS, test_of
from attentest.calibration.analysis.scoring import scores
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


def errors_by(table: Table, groups: str = "mechanism") -> dict[str, Errors]:
    """The errors of every use and of texts, with each ``mechanism``, ``carrier`` or kind of ``world`` left out."""
    found = {}
    for use in EVIDENCE:
        evidence = table.evidence(use)
        found[use] = errors_of(evidence, held_out(evidence, _groups(evidence, groups)))
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


def calibrated(tables: Mapping[str, Table]) -> dict[str, Any]:
    """Of the tables of members that count, by audit; marks and AUROCs are those of the first."""
    table = next(iter(tables.values()))
    marks = {use: _marks(table.evidence(use)) for use in EVIDENCE}
    marks["text"] = _marks(table.text_evidence())
    areas: dict[str, dict[str, Any]] = {}
    for truth in TRUTHS.values():
        for one in scores(table, truth):
            areas.setdefault(one.measure, {})[truth] = _rounded(one.extremes)
    cells = set(zip(table.names("mechanism"), table.names("world"), strict=True))
    return {
        "marks": marks,
        "errors": _errors(tables, "mechanism"),
        "worlds": _errors(tables, "world"),
        "carriers": _errors(tables, "carrier"),
        "auroc": dict(sorted(areas.items())),
        "range": {name: _range(table.column(column)) for name, column in RANGE.items()},
        "members": len(table),
        "mechanisms": len(set(table.names("mechanism").tolist())),
        "cells": len(cells),
    }


def _errors(tables: Mapping[str, Table], groups: str) -> dict[str, Any]:
    found = {audit: errors_by(table, groups) for audit, table in tables.items()}
    return {audit: {use: errors.lists() for use, errors in by_use.items()} for audit, by_use in found.items()}


def write_calibrated(tables: Mapping[str, Table], path: Path) -> None:
    """The file that the verdict reads."""
    write_text(path, _lines(calibrated(tables)) + "\n")


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
