"""The line on gating: what decides a token's weight, its own state, the rest of the text, or what is asked."""

from __future__ import annotations

from attentest.report.verdict import Line
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["gating_line"]


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
