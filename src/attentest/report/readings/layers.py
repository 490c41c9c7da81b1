"""How challenges to the layers and heads of transformers are read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from attentest.report.readings.reading import Caption, Column, Plot, Reading
from attentest.report.verdict import Measured
from attentest.store.findings import Findings
from attentest.store.summary import summarise

__all__ = ["HEADS", "JOINT_ADVERSARY", "KNOCKOUT", "LAYERS", "LAYERS_BLEU"]


def _layers_figures() -> tuple[Plot, ...]:
    from attentest.report.layers_figure import layers_curve

    return (
        Plot(
            "layers",
            "change",
            lambda found, _: layers_curve(found),
            Caption(
                "What is left when more and more layers lose their attention?",
                "In the first layer, the first two and so on to all of them, and likewise from the last one "
                "down, every head’s attention is replaced (shuffled, by default). The height is the share of correct "
                "predictions; the dashed line is the unchanged model. Where a line stays high, the attention of those "
                "layers cannot be the reason for the predictions. Bars are 95 % "
                "intervals; a bar that cannot be seen is narrower than its dot.",
            ),
        ),
    )


LAYERS = Reading(
    "layers",
    rows=(
        "One row per text and set of layers whose attention is replaced. Of an encoder–decoder, its three "
        "kinds of attention separately. Of a translator, one row per step and set."
    ),
    columns=(
        Column("attention", "string", "`self`; of an encoder–decoder `encoder`, `decoder` or `cross`"),
        Column("replaced", "string", "which layers: `first 2`, `last 3`, `all`"),
        Column("direction", "string", "where counting begins: `first` or `last`"),
        Column("layers", "int32", "how many layers"),
        Column("label", "int32", "the gold class; of a translator, the next word"),
        Column("change", "double", "total variation distance of the prediction from the model's own, mean over draws"),
        Column("flips", "double", "the share of draws in which the decision is another"),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_after", "double", "the share of draws in which it still is, attention replaced"),
        Column(
            "gained",
            "double",
            "`correct_after` less `correct`: below zero where the model is right and does not stay so",
        ),
    ),
    notes=(
        "A decoder's own attention is not judged (`one key`) where one word was written, which has nothing "
        "else to attend to: the first step of a translator, and every text of a checkpoint, whose decoder "
        "begins with one word."
    ),
    figures=_layers_figures,
    headline={
        "accuracy": "share of correct predictions, own attention",
        "all.accuracy": "share of correct predictions, attention of every layer replaced",
        "all.flips": "share of decisions that turn, attention of every layer replaced",
    },
)

LAYERS_BLEU = Reading(
    "layers_bleu",
    rows=(
        "One row per text, set of layers whose attention is replaced, and draw; also one for each text with "
        "the model's own weights. `predicted` is null."
    ),
    columns=(
        Column("attention", "string", "`encoder`, `decoder` or `cross`; `none` with its own weights"),
        Column("replaced", "string", "which layers: `first 2`, `last 3`, `all`; `none` with its own weights"),
        Column("direction", "string", "where counting begins: `first` or `last`; `none` with its own weights"),
        Column("layers", "int32", "how many layers; 0 with its own weights"),
        Column("draw", "int32", "which draw of random or permuted weights, from 0"),
        Column("hypothesis", "string", "what was written; subwords are put together"),
        Column("reference", "string", "the translation that the corpus has"),
        Column("counts", "list of double", "what BLEU is made of, as in [bleu](#bleu)"),
        Column("own_counts", "list of double", "the same, of what was written with the model's own weights"),
        Column("signature", "string", "sacrebleu's signature, to be quoted with the figure"),
    ),
    headline={
        "own.bleu": "",
        "all.bleu": "BLEU, attention of every layer replaced",
        "all.change": "change of BLEU, attention of every layer replaced",
    },
)


def _largest_head(heads: Findings) -> Iterator[Measured]:
    """The head that flips most decisions, of every kind of attention; its interval is its own, though it was picked."""
    table = heads.table
    judged = table.filter(pc.and_(pc.is_null(table["not_judged"]), pc.is_valid(table["flipped"])))
    for kind in pc.unique(judged["attention"]).to_pylist():
        rows = judged.filter(pc.equal(judged["attention"], kind))
        rows = rows.append_column("turned", rows["flipped"].cast(pa.float64()))
        each = rows.group_by(["layer", "head"], use_threads=False).aggregate([("turned", "mean")]).to_pylist()
        most = max(each, key=lambda head: (head["turned_mean"], -head["layer"], -head["head"]))
        if not most["turned_mean"]:
            continue
        of_it = pc.and_(pc.equal(rows["layer"], most["layer"]), pc.equal(rows["head"], most["head"]))
        own = rows.filter(of_it)
        found = summarise(own["turned"].to_numpy(), 0, "fraction")
        of = "" if kind == "self" else f"{kind}: "
        words = (
            f"{of}largest share that one head flips (layer {most['layer']} head {most['head']} of {len(each)} heads)"
        )
        yield Measured(
            heads.challenge, words, found, "fraction", *(pc.count_distinct(t["id"]).as_py() for t in (own, table))
        )


HEADS = Reading(
    "heads",
    rows="One row per text, layer and head, whose attention is replaced in every row.",
    columns=(
        Column("attention", "string", "`self`; of an encoder–decoder `encoder`, `decoder` or `cross`"),
        Column("layer", "int32", "the layer, from 1"),
        Column("head", "int32", "the head, from 1"),
        Column("change", "double", "total variation distance of the prediction from the model's own"),
        Column("flipped", "bool", "whether the decision is another"),
        Column(
            "on_no_word",
            "double",
            "the share of the head's attention on special tokens, mean over rows: a sink where it is near 1",
        ),
        Column("on_other_text", "double", "the same share on a prompt and a second text"),
    ),
    notes=(
        "A decoder's own attention is not judged (`one key`): it begins with one word, which has nothing "
        "else to attend to."
    ),
    headline={"flipped": "share of decisions that a head flips, mean over heads", "on_no_word": ""},
    further=_largest_head,
)

KNOCKOUT = Reading(
    "knockout",
    rows=(
        "One row per text. A word is knocked out when no row of the chosen layers sees it. The top word is "
        "the one with the largest weight at the site."
    ),
    columns=(
        Column("tokens", "int32", "the number of words"),
        Column("tau", "double", "Kendall's τ-b between the words' weights and `changes`"),
        Column(
            "captured",
            "double",
            "how much of all change the top `k` words by weight (at most half of the text's) hold: 0 a "
            "blind choice, 1 the best",
        ),
        Column("top_is_most", "bool", "whether the top word is the one whose knock-out changes the prediction most"),
        Column("chance", "double", "how often a word chosen blindly would be: 1 / `tokens`"),
        Column("top_flips", "bool", "whether the decision flips without the top word"),
        Column(
            "other_flips",
            "double",
            "the share of the other words without which it flips: what a random other word does on average",
        ),
        Column("any_flips", "bool", "whether there is a word without which it flips"),
        Column(
            "change_top",
            "double",
            "total variation distance of the prediction without the top word from the model's own",
        ),
        Column("change_other", "double", "the same without another word, mean over them"),
        Column("change", "double", "the same, mean over all words"),
        Column("largest_change", "double", "the same, the largest of all words"),
        Column(
            "rows_stayed",
            "double",
            "the share of rows, over words, heads and chosen layers, that saw nothing else and stayed as they were",
        ),
        Column("changes", "list of double", "the same distance without every word; only with `per_token`"),
    ),
    headline={"top_flips": "", "other_flips": "", "any_flips": ""},
)

JOINT_ADVERSARY = Reading(
    "joint_adversary",
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
