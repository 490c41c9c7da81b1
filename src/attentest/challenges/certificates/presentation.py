"""What people see of certificates: lines, figures, columns."""

from __future__ import annotations

from attentest.challenges.certificates.checks import checks_terminal
from attentest.challenges.faithfulness.presentation import SALIENCY
from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "certificates",
    place=140,
    rows=(
        "One row per text, explainer and check. Gaps between scores (`loop_gap`, `repeat_gap`, `alone_gap`) "
        "are shares of the text's largest score; what a slope misses of the rise of the output along it "
        "(`slope_gap`) is a share of the slope; what a sum misses (`completeness_gap`, `summation_gap`) is "
        "a share of F(text) − F(no words), but in `conservation_gap`, which is in log-odds. What is absorbed "
        "(`absorbed_bias`, `absorbed_epsilon`, `absorbed_symbols`; by `attn_lrp` also `absorbed_positions`, "
        "`absorbed_softmax`, `absorbed_other_text`) is a share of all relevance, whatever its sign. Other "
        "checks are numbers of the [explainer's own](generated/explainers.md)."
    ),
    columns=(
        Column("explainer", "string", "whose scores are checked"),
        Column("check", "string", "what is checked"),
        Column("value", "double", "what came out; null, with the reason `outside the sample`, where it was not tried"),
        Column("limit", "double", "what the value may not exceed; null where it is merely good to know"),
        Column("within", "bool", "whether it does not"),
    ),
    sections=(SALIENCY,),
    terminal=checks_terminal,
    tabled=True,
)
