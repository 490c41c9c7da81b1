"""What people see of rationale: lines, figures, columns."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from attentest.challenges.rationale.ranking import Marked, has_ceiling
from attentest.presentation.line import Line
from attentest.presentation.presentation import NARROW, Caption, Column, Plot, Presentation, Results, Section
from attentest.presentation.standings import ATTENTION, BESIDE, standing_cells
from attentest.presentation.text import interval_of, value_of
from attentest.presentation.thresholds import said, tone_of
from attentest.registry import name_in_words
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "listed_line", "marks_table", "marks_terminal", "rationale_line"]


HEADS = {
    "token_f1": "Token F1",
    "iou": "IOU",
    "single_token_f1": "F1, one person",
    "single_iou": "IOU, one person",
}


def rationale_line(rationale: Findings, planted: bool, wording: Wording = TEXTS) -> Line:
    """Does attention point at marked tokens?"""
    own, chance = estimate(rationale, "attention.average_precision"), estimate(rationale, "chance")
    names = [m.where["explainer"] for m in rationale.measures if m.column == "average_precision"]
    others = [(n, estimate(rationale, f"{n}.average_precision").value) for n in names if n != ATTENTION]
    best = max(others, key=lambda pair: pair[1], default=None)
    beside = f"A random order reaches {chance.value:.2f}"
    beside += f", {name_in_words(best[0], names)} {best[1]:.2f}." if best else "."
    if (marked := Marked.of(rationale)) is not None:
        beside = " ".join(filter(None, (beside, marked.ranked(wording), "" if planted else marked.ceiling(wording))))
    if not planted:
        return Line(
            "rationale",
            f"Does attention look like {wording.marked}? (plausibility)",
            f"{own} average precision",
            f"This is plausibility, not faithfulness: {wording.marks} say nothing about the model. {beside}",
            "context",
            own,
            "setting",
            f"Matches {wording.marks}?",
        )
    deciding = f"the {wording.items} that {wording.decide}"
    words = {
        "supports": f"Attention finds {deciding}.",
        "against": f"Attention does no better than a random order at finding {deciding}.",
        "mixed": f"Attention finds {deciding} only a little better than a random order.",
    }
    tone = tone_of("precision", own, chance=chance.value)
    return Line(
        "rationale",
        f"Does attention point at {deciding}? (planted rationale)",
        f"{own} average precision",
        f"{said(words, 'precision', tone, own, wording, chance=chance.value)} {beside}",
        tone,
        own,
        "tokens",
        f"Does it find deciding {wording.items}?",
        scale="precision",
        explainers=(ATTENTION,),
        chance=chance.value,
    )


def listed_line(rationale: Findings, wording: Wording = TEXTS) -> Line:
    """How much attention lies on words that a user named?"""
    own, even = estimate(rationale, "attention.mass"), estimate(rationale, "chance_token_f1")
    return Line(
        "rationale",
        f"How much attention lies on the {wording.items} you marked?",
        f"{own} of the attention",
        f"They are {even.value:.3f} of all {wording.items}. Whether they decide, the challenge exchange tells.",
        "context",
        own,
        "setting",
        f"Lies on marked {wording.items}?",
        form="share",
    )


def marks_table(rationale: Findings | None, wording: Wording = TEXTS) -> dict[str, Any] | None:
    """The explainers from the best to the worst, as text."""
    marked = Marked.of(rationale)
    if marked is None:
        return None
    rows = [
        {
            "words": row.words,
            **standing_cells(row.standing, row.beside_attention, few=marked.few, wording=wording),
            "numbers": [
                ("–", "") if one is None or not one.judged else (value_of(one, "mean"), interval_of(one, "mean"))
                for one in (row.area, *row.overlaps)
            ],
        }
        for row in marked.rows()
    ]
    return {
        "heads": [HEADS[column] for column in marked.columns],
        "rows": rows,
        "ceiling": has_ceiling(marked.findings),
    }


def marks_terminal(results: Results) -> Table | None:
    """The same for the terminal, in 80 columns; None where the run did not ask."""
    found, planted = marks_table(results.found.get("rationale"), results.wording), results.marks == "planted"
    if found is None:
        return None
    listed = results.marks == "listed"
    against = "planted rationales" if planted else "the words you marked" if listed else results.wording.marks
    title = f"Explainers against {against}" + ("" if planted or listed else " (plausibility, not faithfulness)")
    table = Table(
        title=title,
        caption="+ significantly better than attention, − significantly worse; others: no significant difference.",
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("Explainer", min_width=20)
    table.add_column("AUPRC, 95 % interval", no_wrap=True)
    table.add_column("Rank", no_wrap=True)
    for head in found["heads"]:
        table.add_column(head, max_width=6)
    signs = {BESIDE[1]: " +", BESIDE[-1]: " −"}
    for row in found["rows"]:
        (area, interval), *overlaps = row["numbers"]
        rank = row["rank"].replace(" to ", "–") + signs.get(row["beside"], "")
        cells = [row["words"], f"{area} {interval.replace(' ', '')}".strip(), rank, *(value for value, _ in overlaps)]
        table.add_row(*map(Text, cells), style="bold" if row["words"] == ATTENTION else None)
    return table


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


LISTED = Caption(
    "Which scores find the words you marked?",
    "1 means that a score puts all marked words before all other words; the dashed line is what a random order "
    "reaches. Bars are 95 % intervals. Whether the model uses these words, the challenge exchange tells.",
)


def _marked_by(_: Findings, results: Results) -> Caption:
    if results.marks == "listed":
        return LISTED
    if results.marks == "human":
        return HUMAN
    return LINKED if results.in_steps and results.marks != "planted" else PLANTED


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.rationale.figures import rationale_ceiling, rationale_precision

    return (
        Plot(
            "rationale",
            "average_precision",
            lambda found, _: rationale_precision(found),
            _marked_by,
            lambda found, _: rationale_precision(found, width=NARROW),
            section="marks",
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
            section="marks",
            applies=has_ceiling,
            missing="marked by one person only",
        ),
    )


PRESENTATION = Presentation(
    "rationale",
    place=110,
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
    lines=(
        lambda found, results: (
            listed_line(found, results.wording)
            if results.marks == "listed"
            else rationale_line(found, results.marks == "planted", results.wording)
        ),
    ),
    figures=_figures,
    sections=(
        Section(
            "marks",
            "attentest.challenges.rationale/section.html",
            lambda results: marks_table(results.found.get("rationale"), results.wording),
            place=40,
            title="Against rationales",
        ),
    ),
    terminal=marks_terminal,
)
