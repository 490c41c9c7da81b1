"""What people see of gating: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.presentation.presentation import Column, Presentation
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "gating_line"]


def gating_line(gating: Findings, wording: Wording = TEXTS) -> Line:
    """Says how attention works, not whether to trust it: it is context, and weighs nothing."""
    asked = any(measure.column == "query_jsd" for measure in gating.measures)
    gate = estimate(gating, "gate")
    if asked:
        told, reading = _of_a_query(gating)
        result = f"another query moves the weights by {told} JSD"
    else:
        told, result = gate, f"{gate} of {wording.units} are gated"
        reading = _of_one_text(gate, estimate(gating, "rest_jsd"), wording)
    question = f"Does a {wording.item}'s weight depend on its own state alone? (gating)"
    return Line(
        "gating",
        question,
        result,
        reading,
        "context",
        told,
        "setting",
        "Does the query move it?" if asked else "Is it a gate?",
    )


def _of_one_text(gate: Estimate, rest: Estimate, wording: Wording) -> str:
    if gate.value == 1:
        return (
            "Attention is a gate here: it lets each state through by that state alone. The other "
            f"{wording.items} reach a weight only through what the encoder made of them."
        )
    kept = f"weights move among the {wording.items} kept, by {rest.value:.3f} JSD"
    return f"No gate: when the other states are swapped, {kept}."


def _of_a_query(gating: Findings) -> tuple[Estimate, str]:
    moved, change, flipped = (estimate(gating, name) for name in ("query_jsd", "query_change", "query_flipped"))
    if moved.value < 1e-6:
        return moved, "Another query leaves every weight as it was: attention ignores the query."
    return moved, (
        "Weights depend on the query, so attention is no mere gate. "
        f"Under the weights of another query, ŷ moves by {change.value:.3f} (TVD) and "
        f"{100 * flipped.value:.0f}\u00a0% of decisions flip."
    )


PRESENTATION = Presentation(
    "gating",
    place=220,
    rows="One row per text and swap; what only the other swap measures is null.",
    columns=(
        Column(
            "swapped",
            "string",
            "what was swapped: `rest`, the states of half of the tokens, or `query`, the second text; in "
            "a translation, the step; where a text asks with its own summary, that of another text",
        ),
        Column(
            "gate",
            "bool",
            "whether every weight is a function of its token's state alone, as far as both swaps show; "
            "null where one of them is not judged",
        ),
        Column(
            "rest_jsd",
            "double",
            "Jensen–Shannon divergence (nats) of the weights of the tokens kept, normalised among "
            "themselves, before and after",
        ),
        Column("rest_log_ratio", "double", "the largest change of ln(α_t/α_s) of two tokens kept"),
        Column(
            "gate_jsd",
            "double",
            "divergence of all weights after the swap from those of the states that the tokens were given",
        ),
    ),
    notes=(
        "Where there is a query, there are three more:\n\n"
        "| columns | type | meaning |\n"
        "| --- | --- | --- |\n"
        "| `query_jsd`, `query_change` | double | another query asked: divergence of the weights, and total "
        "variation distance of the prediction under them from the model's own |\n"
        "| and `query_flipped` | bool | whether those weights change the decision |"
    ),
    lines=(lambda found, results: gating_line(found, results.wording),),
)
