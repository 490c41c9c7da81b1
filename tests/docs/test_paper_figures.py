"""The first picture of a paper's page shows what its committed table says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from attentest.papers import PAPERS
from attentest.report.claims.view import MARKS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def drawn() -> Any:
    sys.path.insert(0, str(DOCS))
    import paper_figures

    return paper_figures


def test_every_paper_with_conclusions_begins_with_their_picture(drawn: Any) -> None:
    assert len(drawn.figures()) >= 4
    for name in drawn.figures():
        page = (PAPERS[name].folder / "page.md").read_text("utf-8")
        assert f"images/paper-{name}.svg" in page.partition("## ")[0], name


def test_the_picture_has_a_mark_for_every_outcome(drawn: Any) -> None:
    for name in drawn.figures():
        picture = (DOCS / "images" / f"paper-{name}.svg").read_text("utf-8")
        marks = re.findall(r">([✓✗?])<", picture)
        expected = sorted(row["mark"] for row in drawn.conclusions(name))
        assert sorted(marks) == expected, f"draw it again: python docs/paper_figures.py ({name})"
        assert set(marks) <= {MARKS[status][0] for status in drawn.SHADES}
