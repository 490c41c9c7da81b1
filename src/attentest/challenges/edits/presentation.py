"""What people see of edits: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.presentation.presentation import NARROW, Caption, Column, Plot, Presentation, Results
from attentest.registry import name_in_words
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["PRESENTATION", "edits_line"]


def edits_line(findings: Findings, results: Results) -> Line | None:
    """How often predictions follow edits, and how well explainers find the edited words where they do."""
    followed, flipped = estimate(findings, "followed"), estimate(findings, "flipped")
    if not followed.judged:
        return None
    names = list(dict.fromkeys(m.where["explainer"] for m in findings.measures if m.column == "average_precision"))
    found = {name: estimate(findings, f"{name}.followed.average_precision") for name in names}
    chance = estimate(findings, "chance.followed")
    listed = ", ".join(f"{name_in_words(name, names)} {one.value:.2f}" for name, one in found.items() if one.judged)
    w = results.wording
    beside = (
        f" Where it follows, average precision of the edited {w.items}: {listed}; a random order {chance.value:.2f}."
    )
    return Line(
        "edits",
        "Does the prediction follow people's edits?",
        f"{followed} of edits",
        f"{flipped.value:.0%} flip the decision.{beside if chance.judged else ''}",
        "context",
        followed,
        "setting",
        "Follows people's edits?",
    )


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.edits.figures import edited_words

    return (
        Plot(
            "edits",
            "average_precision",
            lambda found, _: edited_words(found),
            Caption(
                "Which scores find the words that people edited?",
                "People changed each text just enough to change its label. 1 means that a score puts all edited words "
                "before all others. Blue: the model predicts both versions as they are labelled, so the edited words "
                "mattered to it. Orange: it does not. The dashed line is what a random order reaches where it does. "
                "Bars are 95 % intervals.",
            ),
            lambda found, _: edited_words(found, width=NARROW),
            applies=lambda found: estimate(found, "chance.followed").judged > 0,
            missing="about the prediction",
        ),
    )


PRESENTATION = Presentation(
    "edits",
    place=116,
    rows="One row per text about the prediction, and one per text and explainer about the explanation.",
    columns=(
        Column("version", "string", "`original`, or what people made of it, `revised`"),
        Column("pair", "int64", "the place of the original among the texts examined: the same for its revisions"),
        Column("outcome", "string", "`followed` where both versions are predicted as labelled, or `not followed`"),
        Column("asked", "string", "what the row asks about: the `prediction` or the `explanation`"),
        Column("explainer", "string", "whose scores are compared; null where the prediction is asked about"),
        Column("edited", "int32", "the number of tokens that the other version does not keep"),
        Column("flipped", "bool", "whether the two versions are decided differently"),
        Column("followed", "bool", "whether both are predicted as they are labelled"),
        Column("average_precision", "double", "of the tokens ranked by score: 1 when all edited ones come first"),
        Column("auprc", "double", "area under the precision-recall curve, drawn with straight lines as in ERASER"),
        Column("rank", "double", "share of the other tokens above an edited one, mean over these; .5 by chance"),
        Column("hit", "bool", "whether an edited token is among the top ones (`top` of them)"),
        Column("chance", "double", "the average precision that a random order reaches on average, exactly"),
        Column("chance_hit", "double", "the chance that as many random tokens hold an edited one"),
    ),
    lines=(edits_line,),
    figures=_figures,
    in_study={"followed": "follows edits"},
)
