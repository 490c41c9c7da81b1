"""What people see of guide: lines, figures, columns."""

from __future__ import annotations

import math

import pyarrow as pa

from attentest.challenges.trained_models import TESTS
from attentest.presentation.line import Line
from attentest.presentation.presentation import Caption, Column, Plot, Presentation
from attentest.presentation.seeds import Seeds, judged_rows, within_seed_variance
from attentest.presentation.text import signed
from attentest.presentation.thresholds import FEWEST, THRESHOLDS, said, tone_of
from attentest.statistics.bootstrap import bootstrap_paired_difference
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "carries_line"]


def carries_line(guide: Findings, seeds: Seeds | None, wording: Wording = TEXTS) -> Line:
    """Does attention carry information? What a model of single words gains from it."""
    gained, own, adversary = (estimate(guide, m) for m in ("gained", "over_own", "over_adversary"))
    room = _room(guide)
    simple = f"A simple model that sees single {wording.items}"
    words = {
        "supports": f"{simple} predicts better with these weights than with uniform ones: they carry information about "
        f"the {wording.items}.",
        "against": f"{simple} gains nothing from these weights.",
        "mixed": f"{simple} gains a little from these weights.",
    }
    tone, doubt = within_seed_variance(tone_of("gained", gained), gained, seeds)
    if not gained.low > 0 and room.judged >= FEWEST and room.high <= THRESHOLDS["gained"].supports:
        tone = "context"
        doubt = "The simple model does as well as this one under uniform weights, so there was nothing to gain."
    reading = (
        f"{doubt or said(words, 'gained', tone, gained, wording)} Over weights that it learns itself it gains "
        f"{signed(own)}, over an adversary’s {signed(adversary)}."
    )
    question = "Do the weights help another model? (guide)"
    return Line(
        "carries",
        question,
        f"{signed(gained)} accuracy over uniform weights",
        reading,
        tone,
        gained,
        "tokens",
        "Do weights help another model?",
        scale="gained",
    )


def _room(guide: Findings) -> Estimate:
    """How much more the audited model knows than the simple one does under uniform weights, text by text."""
    rows = judged_rows(guide.table)
    own = (rows["predicted"].to_numpy() == rows["label"].to_numpy()).astype(float)
    value, low, high = bootstrap_paired_difference(own, rows["correct_uniform"].cast(pa.float64()).to_numpy())
    return Estimate(value, low, high, math.nan, len(rows), 0, "bootstrap 95 %")


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.guide.figures import guide_scores

    return (
        Plot(
            "guide",
            "gained",
            lambda found, _: guide_scores(found),
            Caption(
                "Do the weights help a model that has no context?",
                "A simple model sees each word in isolation and averages under given weights. If the "
                "audited model’s weights make it better than uniform ones, they carry information about the "
                "words; if they beat weights it learns itself, they carry something it could not learn; if an "
                "adversary’s do as well, the information is not specific to this attention. Weights come from a "
                "model that has read the whole text, so part of what they carry may be its answer. The dashed "
                "line is the audited model.",
            ),
            section="tests",
        ),
    )


PRESENTATION = Presentation(
    "guide",
    place=260,
    rows=(
        "One row per text. The network without context is named by the weights it is given: `uniform`, its "
        "`own`, the `model`'s, the `adversary`'s."
    ),
    columns=(
        Column("label", "int32", "the gold class"),
        Column("correct", "bool", "whether the model itself is right"),
        Column("correct_uniform", "bool", "whether the network without context is, under uniform weights"),
        Column("correct_own", "bool", "the same under weights it learnt itself"),
        Column("correct_model", "bool", "the same under the model's weights"),
        Column("correct_adversary", "bool", "the same under the adversary's weights"),
        Column("predicted_uniform", "int32", "what it predicts under uniform weights"),
        Column("predicted_own", "int32", "the same under weights it learnt itself"),
        Column("predicted_model", "int32", "the same under the model's weights"),
        Column("predicted_adversary", "int32", "the same under the adversary's weights"),
        Column("gained", "double", "`correct_model − correct_uniform`: 1, 0 or −1"),
        Column("over_own", "double", "`correct_model − correct_own`"),
        Column("over_adversary", "double", "`correct_model − correct_adversary`"),
    ),
    lines=(lambda found, results: carries_line(found, results.seeds, results.wording),),
    sections=(TESTS,),
    figures=_figures,
    in_study={"gained": "accuracy gained by a guided MLP"},
)
