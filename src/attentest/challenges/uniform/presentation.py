"""What people see of uniform: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.presentation.presentation import Column, Presentation
from attentest.presentation.site import Site, dependence
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "uniform_line"]


def uniform_line(
    uniform: Findings, share: Estimate | None = None, site: Site | None = None, wording: Wording = TEXTS
) -> Line:
    """Does the output change under uniform attention?"""
    flipped, before, after = (estimate(uniform, m) for m in ("flipped", "accuracy", "accuracy_uniform"))
    under = "Uniform attention" if site is None else f"Uniform attention at {site.name}"
    words = {
        "supports": f"{under} flips many decisions: the model uses where it looks.",
        "against": f"{under} flips almost no decision: the model hardly uses where it looks.",
        "mixed": f"{under} flips some decisions.",
    }
    reading = dependence(words, "flips", flipped, share, wording)
    return Line(
        "uniform",
        "Do decisions flip under uniform attention?",
        f"{flipped} of decisions flip",
        f"{reading.words} Accuracy {before.value:.3f} → {after.value:.3f}.{site.words if site else ''}",
        reading.tone,
        flipped,
        "states",
        "Does uniform attention flip decisions?",
        scale="flips",
        held=reading.held,
    )


PRESENTATION = Presentation(
    "uniform",
    place=170,
    columns=(
        Column("label", "int32", "the gold class"),
        Column("change", "double", "change of the prediction (TVD) under uniform weights"),
        Column(
            "moved",
            "double",
            "largest change of a difference between the predicted class's logit and another's, over what all weight on "
            "one state can change: free of temperature and bias; null where no weights change anything",
        ),
        Column("decided", "int32", "the class decided under uniform weights"),
        Column("flipped", "bool", "whether the decision changes"),
        Column("correct", "bool", "whether the prediction is right under the model's own weights"),
        Column("correct_uniform", "bool", "whether it is right under uniform ones"),
        Column("gained", "double", "`correct_uniform − correct`: 1, 0 or −1"),
    ),
    lines=(lambda found, results: uniform_line(found, results.on_words, results.site, results.wording),),
    in_study={"flipped": "decisions changed, uniform"},
)
