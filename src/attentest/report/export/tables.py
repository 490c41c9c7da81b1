"""The tables of a run as rows: the answers, the lines, every measure, and those that sections of the page bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from attentest.presentation.presentation import Results, Section
from attentest.report.pages.html import environment
from attentest.report.pages.run import sections_of, steps_of
from attentest.report.tables.verdict import ANSWERS, TONES
from attentest.report.verdict.verdict import Verdict
from attentest.store.findings import Findings
from attentest.store.summary import estimate, estimates_by_class

__all__ = ["Exported", "tables_of"]


@dataclass
class Exported:
    """A table: its name, what it shows, the heads of its columns, and its rows."""

    name: str
    title: str
    head: list[str]
    rows: list[list[Any]] = field(default_factory=list)


def tables_of(verdict: Verdict, every: Mapping[str, Findings], results: Results) -> Iterator[Exported]:
    """Every table of a run; ``every`` has the findings of all its files."""
    yield _answers(verdict)
    yield _lines(verdict)
    yield _measures(every, results.classes, by_class=not results.in_steps)
    for section in sections_of(results):
        yield from _of_section(section, results)


def _answers(verdict: Verdict) -> Exported:
    head = ["use", "for", "answer", "why", "wrong", "of", "share wrong", "low", "high"]
    made = Exported("answers", "What attention may be used for", head)
    for goal in verdict.goals:
        wrong = goal.wrong
        known = (
            [None] * 5 if wrong is None or not wrong.of else [wrong.count, wrong.of, wrong.value, wrong.low, wrong.high]
        )
        made.rows.append([goal.goal, goal.reader, goal.answer, goal.words, *known])
    return made


def _lines(verdict: Verdict) -> Exported:
    head = ["line", "question", "result", "estimate", "low", "high", "judged", "not judged", "tone", "decides", "says"]
    made = Exported("lines", "What was asked, and what came out", head)
    for line in verdict.lines:
        found = line.estimate
        numbers = [found.value, found.low, found.high, found.judged, found.not_judged]
        made.rows.append([line.key, line.question, line.result, *numbers, line.tone, line.decides, line.reading])
    return made


def _measures(every: Mapping[str, Findings], names: Sequence[str], *, by_class: bool) -> Exported:
    head = ["challenge", "measure", "meaning", "statistic", "predicted", "value", "low", "high", "judged", "not judged"]
    made = Exported("measures", "Every measure, for all texts and by predicted class", head)
    for findings in every.values():
        for measure in findings.measures:
            about = [findings.challenge, measure.name, measure.words, measure.statistic]
            found = {"all": estimate(findings, measure)}
            if by_class:
                classes = estimates_by_class(findings, measure)
                found |= {names[c] if c < len(names) else f"class {c}": one for c, one in classes.items()}
            for predicted, one in found.items():
                made.rows.append([*about, predicted, one.value, one.low, one.high, one.judged, one.not_judged])
    return made


def _of_section(section: Section, results: Results) -> Iterator[Exported]:
    """The tables that a section of the page shows, read from its markup, whoever wrote it.

    A table's id gives its name; one without is named by its section.
    """
    known = {"TONES": TONES, "ANSWERS": ANSWERS, "wording": results.wording}
    page = environment(**known).get_template(section.template)
    corpus = results.fields.get("corpus", {})
    table = section.table(results)
    text = page.render(tables={section.key: table}, figures=[], corpus=corpus, steps=steps_of(results))
    read = _Tables(text)
    for number, (head, rows) in enumerate(read.tables):
        name = read.names[number] or (f"{section.key}-{number + 1}" if number else section.key)
        yield Exported(name, section.title or section.key.replace("_", " "), *_widened(head, rows))


#: A cell's text, and the interval or note that stands small beside it.
Cell = tuple[str, str]


class _Tables(HTMLParser):
    """The tables of a page: heads, and rows of cells; a row that names a group becomes a first column."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[tuple[list[str], list[list[Cell]]]] = []
        self.names: list[str] = []
        self._row: list[list[str]] | None = None
        self._in: list[str] = []
        self._group = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a row or a cell."""
        given = dict(attrs)
        if tag == "table":
            self.tables.append(([], []))
            self.names.append((given.get("id") or "").removeprefix("table-"))
            self._group = ""
        elif tag == "tr":
            self._row, self._is_group = [], "about" in (given.get("class") or "").split()
        elif tag in ("td", "th") and self._row is not None:
            self._row.append(["", ""])
        self._in.append(tag)

    def handle_data(self, data: str) -> None:
        """Text of a cell, or what stands small in it."""
        if self._row:
            self._row[-1]["small" in self._in] += data

    def handle_endtag(self, tag: str) -> None:
        """End a row: a head, a group, or cells."""
        while self._in and self._in.pop() != tag:
            pass
        if tag != "tr" or self._row is None or not self.tables:
            return
        cells: list[Cell] = [(" ".join(a.split()), " ".join(b.split())) for a, b in self._row]
        head, rows = self.tables[-1]
        if "thead" in self._in:
            head += [text for text, _ in cells]
        elif self._is_group:
            self._group = cells[0][0]
        else:
            rows.append([(self._group, ""), *cells])
        self._row = None


def _widened(head: list[str], rows: list[list[Cell]]) -> tuple[list[str], list[list[Any]]]:
    """Every column, with a second one for what stood small beside its values, and without a group that there is not."""
    heads = ["group", *head]
    kept: list[tuple[int, int]] = []
    for place in range(len(heads)):
        for part in (0, 1):
            there = any(len(row) > place and row[place][part] for row in rows)
            if there or (part == 0 and place):
                kept.append((place, part))
    named = [heads[place] + ("" if not part else ", note" if place == 1 else ", interval") for place, part in kept]
    return named, [[row[place][part] if len(row) > place else "" for place, part in kept] for row in rows]
