"""What people see of randomisation: lines, figures, columns."""

from __future__ import annotations

from attentest.challenges.certificates.checks import checks_terminal
from attentest.challenges.faithfulness.presentation import SALIENCY
from attentest.presentation.presentation import Caption, Column, Plot, Presentation

__all__ = ["PRESENTATION"]


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.randomisation.figures import randomisation_curve

    return (
        Plot(
            "randomisation",
            "spearman",
            lambda found, _: randomisation_curve(found),
            Caption(
                "Do scores change when the model is randomised?",
                "The model’s weights are randomised, from the head down until nothing learnt is left (or, on request, "
                "one part at "
                "a time), and every explainer scores the same words again. ρ is "
                "Spearman’s rank correlation with its scores for the trained model: 1 the same order of words, 0 "
                "(dashed) an unrelated one. Lines should fall: an explainer that stays the same for a random model "
                "explains the text, not the model. Bars are 95 % intervals; a bar that cannot be "
                "seen is narrower than its dot.",
            ),
        ),
    )


PRESENTATION = Presentation(
    "randomisation",
    place=150,
    rows="One row per text, explainer and layer.",
    columns=(
        Column("explainer", "string", "whose scores are compared"),
        Column(
            "layer",
            "string",
            "the part drawn anew last (`head`, `attention`, `encoder`; without `cascade` also "
            "`embedding`), or `everything`",
        ),
        Column("step", "int32", "its place in the order in which weights are drawn anew, from 1"),
        Column(
            "spearman",
            "double",
            "Spearman's ρ between the scores for the trained and for the random model, averaged over draws",
        ),
        Column("spearman_absolute", "double", "the same between the sizes of the scores, their signs aside"),
    ),
    figures=_figures,
    sections=(SALIENCY,),
    terminal=checks_terminal,
    tabled=True,
)
