"""The answer of an audit in the terminal, in at most 25 lines of 80 columns; the report has the rest.

What decides always stands here. What does not fit is cut in this order: the reasons of the uses to two lines each,
tests that decide nothing (those that speak against attention stay longest), blank lines, the reasons to one line each.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from rich.text import Text

from attentest.presentation.line import Line
from attentest.presentation.text import interval_of, value_of, visible
from attentest.report.tables.verdict import ANSWERS, TONES
from attentest.report.verdict.verdict import Goal, Verdict

__all__ = ["COLUMNS", "LINES", "answer"]

LINES, COLUMNS = 25, 80
#: Where the reasons of the uses begin, and what next and the names of files.
_INDENT, _NAMED = 14, 8
#: How many lines what to do next may take.
_STEPS = 2
_HEADS = ("Evidence", "95 % interval", "judged", "AUROC")
#: How many lines a reason may take, and how many blank lines part the answer: the first that fits.
_LAYOUTS = ((3, 3), (2, 3), (2, 2), (2, 0), (1, 2), (1, 0))
#: So many tests that decide nothing are shown if they can be.
_OTHERS = 4
#: Tones whose lines are left out, the first first, where there are too many.
_LEFT_OUT = ("context", "unsettled", "supports", "mixed", "against", "void")


def answer(verdict: Verdict, report: Path) -> Text:
    """The headline, the uses with answer and reason, a line for every piece of evidence, what next, and the report."""
    head = [Text(line, "bold") for line in textwrap.wrap(visible(verdict.headline), COLUMNS)]
    files = [
        *_outside(verdict.outside),
        *_failed(verdict.failed),
        *_next(verdict.next_steps),
        _named("Report", str(report)),
    ]
    for rows, blank in _LAYOUTS:
        gaps = [[Text()] if place < blank else [] for place in range(3)]
        goals = list(chain.from_iterable(_goal(goal, rows) for goal in verdict.goals))
        around = [*head, *gaps[0], *goals, *gaps[1]], [*gaps[2], *files]
        room = LINES - sum(map(len, around))
        others = [line for line in verdict.lines if not _stays(line)]
        if len(verdict.lines) - len(others) + min(len(others), _OTHERS) + 2 <= room:
            break
    return Text("\n").join([*around[0], *_evidence(verdict.lines, room), *around[1]])


def _goal(goal: Goal, rows: int) -> list[Text]:
    """The answer and, as far as it goes into so many lines, why; what comes beside is left out first."""
    symbol, style = ANSWERS[goal.answer]
    error = f" (error {goal.error})" if goal.error else ""
    width, sentences = COLUMNS - _INDENT, [f"{goal.short or goal.goal}{error}.", goal.why, *goal.beside]
    while len(sentences) > 2 and len(textwrap.wrap(" ".join(sentences), width)) > rows:
        sentences.pop()
    told = textwrap.wrap(visible(" ".join(sentences)), width, max_lines=rows, placeholder=" …")
    first = Text.assemble((f"{symbol} {goal.answer}".ljust(_INDENT), f"bold {style}"), told[0])
    return [first, *(Text(" " * _INDENT + line) for line in told[1:])]


def _evidence(lines: Sequence[Line], room: int) -> list[Text]:
    """Heads, and a line for every piece of evidence; where there are more than room, the others are counted."""
    if not lines:
        return []
    kept = list(lines)
    for tone in _LEFT_OUT:
        for line in [line for line in reversed(kept) if line.tone == tone and not _stays(line)]:
            if len(kept) + 1 + (len(kept) < len(lines)) > room:
                kept.remove(line)
    rows = [(TONES[line.tone], visible(line.short or line.question), *_numbers(line)) for line in kept]
    widths = [max([len(head), *(len(row[i]) for row in rows)]) for i, head in enumerate(_HEADS, 1)]
    aligned = (str.ljust, str.ljust, str.rjust, str.rjust)
    shown = 4 if any(line.auroc for line in kept) else 3

    def told(cells: Sequence[str]) -> str:
        padded = (align(cell, width) for align, cell, width in zip(aligned, cells, widths, strict=True))
        return "  ".join(list(padded)[:shown])

    found = [Text("  " + told(_HEADS), "dim")]
    found += [Text.assemble((symbol, f"bold {style}"), f" {told(cells)}") for (symbol, _, style), *cells in rows]
    if more := len(lines) - len(kept):
        found.append(Text(f"· and {more} more, which decide nothing (--details)", "dim"))
    return found


def _stays(line: Line) -> bool:
    """Whether a line is never left out: what decides, and whether there is anything to explain."""
    return bool(line.decides) or line.key == "accuracy"


def _numbers(line: Line) -> tuple[str, str, str]:
    found = line.estimate
    number = (
        "–" if math.isnan(found.value) else f"{value_of(found, line.form)} {interval_of(found, line.form)}".rstrip()
    )
    return number, f"{found.judged:,}", "" if line.auroc is None else f"{line.auroc[0]:.2f}"


def _outside(ways: Sequence[str]) -> list[Text]:
    """How the run lies outside of what was calibrated, in one line."""
    told = f"! Outside of what was calibrated: {'; '.join(ways)}"
    return [Text(textwrap.shorten(visible(told), COLUMNS, placeholder=" …"), "yellow")] if ways else []


def _failed(names: Sequence[str]) -> list[Text]:
    """The explainers whose own check failed, in one line."""
    told = f"! Not counted, because their own check failed: {', '.join(names)}"
    return [Text(textwrap.shorten(visible(told), COLUMNS, placeholder=" …"), "red")] if names else []


def _next(steps: Sequence[str]) -> list[Text]:
    """The first of what to do next, and as much more as goes into two lines."""
    width, told = COLUMNS - _NAMED, list(steps)
    while len(told) > 1 and len(textwrap.wrap(" ".join(told), width)) > _STEPS:
        told.pop()
    rows = textwrap.wrap(visible(" ".join(told)), width, max_lines=_STEPS, placeholder=" …")
    return [_named("" if place else "Next", row) for place, row in enumerate(rows)]


def _named(name: str, words: str) -> Text:
    return Text(f"{name:<{_NAMED}}{visible(words)}")
