"""How it is read whether scores find marked words, and what is read of translations."""

from __future__ import annotations

from typing import Any

from attentest.report.marks import has_ceiling, rationale_line
from attentest.report.readings.reading import NARROW, Caption, Column, Plot, Reading, Results
from attentest.report.translation import alignment_line, bleu_line
from attentest.store.findings import Findings

__all__ = ["ALIGNMENT", "BLEU", "RATIONALE"]

PLANTED = Caption(
    "Which scores find the rationale?",
    "This corpus has planted rationales: the words that decide the label. 1 means that a score puts all of them "
    "before all other words; "
    "the dashed line is what a random order reaches. Bars are 95 % intervals.",
)
HUMAN = Caption(
    "Which scores find the human rationale?",
    "Annotators marked a rationale in these texts. 1 means that a score puts all its words before all other words; the "
    "dashed line is what a random order reaches. Bars are 95 % intervals. This is plausibility: human rationales "
    "say nothing about what the model used.",
)
LINKED = Caption(
    "Which scores find the words that are linked?",
    "The corpus links each word of a translation to words of the original. 1 means that a score puts all of them "
    "before all other words; the dashed line is what a random order reaches. Bars are 95 % intervals. This is "
    "plausibility: links say which words mean the same, not what the model used.",
)


def _marked_by(_: Findings, results: Results) -> Caption:
    if results.marks == "human":
        return HUMAN
    return LINKED if results.in_steps and results.marks != "planted" else PLANTED


def _rationale_figures() -> tuple[Plot, ...]:
    from attentest.report.figures import rationale_ceiling, rationale_precision

    return (
        Plot(
            "rationale",
            "average_precision",
            lambda found, _: rationale_precision(found),
            _marked_by,
            lambda found, _: rationale_precision(found, width=NARROW),
        ),
        Plot(
            "ceiling",
            "ceiling_single_token_f1",
            lambda found, _: rationale_ceiling(found),
            Caption(
                "How close do scores come to human agreement?",
                "The top words of each score, as many as an annotator marked, are compared with that annotator’s "
                "rationale; 1 "
                "means the same words. The dashed line is the human ceiling: another annotator’s rationale, averaged "
                "over pairs "
                "of annotators of the same text. Bars are 95 % intervals. This is plausibility: human rationales say "
                "nothing "
                "about what the model used.",
            ),
            lambda found, _: rationale_ceiling(found, width=NARROW),
            applies=has_ceiling,
            missing="marked by one person only",
        ),
    )


RATIONALE = Reading(
    "rationale",
    rows="One row per text and explainer.",
    columns=(
        Column("explainer", "string", "whose scores are compared with the marks"),
        Column("average_precision", "double", "of the tokens ranked by score: 1 when all marked ones come first"),
        Column("mass", "double", "share of the scores' sum that lies on marked tokens; negative scores count as zero"),
        Column(
            "chance",
            "double",
            "the average precision that a random order reaches on average, exactly; above the share of marked tokens",
        ),
        Column("auprc", "double", "area under the precision-recall curve, drawn with straight lines as in ERASER"),
        Column("token_f1", "double", "F1 of the top tokens, as many as are marked: the share of them that are marked"),
        Column("chance_token_f1", "double", "the same for as many random tokens: the share of marked tokens"),
        Column("iou", "double", "tokens both top and marked, over tokens that are either"),
        Column(
            "span_precision",
            "double",
            "share of the runs of top tokens that match a marked run: half of their union or more is shared",
        ),
        Column("span_recall", "double", "as many matches, over the number of marked runs"),
        Column("span_f1", "double", "F1 of these two for this text; ERASER averages the two over texts first"),
    ),
    notes=(
        "Where the corpus keeps what each person marked, there are six more. Those of the ceiling do not "
        "depend on the explainer.\n\n"
        "| columns | type | meaning |\n"
        "| --- | --- | --- |\n"
        "| `single_token_f1`, `single_iou` | double | the explainer's top tokens against one person's marks, "
        "as many as that person marked; mean over the people who marked any |\n"
        "| `ceiling_token_f1`, `ceiling_iou` | double | the human ceiling: one person's marks against those "
        "of most of the others, mean over the people who marked any; null where fewer than three read the "
        "text, or most of the others agree on no token |\n"
        "| `ceiling_single_token_f1`, `ceiling_single_iou` | double | the human ceiling: one person's marks "
        "against another's, mean over pairs of people who both marked any; null where there is no pair |"
    ),
    lines=(lambda found, results: rationale_line(found, results.marks == "planted", results.wording),),
    figures=_rationale_figures,
)


