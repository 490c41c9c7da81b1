"""A verdict such as a real one, with every tone and every answer."""

from __future__ import annotations

from attentest.presentation.line import Line
from attentest.report.verdict.verdict import Goal, Verdict
from attentest.store.summary import Estimate


def made_up_verdict() -> Verdict:
    """A verdict with every tone and every answer."""
    return Verdict(
        headline="Do not show this model's attention as the reason for a prediction: for 82 % of the texts a very "
        "different attention gives the same answer.",
        lines=(
            Line(
                "adversary",
                "Can the attention be very different while the prediction stays?",
                "0.82 [0.77, 0.87] of the possible divergence",
                "Almost always: the words that are shown could nearly all be others, and nobody would notice.",
                "against",
                Estimate(0.82, 0.77, 0.87, 0.2, 235, 5, "bootstrap 95 %"),
                "states",
            ),
            Line(
                "permutation",
                "Does shuffling the attention change the prediction?",
                "0.11 [0.10, 0.13] median change",
                "A little. Where one word holds most of the attention it changes more.",
                "mixed",
                Estimate(0.11, 0.10, 0.13, 0.1, 235, 5, "bootstrap 95 %"),
                "states",
            ),
            Line(
                "agreement",
                "Do attention and gradient rank the words alike?",
                "τ = 0.55 [0.53, 0.58]",
                "Yes, for most texts, and more so than leave-one-out does.",
                "supports",
                Estimate(0.55, 0.53, 0.58, 0.2, 235, 5, "bootstrap 95 %"),
                "tokens",
            ),
            Line(
                "uniform",
                "Is attention needed at all?",
                "12 % [8 %, 17 %] of the decisions change under uniform weights",
                "Mostly not: the states carry the answer.",
                "context",
                Estimate(0.12, 0.08, 0.17, 0.3, 240, 0, "Wilson 95 %"),
                "setting",
            ),
        ),
        goals=(
            Goal(
                "show a user why",
                "someone affected by the decision",
                "no",
                "Another attention says otherwise.",
            ),
            Goal(
                "find words worth a look",
                "the model's builder",
                "yes",
                "It ranks words as the gradient does.",
            ),
            Goal("compare two models", "a researcher", "with care", "Only beside leave-one-out."),
            Goal("prove what was not used", "an auditor", "cannot say", "No challenge here tests for it."),
        ),
        closing="Attention here is a fair hint at which words the model reads, and a poor account of why it decided. "
        "Show leave-one-out beside it.",
        limits=(
            "Attention cannot be intervened on while everything else stays as it was.",
            "Erasing words leaves the texts that the model was trained on.",
        ),
    )
