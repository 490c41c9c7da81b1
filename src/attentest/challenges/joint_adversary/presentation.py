"""What people see of joint_adversary: lines, figures, columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "joint_adversary",
    place=100,
    rows=(
        "One row per text. What was reached is a lower bound. Where a site has several heads or rows, the "
        "weights are those that are then read."
    ),
    columns=(
        Column("tokens", "int32", "the number of words"),
        Column("sites", "int32", "how many sites have other weights"),
        Column(
            "on_words",
            "double",
            "the share of their attention that lies on words, mean over sites; the rest is held",
        ),
        Column(
            "lower",
            "double",
            "divergence (JSD, nats) from the model's attention that was reached within ε, mean over sites",
        ),
        Column("least", "double", "the same at the site that moved least"),
        Column("far", "bool", "whether every site moved farther than `far`"),
        Column("unconstrained", "double", "largest divergence if the prediction were free, mean over sites"),
        Column("ratio", "double", "`lower / unconstrained`"),
        Column("top_changed", "double", "the share of sites whose top word is another one"),
        Column("decision_kept", "bool", "whether the predicted class stays; within ε of an even chance it may turn"),
        Column("change", "double", "total variation distance of the prediction from the model's own"),
        Column(
            "divergences",
            "list of double",
            "what was reached at every site, in the order they were named, or from the first layer on",
        ),
        Column(
            "adversarial_attention",
            "list of list of double",
            "the weights found, for every word one number per site; only with `per_token`",
        ),
    ),
    headline={
        "lower": "",
        "ratio": "JSD reached among the words’ shares, as a share of the largest possible",
        "top_changed": "",
        "on_words": "",
    },
)
