"""The figures of the paper's page: 2 and 3 by families of tasks, 4 by layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from attentest.papers.evidence import Cell
from attentest.papers.vashishth_2019.families import families, stands_on
from attentest.papers.vashishth_2019.families_figures import changes_by_weight, effects_by_weight
from attentest.papers.vashishth_2019.layer_curves import layer_curves
from attentest.papers.vashishth_2019.layer_panels import layer_panels
from attentest.report.claims.figures import PaperFigure

__all__ = ["figures"]

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


def figures(cells: Sequence[Cell]) -> Iterator[PaperFigure]:
    """Those that finished runs have findings for."""
    made = families(cells)
    for draw, panels, title, reading in (
        (changes_by_weight, made.changes, "What permuted weights change, by the largest weight", CHANGES),
        (effects_by_weight, made.effects, "What the top weight is worth, by how far it stands out", EFFECTS),
    ):
        if panels:
            yield PaperFigure(title, reading, stands_on(panels), partial(draw, panels))
    if layers := layer_panels(cells):
        title = "What is left when more and more layers lose their attention"
        yield PaperFigure(title, LAYERS, "; ".join(panel.basis for panel in layers), partial(layer_curves, layers))
