"""What people see of selection: lines, columns."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.presentation.presentation import Column, Presentation, Results
from attentest.registry import name_in_words
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["PRESENTATION"]


def selected_line(findings: Findings, results: Results) -> Line:
    """How often decisions stay with the selected words alone, and with as many others."""
    names = [measure.where["explainer"] for measure in findings.measures if measure.column == "stays"]
    first, *others = names
    share, stays = (estimate(findings, f"{first}.{column}") for column in ("share", "stays"))
    w = results.wording
    beside = ", ".join(
        f"{name_in_words(name, names)} {estimate(findings, f'{name}.stays').value:.0%}" for name in others
    )
    reading = f"{share.value:.0%} of the {w.items} are selected. With as many others, decisions stay: {beside}."
    return Line(
        "selection",
        f"Are the selected {w.items} enough?",
        f"{stays} of decisions stay with them alone",
        reading if others else f"{share.value:.0%} of the {w.items} are selected.",
        "context",
        stays,
        "tokens",
        f"Are selected {w.items} enough?",
    )


def places_line(findings: Findings, results: Results) -> Line | None:
    """What a classifier tells from places alone."""
    told = estimate(findings, "places_right")
    if not told.judged:
        return None
    majority, length, gain = (estimate(findings, name) for name in ("majority_right", "length_right", "places_gain"))
    w = results.wording
    return Line(
        "places",
        f"Can the prediction be told from where the selected {w.items} stand?",
        f"{told} of predictions",
        f"A classifier that sees places and no {w.item} tells them. The length of the text alone tells "
        f"{length.value:.0%}, always saying the most frequent class {majority.value:.0%}; places gain {gain} over the "
        "length. Where they tell nearly all, the selection may be a code and not a reason.",
        "context",
        told,
        "tokens",
        "Do places tell the class?",
    )


PRESENTATION = Presentation(
    "selection",
    place=114,
    rows="One row per text and explainer: the first explainer selects, the others put as many words first.",
    columns=(
        Column("explainer", "string", "whose words"),
        Column("tokens", "int32", "the number of tokens"),
        Column("selected", "int32", "how many are selected"),
        Column("share", "double", "`selected / tokens`"),
        Column("sufficiency", "double", "drop of ŷ when the model is given these words alone"),
        Column("comprehensiveness", "double", "drop of ŷ when the model is given all words but these"),
        Column("stays", "bool", "whether the decision stays with these words alone"),
        Column("right", "bool", "whether it is then the text's label"),
        Column("instead", "double", "of models that select: drop of ŷ when these words are given to the predictor"),
        Column("token_f1", "double", "F1 of these words against the rationale; null without one"),
        Column("auprc", "double", "area under the precision-recall curve of the scores against the rationale"),
        Column("places_right", "bool", "whether a classifier that sees places alone tells the prediction"),
        Column("length_right", "bool", "the same of one that sees the text's length alone"),
        Column("majority_right", "bool", "whether the prediction is the most frequent one"),
        Column("places_gain", "double", "`places_right − length_right`"),
    ),
    notes="The last four are there for the explainer that selects, where there are training texts.",
    lines=(selected_line, places_line),
    headline={"places_right": "", "places_gain": ""},
    in_study={"selection.share": "selected", "selection.stays": "decisions stay", "places_right": "told by places"},
)
