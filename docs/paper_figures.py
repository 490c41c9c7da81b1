"""The first picture of a paper's page, drawn from its committed table: ``python docs/paper_figures.py`` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from attentest.papers import PAPERS
from attentest.papers.claims import Direction
from attentest.papers.outcome_files import committed
from attentest.presentation.charts import COLOURS, MUTED, data_of, styled, svg
from attentest.report.claims.view import MARKS
from attentest.store.atomic import write_text

HERE = Path(__file__).parent
SHADES = {"agrees": COLOURS[0], "differs": COLOURS[1], "unsettled": MUTED}


def conclusions(name: str) -> list[dict[str, Any]]:
    """Every conclusion that a run was compared with, by corpus; recalled ones only where a paper has no others."""
    found: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for outcome in committed(name) or []:
        claim = outcome.claim
        if isinstance(claim, Direction) and outcome.settled and not claim.rule.ours:
            corpus = claim.corpus.partition(" (")[0] or "several"
            row = {"conclusion": claim.rule.name, "corpus": corpus, "status": outcome.status}
            found[claim.counts].append(row | {"mark": MARKS[outcome.status][0]})
    return found[True] or found[False]


def tiles(name: str) -> Any:
    """Conclusions down, corpora across: what agrees, what differs, what is not settled."""
    rows = conclusions(name)
    order = {key: list(dict.fromkeys(row[key] for row in rows)) for key in ("conclusion", "corpus")}
    plain = {"ticks": False, "domain": False, "grid": False, "title": None}
    y = alt.Y("conclusion:N", sort=order["conclusion"], axis=alt.Axis(**plain, labelLimit=420))
    x = alt.X("corpus:N", sort=order["corpus"], axis=alt.Axis(**plain, orient="top", labelAngle=-30, labelLimit=120))
    known = list(SHADES)
    colour = alt.Color(
        "status:N",
        scale=alt.Scale(domain=known, range=[SHADES[status] for status in known]),
        legend=alt.Legend(title=None, orient="bottom", symbolType="square"),
    )
    base = alt.Chart(data_of(rows)).encode(x, y)
    marks = base.mark_text(color="white", fontWeight="bold", fontSize=13).encode(text="mark:N")
    squares = base.mark_rect(cornerRadius=3, stroke="white", strokeWidth=2).encode(color=colour)
    return styled(alt.layer(squares, marks, width=alt.Step(46), height=alt.Step(24)))


def figures() -> list[str]:
    """The papers that have such a picture."""
    return [name for name in PAPERS if conclusions(name)]


if __name__ == "__main__":
    for paper in figures():
        write_text(HERE / "images" / f"paper-{paper}.svg", svg(tiles(paper)))
        print(f"docs/images/paper-{paper}.svg")
