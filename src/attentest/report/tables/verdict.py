"""The verdict in the terminal, with Rich: understandable without colours and in 80 columns.

Tokens, class names and corpus names come from strangers: they enter as ``Text`` after ``visible``, never as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attentest.presentation.line import Measured
from attentest.presentation.text import interval_of, value_of, visible
from attentest.report.verdict.verdict import Verdict

__all__ = ["ALSO", "ANSWERS", "TONES", "also_rows", "also_table", "verdict_summary", "verdict_table"]


#: What a tone or an answer looks like: a symbol and a word, so that no colour is needed.
TONES: Final = {
    "supports": ("✓", "speaks for it", "green"),
    "mixed": ("~", "mixed", "yellow"),
    "against": ("✗", "speaks against it", "red"),
    "unsettled": ("?", "not settled", "dim"),
    "context": ("·", "for context", "dim"),
    "void": ("!", "does not count", "red"),
}

ANSWERS: Final = {
    "yes": ("✓", "green"),
    "with care": ("~", "yellow"),
    "no": ("✗", "red"),
    "cannot say": ("?", "dim"),
}

#: The title of what decides no line.
ALSO: Final = "Also measured, and not weighed above"


def verdict_table(verdict: Verdict) -> Table:
    """The verdict's lines: question, result, and its reading with a symbol and a word for the tone."""
    table = Table(box=box.SIMPLE, expand=False, padding=(0, 1), pad_edge=False)
    table.add_column("Question", ratio=3)
    table.add_column("Result, 95 % interval", ratio=2)
    table.add_column("What it says", ratio=4)
    for line in verdict.lines:
        symbol, word, style = TONES[line.tone]
        reading = Text.assemble((f"{symbol} {word}. ", f"bold {style}"), visible(line.reading))
        result = Text(f"{visible(line.result)}\n{line.estimate.judged:,} judged")
        table.add_row(Text(visible(line.question)), result, reading, end_section=True)
    return table


def verdict_summary(verdict: Verdict) -> Group:
    """The whole verdict: headline, lines, what each goal may rely on, closing, what else was measured, limits."""
    goals = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    goals.add_column(no_wrap=True)
    goals.add_column()
    for goal in verdict.goals:
        symbol, style = ANSWERS[goal.answer]
        asked = Text.assemble(
            (visible(goal.goal), "bold"),
            f" ({visible(goal.reader)}). ",
            visible(f"{goal.words} {goal.known_by}".rstrip()),
        )
        goals.add_row(Text(f"{symbol} {goal.answer}", style=f"bold {style}"), asked)
    parts: list[RenderableType] = [Text(visible(verdict.headline), style="bold"), verdict_table(verdict)]
    parts += [
        Text("What may it be used for?", style="bold"),
        goals,
        Text(),
        Text("\n".join(map(visible, verdict.closing.splitlines()))),
    ]
    if verdict.next_steps:
        parts += [Text(), Text("What next?", style="bold"), Text("\n".join(map(visible, verdict.next_steps)))]
    if (also := also_table(verdict.also)) is not None:
        parts += [Text(), also]
    parts += [Text(f"Limit: {visible(limit)}", style="dim") for limit in verdict.limits]
    return Group(*parts)


def also_rows(also: Sequence[Measured]) -> list[dict[str, str]]:
    """Every number as text, under its challenge."""
    return [
        {
            "challenge": one.challenge,
            "words": one.words,
            "value": value_of(one.estimate, one.form),
            "interval": interval_of(one.estimate, one.form),
            "texts": f"{one.judged:,}" if one.judged == one.texts else f"{one.judged:,} of {one.texts:,}",
        }
        for one in also
    ]


def also_table(also: Sequence[Measured]) -> Table | None:
    """The same for the terminal; None where every challenge has a line."""
    if not also:
        return None
    table = Table(title=ALSO, title_justify="left", title_style="bold", box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    table.add_column("Measure", overflow="fold")
    table.add_column("Value, 95 % interval", overflow="fold", min_width=13)
    table.add_column("Judged", justify="right")
    under = ""
    for row in also_rows(also):
        if row["challenge"] != under:
            under = row["challenge"]
            table.add_row(Text(visible(under).replace("_", " "), style="bold"))
        number = Text(f"{row['value']} {row['interval']}".rstrip())
        table.add_row(Text(visible(row["words"])), number, Text(row["texts"]))
    return table
