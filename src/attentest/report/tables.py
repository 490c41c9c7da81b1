"""The terminal's side of a report, with Rich: understandable without colours and in 80 columns.

Tokens, class names and corpus names come from strangers: they enter as ``Text`` after ``visible``, never as
markup.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from attentest.readings.line import Measured
from attentest.readings.text import interval_of, reasons, value_of, visible, visible_token
from attentest.report.verdict import Verdict
from attentest.store.findings import Findings, Measure
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate, estimate, estimates_by_class
from attentest.tasks import task_of, wording_of

__all__ = [
    "ALSO",
    "ANSWERS",
    "TONES",
    "also_rows",
    "also_table",
    "heat_line",
    "measures_table",
    "render",
    "verdict_summary",
    "verdict_table",
]


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

_FEW_CLASSES = 4


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
        asked = Text.assemble((visible(goal.goal), "bold"), f" ({visible(goal.reader)}). ", visible(goal.words))
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


def measures_table(run: RunFolder) -> Table:
    """Every measure of every findings file: value with interval, by predicted class, how many were judged."""
    fields = run.record["fields"]
    names = [visible(str(name), 24) for name in fields.get("corpus", {}).get("classes", [])]
    steps, units = task_of(fields).writes, wording_of(fields).units
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    table.add_column("Measure", overflow="fold")
    table.add_column(f"All {units}", min_width=13)
    if not steps:
        table.add_column("By predicted class", overflow="fold")
    table.add_column("Judged", justify="right", no_wrap=True)
    table.add_column("Not", justify="right", no_wrap=True)
    for challenge in run.challenges:
        findings = run.findings(challenge)
        if findings.measures:
            table.add_row(Text(visible(challenge).replace("_", " ").upper(), style="bold"))
        for measure in findings.measures:
            whole = estimate(findings, measure)
            table.add_row(
                Text(visible(measure.words)),
                Text(_both(whole, measure)),
                *([] if steps else [Text("\n").join(_by_class(findings, measure, names))]),
                Text(f"{whole.judged:,}"),
                Text(f"{whole.not_judged:,}"),
            )
        for reason, count in reasons(findings).items():
            table.add_row(Text(f"not judged: {visible(reason)} ({count:,} rows)", style="dim"))
        table.add_section()
    return table


def _both(found: Estimate, measure: Measure) -> str:
    form = measure.statistic
    return f"{value_of(found, form)} {interval_of(found, form).replace(' ', '')}".rstrip()


def _by_class(findings: Findings, measure: Measure, names: Sequence[str]) -> Iterable[Text]:
    """A line for each class; of many classes only the lowest and the highest."""
    found = [(c, e) for c, e in estimates_by_class(findings, measure).items() if e.judged]
    if len(found) > _FEW_CLASSES:
        found.sort(key=lambda pair: pair[1].value)
        found = [found[0], found[-1]]
    for c, e in found:
        name = names[c] if c < len(names) else f"class {c}"
        yield Text(f"{name} {_both(e, measure)}")


def heat_line(tokens: Sequence[str], weights: Sequence[float]) -> Text:
    """A text whose tokens are shaded by weight; the three heaviest also carry it as a number."""
    heaviest = sorted(weights, reverse=True)[:3][-1:] or [0.0]
    line = Text()
    for token, weight in zip(tokens, weights, strict=True):
        shade = round(255 * (1 - weight**0.5))
        line.append(visible_token(token, 40), style=f"black on rgb(255,{(255 + shade) // 2},{shade})")
        line.append(f"({weight:.2f}) " if weight >= heaviest[0] else " ")
    return line


def render(what: RenderableType, *, width: int = 80, colour: bool = False) -> str:
    """The terminal output as text, for a given width; plain unless ``colour`` is asked for."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, color_system="truecolor" if colour else None
    )
    with console.capture() as capture:
        console.print(what)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
