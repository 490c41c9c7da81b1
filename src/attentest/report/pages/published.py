"""The published figures that a run has a part in, beside ours."""

from __future__ import annotations

from typing import Any

from attentest.papers import PAPERS
from attentest.papers.outcome_files import REPRODUCED, committed

__all__ = ["published_beside"]

Row = dict[str, Any]


def published_beside(run: str) -> list[Row]:
    """For each paper whose committed figures stand on this run: its citation, and every such figure beside ours."""
    found = []
    for name, paper in PAPERS.items():
        if run not in (paper.text(REPRODUCED) or ""):
            continue
        rows = _rows(name, run)
        if rows:
            agree = sum(row["status"] == "agrees" for row in rows)
            found.append({"citation": paper.citation, "rows": rows, "agree": agree})
    return found


def _rows(paper: str, run: str) -> list[Row]:
    from attentest.papers.claims import load_claims
    from attentest.report.claims.view import MARKS, View

    outcomes = [outcome for outcome in committed(paper) or () if outcome.settled and run in outcome.run_ids]
    view = View(load_claims(paper), outcomes)
    return [
        {
            "table": outcome.claim.table,
            "measure": view.measure(outcome),
            "published": view.published(outcome),
            "ours": view.ours(outcome),
            "interval": view.interval(outcome),
            "seeds": len(outcome.seeds),
            "status": outcome.status,
            "sign": MARKS[outcome.status][0],
            "difference": "" if outcome.like_for_like else outcome.difference,
        }
        for outcome in outcomes
    ]
