"""The answer in a notebook: a page in a frame, so that its style stays inside and nothing in it can run."""

from __future__ import annotations

from html import escape
from pathlib import Path

from attentest.report.pages.html import environment
from attentest.report.tables.verdict import ANSWERS, TONES
from attentest.report.verdict.verdict import Verdict

__all__ = ["card", "framed"]

#: Pixels of the frame: what stands in every card, and a line that decides.
HEIGHT, LINE = 540, 120


def card(verdict: Verdict, report: Path | None = None) -> str:
    """The headline, the three answers, the lines that decide, and where the report is, for a notebook."""
    page = environment(TONES=TONES, ANSWERS=ANSWERS).get_template("card.html")
    where = "" if report is None else str(report)
    lines = sum(bool(line.decides) for line in verdict.lines)
    return framed(page.render(verdict=verdict, where=where), "Verdict", HEIGHT + LINE * lines)


def framed(page: str, title: str, height: int) -> str:
    """A page in a frame that runs no script and reaches nothing."""
    return (
        f'<iframe sandbox title="{escape(title)}" style="width: 100%; height: {height}px; border: 0" '
        f'srcdoc="{escape(page)}"></iframe>'
    )
