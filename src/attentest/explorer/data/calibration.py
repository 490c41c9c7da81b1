"""What calibration found: how often each answer was wrong, and how well every test told models of known truth apart."""

from __future__ import annotations

from typing import Any

from attentest.calibration.analysis.literature import test_of
from attentest.calibration.analysis.members import members
from attentest.calibration.analysis.scoring import curve
from attentest.errors import UnknownName
from attentest.presentation.calibrated import Calibrated, calibrated

__all__ = ["calibration", "roc"]

Row = dict[str, Any]
#: The truths, in the order of the uses that they are about.
TRUTHS = ("words", "states", "one")


def calibration() -> Row:
    """The marks, the errors of every answer, and every test with its AUROC for each truth."""
    known = calibrated()
    tests = [
        {
            "name": name,
            "words": _in_words(name),
            "challenge": name.partition(".")[0],
            "auroc": {truth: dict(zip(("value", "low", "high"), found, strict=True)) for truth, found in by.items()},
        }
        for name, by in known.auroc.items()
    ]
    return {
        "members": known.members,
        "mechanisms": known.mechanisms,
        "cells": known.cells,
        "marks": {use: {"no": low, "yes": high} for use, (low, high) in known.marks.items()},
        "errors": _errors(known, thorough=False),
        "thorough": _errors(known, thorough=True),
        "truths": list(TRUTHS),
        "tests": tests,
        "range": known.range,
    }


def _in_words(test: str) -> str:
    """Challenge, what of it, and the measure, as a reader writes them."""
    challenge, _, rest = test.partition(".")
    what, _, measure = rest.rpartition(".")
    return " · ".join(part.replace("~", " ↔ ").replace("_", " ") for part in (challenge, what, measure) if part)


def _errors(known: Calibrated, *, thorough: bool) -> list[Row]:
    kept = known.thorough if thorough else known.errors
    return [
        {
            "use": use,
            "answer": answer,
            "wrong": count,
            "of": of,
            "share": count / of if of else None,
            "low": low,
            "high": high,
        }
        for use, by in kept.items()
        for answer, (count, of, low, high) in by.items()
    ]


def roc(test: str, truth: str) -> Row:
    """A test's ROC curve for a truth, and every clear model as a point."""
    known = calibrated()
    if test not in known.auroc:
        raise UnknownName("test", test[:80], known.auroc)
    if truth not in known.auroc[test]:
        raise UnknownName(f"truth that {test} was measured by", truth[:40], known.auroc[test])
    table = members()
    found = curve(table, test, truth)
    about = {name: table.names(name)[found.rows] for name in ("family", "mechanism", "world")}
    truths, values = table.truth(truth)[found.rows], table.column(test)[found.rows]
    return {
        "test": test,
        "words": _in_words(test),
        "truth": truth,
        "direction": test_of(test)[1],
        "auroc": dict(zip(("value", "low", "high"), known.auroc[test][truth], strict=True)),
        "curve": {"false": found.false, "true": found.true},
        "models": [
            {
                "value": values[i],
                "truth": truths[i],
                "faithful": bool(found.faithful[i]),
                **{name: str(column[i]) for name, column in about.items()},
            }
            for i in range(len(values))
        ],
    }
