"""The page of a paper's claims: one HTML file that needs no network and runs nothing, as the report's is."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attentest.report.claims_figures import drawn, scatter
from attentest.report.claims_headline import HeadlineView
from attentest.report.claims_view import MARKS, View
from attentest.report.families import Families, stands_on
from attentest.report.families_figures import changes_by_weight, effects_by_weight
from attentest.report.figures import svg
from attentest.report.html import environment
from attentest.report.layers_figure import layer_curves
from attentest.store.atomic import write_text

__all__ = ["claims_page", "write_claims_page"]

CHANGES = (
    "Each shape shows how the texts' median change over permutations of their weights is spread, one for each quarter "
    "of the largest weight; the bar is the middle half, the tick the median, the number how many texts there are."
)
EFFECTS = (
    "Removing the top weight changes the prediction by more than removing another one above the dashed line, by less "
    "below it. Darker is more texts; the line is the median. Every corpus and seed counts the same."
)
LAYERS = (
    "The attention of every head is shuffled in the first layer, the first two and so on to all of them (whole lines), "
    "and likewise from the last one down (broken lines). The dotted line is the model as it is; bars are 95 % "
    "intervals over seeds. Where a line stays up, the attention of those layers is not what the score stands on. The "
    "paper's Figure 4 prints no numbers; it says that altering has a substantial effect in all three tasks, and in "
    "translation the most in the first step of the decoder and across (here: cross)."
)


def write_claims_page(
    view: View,
    target: Path,
    came_from: str = "",
    headline: HeadlineView | None = None,
    families: Families | None = None,
) -> None:
    """Write the page to a file, whole or not at all."""
    write_text(target, claims_page(view, came_from, headline, families))


def claims_page(
    view: View, came_from: str = "", headline: HeadlineView | None = None, families: Families | None = None
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
            families=[] if families is None else list(_families(families)),
            figure_rates=view.rates(view.figures),
            direction_rates=view.rates(view.directions),
            directions=_directions(view),
            tables=[(name, outcomes, view.rates(outcomes)) for name, outcomes in view.tables.items()],
            points=sum(map(len, panels.values())),
            image=_image(scatter(view)) if panels else None,
            narrow=_image(scatter(view, columns=1)) if panels else None,
            made=_made(view),
        )
    )


def _image(chart: Any) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg(chart).encode()).decode()


def _families(families: Families) -> Iterator[dict[str, str]]:
    """The figures of the families of tasks, each with how it is read and what it stands on."""
    for draw, panels, title, reading in (
        (changes_by_weight, families.changes, "What permuted weights change, by the largest weight", CHANGES),
        (effects_by_weight, families.effects, "What the top weight is worth, by how far it stands out", EFFECTS),
    ):
        if panels:
            yield {
                "title": title,
                "reading": reading,
                "image": _image(draw(panels)),
                "narrow": _image(draw(panels, columns=1)),
                "basis": stands_on(panels),
            }
    if families.layers:
        yield {
            "title": "What is left when more and more layers lose their attention",
            "reading": LAYERS,
            "image": _image(layer_curves(families.layers)),
            "narrow": _image(layer_curves(families.layers, columns=1)),
            "basis": "; ".join(panel.basis for panel in families.layers),
        }


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