def _alignment_figures() -> tuple[Plot, ...]:
    from attentest.report.alignment_figure import alignment_map, shown_sentence

    def has_alignment(alignment: Findings) -> bool:
        """Whether words and weights were kept, and there is a sentence to show."""
        return "scores" in alignment.table.column_names and shown_sentence(alignment) is not None

    def one_alignment(alignment: Findings, _: Results) -> Any:
        sentence = shown_sentence(alignment)
        assert sentence is not None
        return alignment_map(alignment, sentence)

    return (
        Plot(
            "alignment",
            "hit",
            one_alignment,
            Caption(
                "Where does it look while it writes?",
                "A typical sentence: among those easy to read, the one with the median share of errors. Each row is a "
                "target word, each column a source word; the darker, the more weight. Orange frames are the reference "
                "links, dots the highest weight of each row: a dot in a frame is a hit.",
            ),
            applies=has_alignment,
        ),
    )


ALIGNMENT = Reading(
    "alignment",
    rows="One row per word to write and explainer. AER is the sum of `errors` over the sum of `total`.",
    columns=(
        Column("sentence", "string", "the id of the sentence; an interval draws whole sentences"),
        Column("step", "int32", "which word of the reference, from 0"),
        Column("word", "string", "that word; null for the end of the sentence"),
        Column("explainer", "string", "whose highest score proposes the link"),
        Column("proposed_at", "int32", "the source word that is proposed, from 0"),
        Column("hit", "int32", "1 where that link is given, else 0"),
        Column("proposed", "int32", "links that are proposed: 1"),
        Column("links", "int32", "links that are given for this word"),
        Column("agreed", "int32", "`2 · hit`"),
        Column("errors", "int32", "`proposed + links − 2 · hit`"),
        Column("total", "int32", "`proposed + links`"),
        Column("tokens", "list of string", "the source words; this and the next two only with `per_token`"),
        Column("linked", "list of bool", "the source words that are linked to this word"),
        Column("scores", "list of double", "the explainer's scores of the source words"),
    ),
    lines=(lambda found, _: alignment_line(found),),
    figures=_alignment_figures,
)

BLEU = Reading(
    "bleu",
    rows=(
        "One row per text, kind of weights and draw, also where the rows of other challenges are steps of "
        "writing. `predicted` is null."
    ),
    columns=(
        Column(
            "weights",
            "string",
            "whose weights it was written with: `own`, `uniform`, `random`, `permuted`, and where asked "
            "`trained uniform`, `trained random`",
        ),
        Column("draw", "int32", "which draw of random or permuted weights, from 0"),
        Column("hypothesis", "string", "what was written; subwords are put together"),
        Column("reference", "string", "the translation that the corpus has"),
        Column(
            "counts",
            "list of double",
            "what BLEU is made of: the length of what was written, of the reference, n-grams that both "
            "have (n = 1 … 4), n-grams that were written (n = 1 … 4). Sum them over texts, then compute "
            "BLEU",
        ),
        Column("own_counts", "list of double", "the same, of what was written with the model's own weights"),
        Column("signature", "string", "sacrebleu's signature, to be quoted with the figure"),
    ),
    lines=(lambda found, _: bleu_line(found),),
)
