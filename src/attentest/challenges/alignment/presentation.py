"""What people see of alignment: lines, figures, columns."""

from __future__ import annotations

from typing import Any

from attentest.presentation.line import Line
from attentest.presentation.presentation import Caption, Column, Plot, Presentation, Results
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["PRESENTATION", "alignment_line"]


def alignment_line(alignment: Findings) -> Line | None:
    """Does it look at the words it translates?"""
    names = {measure.where["explainer"] for measure in alignment.measures}
    if "attention" not in names:
        return None
    own = estimate(alignment, "attention.aer")
    others = ((name, estimate(alignment, f"{name}.aer")) for name in sorted(names - {"attention"}))
    beside = ", ".join(f"{name} {found.value:.2f}" for name, found in others)
    links = "It proposes one link for every word, also for those that have none, so the rate cannot reach 0 there."
    return Line(
        "alignment",
        "Does attention point at the word that is being translated? (alignment error rate)",
        f"{own} AER (0 best, 1 worst)",
        f"{links} Beside it: {beside}." if beside else links,
        "context",
        own,
        "tokens",
        "How wrong are its links?",
    )


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.alignment.figures import alignment_map, shown_sentence

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


PRESENTATION = Presentation(
    "alignment",
    place=120,
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
    figures=_figures,
)
