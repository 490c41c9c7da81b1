"""What people see of fragility: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.presentation.presentation import Caption, Column, Plot, Presentation, Results
from attentest.registry import name_in_words
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["PRESENTATION", "fragility_line"]


def fragility_line(findings: Findings, results: Results) -> Line | None:
    """What is left of each explainer's top tokens after the largest change, the first one's in numbers."""
    asked = [measure for measure in findings.measures if measure.column == "overlap"]
    size = max((measure.where["size"] for measure in asked), key=float)
    at = {(m.where["explainer"], m.where["way"]): estimate(findings, m) for m in asked if m.where["size"] == size}
    names = list(dict.fromkeys(name for name, _ in at))
    first = at[names[0], "searched"]
    if not first.judged:
        return None
    kept = estimate(findings, f"{names[0]}.searched.{size}.kept")
    others = ", ".join(f"{name_in_words(name, names)} {at[name, 'searched'].value:.2f}" for name in names[1:])
    w = results.wording
    return Line(
        "fragility",
        "Do changes too small for the prediction move the explanation?",
        f"{first} of the top {w.items} stay",
        f"{name_in_words(names[0], names).capitalize()}, embeddings moved by {float(size):.0%}, prediction kept for "
        f"{kept.value:.0%} of {w.units}; random changes leave {at[names[0], 'random'].value:.2f}."
        + (f" Searched: {others}." if others else ""),
        "context",
        first,
        "setting",
        "Steady under small changes?",
    )


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.fragility.figures import overlap_curves

    return (
        Plot(
            "fragility",
            "overlap",
            lambda found, _: overlap_curves(found),
            Caption(
                "Do changes too small for the prediction move the explanation?",
                "The embeddings of a text are moved, each number by at most a share of their root mean square, and the "
                "prediction stays. Left: the change was searched to move the explanation; right: it is random. 1 means "
                "the same top {w.items} as before. Bars are 95 % intervals.",
            ),
            missing="the prediction did not stay",
        ),
    )


PRESENTATION = Presentation(
    "fragility",
    place=155,
    rows="One row per text, explainer, size and way.",
    columns=(
        Column("explainer", "string", "whose scores are moved"),
        Column("way", "string", "how: `searched`, or `random` signs"),
        Column("size", "string", "the size of the change, as a share of the root mean square of the text's embeddings"),
        Column("kept", "bool", "whether the prediction stays; searched: whether it does at any step"),
        Column(
            "spearman",
            "double",
            "Spearman's ρ with the scores of the text itself; null where the prediction moved",
        ),
        Column("overlap", "double", "overlap of the top tokens before and after; null where the prediction moved"),
        Column("output_change", "double", "how far the prediction moved (TVD)"),
    ),
    lines=(fragility_line,),
    figures=_figures,
)
