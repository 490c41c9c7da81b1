"""The page of a paper's claims: one HTML file that needs no network and runs nothing, as the report's is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attentest.presentation.charts import image
from attentest.report.claims.figures import PaperFigure, drawn, scatter
from attentest.report.claims.headline import HeadlineView
from attentest.report.claims.view import MARKS, View
from attentest.report.pages.html import environment
from attentest.store.atomic import write_text

__all__ = ["claims_page", "write_claims_page"]


def write_claims_page(
    view: View,
    target: Path,
    came_from: str = "",
    headline: HeadlineView | None = None,
    figures: Sequence[PaperFigure] = (),
) -> None:
    """Write the page to a file, whole or not at all."""
    write_text(target, claims_page(view, came_from, headline, figures))


def claims_page(
    view: View, came_from: str = "", headline: HeadlineView | None = None, figures: Sequence[PaperFigure] = ()
) -> str:
    """The page as text; ``came_from`` says where the outcomes were found."""
    panels = drawn(view)
    return (
        environment(MARKS=MARKS)
        .get_template("claims.html")
        .render(
            view=view,
            paper=view.claims.paper,
            came_from=came_from,
            headline=headline,
            figures=[
                {"about": one, "image": image(one.draw()), "narrow": image(one.draw(columns=1))} for one in figures
            ],
            figure_rates=list(zip(view.rates(view.figures), view.chances(view.figures), strict=True)),
            direction_rates=list(zip(view.rates(view.directions), view.chances(view.directions), strict=True)),
            directions=_directions(view),
            tables=[(name, outcomes, view.of_table(outcomes)) for name, outcomes in view.tables.items()],
            points=sum(map(len, panels.values())),
            image=image(scatter(view)) if panels else None,
            narrow=image(scatter(view, columns=1)) if panels else None,
            made=_made(view),
        )
    )


def _directions(view: View) -> list[tuple[Any, list[Any]]]:
    """Each conclusion once, with its outcome on every corpus."""
    found: dict[str, tuple[Any, list[Any]]] = {}
    for outcome in view.directions:
        rule = outcome.claim.rule  # type: ignore[union-attr]
        found.setdefault(rule.name, (rule, []))[1].append(outcome)
    return list(found.values())


def _made(view: View) -> dict[str, str]:
    """The versions and devices behind the outcomes."""
    return {
        name: ", ".join(sorted({getattr(o, name) for o in view.outcomes if getattr(o, name)}))
        for name in ("attentest", "torch", "device")
    }
