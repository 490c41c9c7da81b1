"""What calibration found: how often each answer was wrong, and how well every test told models of known truth apart."""

from __future__ import annotations

from typing import Any

from attentest.presentation.calibrated import Calibrated, calibrated
from attentest.presentation.text import pair_in_words

__all__ = ["calibration"]

Row = dict[str, Any]
#: The truths, in the order of the uses that they are about.
TRUTHS = ("words", "states", "one")


def calibration() -> Row:
    """The marks, the errors of every answer, and every test with its AUROC for each truth."""
    known = calibrated()
    tests = [
        {
            "name": name,
            "words": pair_in_words(name),
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
