"""Results in a terminal: first the answer, then what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from attentest.people.results.results import Results
from attentest.people.results.verdict import APART
from attentest.people.results.words import between, counted, number, per_cent, seconds
from attentest.presentation.text import visible
from attentest.statistics.crossed import Components

__all__ = ["shown"]


def shown(found: Results) -> Iterator[RenderableType]:
    """What is printed, in order."""
    part, verdict = found.kept, found.kept.verdict
    yield Text(verdict.line, style="bold")
    yield Text(f"{verdict.reason} {APART}\n")
    if part.people:
        yield from _answers(found)
    if found.everybody.people:
        yield Text(f"Checks     {left_out(found)}")
        yield Text("")
        yield _sheets(found)


def _answers(found: Results) -> Iterator[RenderableType]:
    part, verdict = found.kept, found.kept.verdict
    for one in verdict.met:
        share, against = between(one.share, percent=True), per_cent(one.against)
        yield Text(f"  {one.answer:<10}  {one.requirement.words}: {share}, against {against}")
    yield Text("")
    yield _cells(found) if part.cells else _shares(found)
    yield Text("")
    agreed = part.agreement
    yield Text(
        f"Agreement  Cohen’s κ {between(agreed.cohen)} ({counted(len(agreed.pairs), 'pair')}), Fleiss’ κ "
        f"{between(agreed.fleiss)}, Krippendorff’s α {between(agreed.alpha)}; {agreed.items} items"
    )
    if found.expected is not None:
        yield Text(f"           slips at this rate should give κ {number(found.expected)}")
    if not math.isnan(found.gold.value):
        yield Text(f"Gold       {between(found.gold, percent=True)} as the planted truth has it")
    for needed in found.power[:1]:
        yield Text(f"Power      {power(found, needed.half_width)}")
    if found.vary is not None:
        yield Text(f"           {alike(found.vary)}")


def left_out(found: Results) -> str:
    """Who was left out, and what that changes."""
    rule = f"whoever fails more than {per_cent(found.rule, 0)} of the checks is left out"
    if not found.left_out:
        return f"nobody failed ({rule})"
    before, after = found.everybody.verdict.answer, found.kept.verdict.answer
    names = ", ".join(visible(name) for name in found.left_out)
    change = f"the answer stays {after}" if before == after else f"with everybody the answer is {before}"
    return f"{names} left out ({rule}); {change}"


def alike(vary: Components) -> str:
    """What a plan needs to know of these answers."""
    items, people = number(vary.items), number(vary.people)
    return f"Answers to one item are alike by {items} (--agreement), those of one person by {people} (--people-differ)."


def power(found: Results, half_width: float) -> str:
    """How many answers it takes."""
    needed = next(each for each in found.power if each.half_width == half_width)
    reach = f"For ±{number(half_width, 2)}"
    if needed.items is None:
        return f"{reach} you need at least {needed.fewest} annotators: these {needed.people} differ too much."
    return (
        f"{reach} you need {needed.answers:,} answers: {needed.items:,} items under each condition from these "
        f"{counted(needed.people, 'annotator')}, {needed.effect:.1f} times as many as independent answers."
    )


def _cells(found: Results) -> Table:
    outcomes = list(dict.fromkeys(cell.outcome for cell in found.kept.cells))
    table = Table(box=None, padding=(0, 2, 0, 0), title=f"Share of answers, {found.whose}", title_justify="left")
    for head in ("weights", "prediction", *(f"relevant: {outcome}" for outcome in outcomes)):
        table.add_column(Text(head))
    for condition in dict.fromkeys(cell.condition for cell in found.kept.cells):
        for correct in (True, False):
            cells = [found.kept.cell(condition, outcome, correct=correct) for outcome in outcomes]
            shares = (Text(between(cell.share, percent=True)) for cell in cells)
            table.add_row(Text(condition), Text("correct" if correct else "wrong"), *shares)
    return table


def _shares(found: Results) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), title=f"Share of answers, {found.whose}", title_justify="left")
    for head in ("condition", "outcome", "share", "answers", "items"):
        table.add_column(Text(head))
    for one in found.kept.shares:
        share = between(one.share, percent=True)
        table.add_row(*(Text(t) for t in (one.condition, one.outcome, share, str(one.answers), str(one.items))))
    return table


def _sheets(found: Results) -> Table:
    table = Table(
        box=None,
        padding=(0, 2, 0, 0),
        title="Annotators: checks failed, gold right, median time on an item, mean κ with others",
        title_justify="left",
    )
    for head in ("name", "kind", "answered", "failed", "gold", "time", "κ", ""):
        table.add_column(Text(head))
    for sheet in found.sheets:
        cells = (
            visible(sheet.annotator),
            sheet.kind,
            f"{sheet.answered} of {sheet.assigned}",
            f"{sheet.failed} of {sheet.checks}",
            f"{sheet.gold_right} of {sheet.gold}",
            seconds(sheet.median_seconds),
            number(sheet.kappa, 2),
            "left out" if sheet.left_out else "",
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table
