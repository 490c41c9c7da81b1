"""What people see of token_predictions: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.presentation.presentation import Caption, Column, Plot, Presentation
from attentest.presentation.thresholds import percent
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "alone_line"]


def alone_line(found: Findings, wording: Wording = TEXTS) -> Line | None:
    """What one token's state predicts; context, and weighs nothing."""
    per_token, deciding, whole = (estimate(found, name) for name in ("per_token", "deciding", "prediction"))
    if not per_token.judged:
        return None
    reading = (
        f"With all weight on one {wording.item}, {percent(deciding.value)} of the {wording.items} decide as the "
        f"{wording.unit} does, which itself reaches {whole.value:.3f}. The more do, the less it matters where the "
        "weight lies."
    )
    return Line(
        "alone",
        f"Does every {wording.item} alone predict the same?",
        f"{per_token} probability from one {wording.item}",
        reading,
        "context",
        per_token,
        "states",
        f"Does one {wording.item} predict alone?",
    )


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.token_predictions.figures import has_curves, some_curves, token_histogram

    return (
        Plot(
            "token_predictions",
            "mean",
            lambda found, results: token_histogram(found, results.wording),
            Caption(
                "What does one {w.item} alone predict?",
                "All weight is put on one {w.item} after the other; the probability is that of the {w.choice} that "
                "the model predicts, of {w.units} it predicts rightly. A peak at the right, near the probability of "
                "the whole {w.unit}, means that almost any {w.item} predicts the same, so that it hardly matters "
                "where attention lies. Values near .5 (for two classes) are {w.items} that decide nothing.",
            ),
        ),
        Plot(
            "token_curves",
            "alone",
            some_curves,
            Caption(
                "What does each {w.item} of one {w.unit} predict?",
                "The line is the probability of the {w.choice} that the model predicts with all weight on that "
                "{w.item}; dashed, that of the whole {w.unit}. Where the line stays near the dashed one, any {w.item} "
                "would do. The {w.units} are drawn at random. "
                "The command attentest tokens draws one {w.unit} for several models.",
            ),
            narrow=lambda found, results: some_curves(found, results, narrow=True),
            wide=True,
            applies=has_curves,
            missing="not drawn",
        ),
    )


PRESENTATION = Presentation(
    "token_predictions",
    place=215,
    columns=(
        Column("tokens", "int32", "the number of tokens"),
        Column(
            "total", "double", "sum over the tokens of the probability of the predicted class, all weight on the token"
        ),
        Column("mean", "double", "`total / tokens`"),
        Column("deciding", "double", "share of the tokens that alone decide as the text does"),
        Column("probability", "double", "the probability of the predicted class under the model's own weights"),
        Column("histogram", "list of int32", "how many tokens' probabilities lie in each of 20 bins from 0 to 1"),
        Column("words", "list of string", "the tokens; this and the next only of some texts (`shown`), wrong ones too"),
        Column("alone", "list of list of double", "the distribution predicted with all weight on each token"),
    ),
    notes=(
        "Only texts that are predicted rightly are judged. Where the head is affine, the probabilities of all other "
        "texts' tokens follow from `token_logits` of `instances`."
    ),
    lines=(lambda found, results: alone_line(found, results.wording),),
    figures=_figures,
    in_study={"per_token": "probability from one token"},
)
