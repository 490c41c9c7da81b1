"""What people see of trained_uniform: lines, figures, columns."""

from __future__ import annotations

from attentest.challenges.trained_models import TESTS
from attentest.presentation.line import Line
from attentest.presentation.presentation import Column, Presentation
from attentest.presentation.seeds import RIGHT, Seeds, within_seed_variance
from attentest.presentation.thresholds import THRESHOLDS, said, tone_of
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "needed_line"]


def needed_line(trained_uniform: Findings, seeds: Seeds | None, wording: Wording = TEXTS) -> Line:
    """Is attention needed at all? What a model loses that is trained with uniform weights."""
    lost, own, even = (estimate(trained_uniform, m) for m in ("lost", "accuracy", "accuracy_uniform"))
    words = {
        "supports": "A control model trained with uniform weights predicts worse: the task needs attention.",
        "against": "A control model trained with uniform weights predicts as well: the task does not need attention, "
        "so there is nothing to explain.",
        "mixed": "A control model trained with uniform weights predicts a little worse.",
    }
    tone, doubt = within_seed_variance(tone_of("lost", lost), lost, seeds)
    usual = even.value if seeds is None else float(seeds.scores[:, RIGHT].mean())
    if tone == "against" and usual - even.value > THRESHOLDS["lost"].against:
        tone = "unsettled"
        doubt = (
            f"Other seeds of the model do better than this one ({usual:.3f} on average): the loss may be seed variance."
        )
    reading = (
        f"{doubt or said(words, 'lost', tone, lost, wording)} Accuracy {own.value:.3f} with attention, "
        f"{even.value:.3f} without. This is about the task, not about how this model uses its attention."
    )
    question = "Is attention needed at all? (trained with uniform weights)"
    return Line(
        "needed",
        question,
        f"{lost} of accuracy lost".replace("-", "−"),
        reading,
        tone,
        lost,
        "states",
        "Is attention needed?",
        scale="lost",
    )


PRESENTATION = Presentation(
    "trained_uniform",
    place=230,
    columns=(
        Column("label", "int32", "the gold class"),
        Column("change", "double", "total variation distance between the two models' predictions"),
        Column("attention_jsd", "double", "Jensen–Shannon divergence (nats) of the model's weights from uniform ones"),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_uniform", "bool", "whether the model trained with uniform weights is"),
        Column("predicted_uniform", "int32", "what that model predicts"),
        Column("lost", "double", "`correct − correct_uniform`: 1, 0 or −1"),
    ),
    lines=(lambda found, results: needed_line(found, results.seeds, results.wording),),
    sections=(TESTS,),
    in_study={"lost": "accuracy lost, trained uniform"},
)
