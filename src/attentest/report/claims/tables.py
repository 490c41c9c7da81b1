"""A paper's claims in the terminal: directions, then figures, each beside ours; readable in 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attentest.papers.claims import Claim
from attentest.papers.outcomes import Outcome
from attentest.presentation.text import visible
from attentest.report.claims.coverage import Coverage, coverage
from attentest.report.claims.view import MARKS, View

__all__ = ["claims_table", "papers_table"]

#: Below this many columns, a claim takes two lines.
NARROW = 76


def claims_table(view: View, *, width: int = 80, everything: bool = False, released: bool = False) -> Group:
    """What the paper claims and what came out.

    Claims without a figure of ours, and figures that were released but not printed, are counted, or all listed.
    """
    paper = view.claims.paper
    parts: list[RenderableType] = [
        Text.assemble((paper.title, "bold"), f" ({paper.citation})"),
        Text(paper.conclusion, style="italic"),
        Text(),
        *_rates(view),
        *(Text(line) for line in (view.recalled, view.asked_by_us) if line),
        Text(view.intervals, style="dim"),
    ]
    shown = [o for o in view.directions if everything or o.settled]
    if shown:
        parts += [Text(), Text("Directions", style="bold"), *_directions(view, shown, width)]
    for table, outcomes in view.tables.items():
        shown = [outcome for outcome in outcomes if everything or outcome.settled]
        if shown and not (everything or released or _printed(shown)):
            like, unlike = view.rates(shown)
            line = f" like for like: {like}; not like for like: {unlike}; '--table \"{table}\"' lists them"
            parts += [Text(), Text.assemble((visible(table), "bold"), line)]
        elif shown:
            parts += [Text(), Text(visible(table), style="bold")]
            parts += [Text(line, style="dim") for line in view.of_table(shown)]
            parts += _figures(view, shown, width)
    parts += _notes(view)
    parts += _absent(view, everything)
    return Group(*parts)


def _printed(outcomes: Sequence[Outcome]) -> bool:
    return any(isinstance(o.claim, Claim) and o.claim.source != "released" for o in outcomes)


def _rates(view: View) -> list[Text]:
    lines = []
    for name, outcomes in (("Figures", view.figures), ("Directions", view.directions)):
        if not outcomes:
            continue
        like, unlike = view.rates(outcomes)
        open_ = sum(not outcome.settled for outcome in outcomes)
        lines.append(
            Text.assemble(
                (f"{name:<11}", "bold"),
                f"like for like: {like}; not like for like: {unlike}; no figure of ours: {open_:,}",
            )
        )
        for words, found in zip(("like for like", "not like for like"), view.chances(outcomes), strict=True):
            lines += [Text(f"  by chance, {words}: {found}", style="dim")] if found else []
    return lines


def _directions(view: View, outcomes: Sequence[Outcome], width: int) -> Iterator[RenderableType]:
    """Each conclusion in a line, its corpora below."""
    for number, (words, group) in enumerate(groupby(outcomes, key=view.measure)):
        yield Text(visible(words), style="italic")
        yield _rows(view, [(o.claim.corpus or "the paper", o) for o in group], "expected" if number == 0 else "", width)


def _figures(view: View, outcomes: Sequence[Outcome], width: int) -> Iterator[RenderableType]:
    """Each corpus and model in a line, its figures below."""

    def about(outcome: Outcome) -> str:
        return " · ".join(part for part in (outcome.claim.corpus, view.model(outcome)) if part)

    for number, (words, group) in enumerate(groupby(outcomes, key=about)):
        yield Text(visible(words), style="italic")
        yield _rows(view, [(view.short(o), o) for o in group], "published" if number == 0 else "", width)


def _rows(view: View, named: Sequence[tuple[str, Outcome]], head: str, width: int) -> RenderableType:
    """A line each in four columns, or two lines each where the terminal is narrow; ``head`` names the second column."""
    if width < NARROW:
        lines: list[RenderableType] = []
        for name, outcome in named:
            numbers = Text.assemble("    ", view.published(outcome), " → ", _ours(view, outcome), "  ")
            lines += [Text(f"  {visible(name)}"), numbers.append_text(_status(view, outcome))]
        return Group(*lines)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=True, header_style="dim")
    table.show_header = bool(head)
    table.add_column("", ratio=1, overflow="fold")
    for title, fixed in ((head, 15), ("ours, 95 % interval", 22), ("outcome", 16)):
        table.add_column(title, width=fixed, overflow="fold")
    for name, outcome in named:
        cells = (Text(view.published(outcome)), _ours(view, outcome), _status(view, outcome))
        table.add_row(Text(f"  {visible(name)}"), *cells)
    return table


def _ours(view: View, outcome: Outcome) -> Text:
    return Text(" ".join(part for part in (view.ours(outcome), view.interval(outcome).replace(", ", ",")) if part))


def _status(view: View, outcome: Outcome) -> Text:
    symbol, style = MARKS[outcome.status]
    text = Text(f"{symbol} {outcome.status}", style=style)
    if outcome.settled and not outcome.like_for_like:
        text.append(f" [{view.notes[outcome.difference]}]", style="dim")
    if outcome.settled and outcome.reason:
        text.append(f" ({view.remarks[outcome.reason]})", style="dim")
    return text


def _notes(view: View) -> list[Text]:
    """The differences behind the numbers in brackets, and what is known about misses."""
    lines: list[Text] = []
    if view.notes:
        lines += [Text(), Text("Not like for like, and so outside the agreement rate:", style="bold")]
        lines += [Text(f"[{number}] {visible(words)}", style="dim") for words, number in view.notes.items()]
    if view.remarks:
        lines += [Text(), Text("Known about misses and what is not settled:", style="bold")]
        lines += [Text(f"({letter}) {visible(words)}", style="dim") for words, letter in view.remarks.items()]
    return lines


def _absent(view: View, everything: bool) -> list[Text]:
    reasons = view.reasons(view.outcomes)
    if not reasons:
        return []
    lines = [Text(), Text("No figure of ours:", style="bold")]
    for (status, reason), count in reasons.items():
        symbol, style = MARKS[status]
        lines.append(Text(f"{symbol} {count:,} {status}: {visible(reason)}", style=style))
    if not everything:
        lines.append(Text("'--all' lists them one by one.", style="dim"))
    return lines


def papers_table(views: Mapping[str, View], sources: Mapping[str, str]) -> Group:
    """Four lines a paper: how many claims, how many have a figure of ours and agree, where the outcomes come from."""
    longest = max(map(len, views), default=0)
    lines: list[Text] = []
    every = Coverage("", Counter())
    for name, view in views.items():
        paper = view.claims.paper
        like, unlike = view.rates(view.outcomes)
        count = f"{len(view.figures):,} figures, {len(view.directions):,} directions"
        printed = sum(coverage(view.outcomes), Coverage("", Counter()))
        every += printed
        lines += [
            Text.assemble((f"{name:<{longest}}  ", "bold"), count),
            Text(f"  {paper.title} ({paper.citation})"),
            Text(f"  printed figures with one of ours: {printed.ours:,} of {printed.printed:,}", style="dim"),
            Text(f"  like for like: {like}; not like for like: {unlike}; {sources[name]}", style="dim"),
        ]
    lines.append(Text(f"Of {every.printed:,} printed figures {every.ours:,} have one of ours"))
    return Group(*lines)
