"""What people see of mutual_information: columns."""

from __future__ import annotations

from attentest.presentation.presentation import Column, Presentation

__all__ = ["PRESENTATION"]


PRESENTATION = Presentation(
    "mutual_information",
    place=250,
    rows="One row per text. Lists hold one entry per token of the words that are clustered.",
    columns=(
        Column("tokens", "int32", "how many tokens of the text are of the words that are clustered"),
        Column("embedding_clusters", "list of int64", "the clusters of their embeddings"),
        Column("state_clusters", "list of int64", "the clusters of their states"),
        Column("drawn_clusters", "list of int64", "clusters of states drawn at random, as often as they occur"),
        Column(
            "training_tokens",
            "double",
            "tokens of the training split that were clustered; this and the following are one number, in every row",
        ),
        Column("training_information", "double", "mutual information of their two clusters (nats)"),
        Column("training_error", "double", "its standard error, whole texts drawn; it does not cover the bias"),
        Column("training_bits", "double", "the same information in bits"),
        Column("training_corrected", "double", "less the first term of the bias (Miller & Madow)"),
        Column("training_chance", "double", "the information of the same labels, those of states shuffled"),
        Column("training_embedding_entropy", "double", "entropy of the clusters of embeddings (nats)"),
        Column("training_state_entropy", "double", "entropy of the clusters of states (nats)"),
    ),
    headline={"training": "", "training_chance": "", "embedding_entropy": "", "examined": ""},
    in_study={"training": "information of words in states (nats)"},
)
