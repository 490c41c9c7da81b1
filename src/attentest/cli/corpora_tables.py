"""The tables of attentest corpora, for 80 columns and more."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from rich.console import Group
from rich.table import Table
from rich.text import Text

from attentest.data.catalog.check import Recounted
from attentest.data.catalog.presets import USUAL
from attentest.data.catalog.raw import where
from attentest.data.corpora import CORPORA
from attentest.data.corpora.declared import Declared
from attentest.registry import text_of

__all__ = ["check_table", "entries", "list_table", "recounted_record"]


def entries() -> list[dict[str, Any]]:
    """Every corpus as plain values."""
    return [_entry(name, CORPORA[name]) for name in CORPORA]


def _entry(name: str, corpus: Any) -> dict[str, Any]:
    entry = {
        "name": name,
        "summary": corpus.summary,
        "task": getattr(corpus, "task", "single"),
        "licence": corpus.licence,
        "citation": corpus.citation,
    }
    if not issubclass(corpus, Declared):
        return {**entry, "here": "built in", "rows": _sizes(corpus), "sources": [], "homepage": ""}
    found = where(corpus())
    return {
        **entry,
        "homepage": corpus.homepage,
        "sources": [source.describe() for source in corpus.sources],
        "presets": list(dict.fromkeys((*USUAL, *corpus.presets))),
        "here": found.here,
        "folder": str(found.folder),
        "rows": found.rows,
        "missing": list(found.missing),
        "short": list(found.short),
        "sensitive": corpus.sensitive,
    }


def _sizes(corpus: Any) -> dict[str, int]:
    fields = {field.name: field.default for field in dataclasses.fields(corpus)}
    return {split: fields[split] for split in ("train", "dev", "test") if isinstance(fields.get(split), int)}


def list_table(found: Sequence[dict[str, Any]]) -> Group:
    """Two lines a corpus: what and whether it is here, then who made it, its licence and where it comes from."""
    name = max(len(entry["name"]) for entry in found)
    task = max(len(entry["task"]) for entry in found)
    lines: list[Text] = []
    for entry in found:
        rows = ", ".join(f"{count:,} {split}" for split, count in entry["rows"].items())
        style = {"yes": "green", "built in": "green", "partial": "yellow"}.get(entry["here"], "dim")
        host = urlsplit(entry["homepage"]).hostname or ""
        first = Text.assemble(
            (f"{entry['name']:<{name}}  ", "bold"), f"{entry['task']:<{task}}  ", (f"{entry['here']:<8}  ", style), rows
        )
        made = (_cited(entry["citation"]), entry["licence"], host)
        second = Text("  " + " · ".join(part for part in made if part), style="dim")
        for line in (first, second):
            line.no_wrap, line.overflow = True, "ellipsis"
            lines.append(line)
    return Group(*lines)


def _cited(citation: str) -> str:
    """Authors and year, without the title that follows."""
    words = citation.split()
    years = [place for place, word in enumerate(words) if word.rstrip(",;").isdigit()]
    return " ".join(words[: years[0] + 1]).rstrip(",;") if years else ""


def check_table(title: str, lines: Sequence[Recounted]) -> Table:
    """The figures of one corpus; a difference has its reason below it."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), expand=False)
    table.add_column("figure")
    table.add_column("published", justify="right", no_wrap=True)
    table.add_column("ours", justify="right", no_wrap=True)
    table.add_column("source, and why ours differs")
    for line in lines:
        figure = line.expected
        verdict = Text("agrees", style="green") if line.agrees else Text("differs", style="yellow")
        why = f": {line.reason}" if line.reason else ""
        table.add_row(
            Text(f"{figure.split} {figure.what}"),
            Text(_figure(figure.value, figure.what)),
            Text("–" if line.ours is None else _figure(line.ours, figure.what)),
            Text.assemble(verdict, f" · {figure.source}{why}"),
        )
    if not lines:
        table.add_row(Text("no published figures"), Text(""), Text(""), Text(""))
    return table


def recounted_record(declared: Declared, title: str, line: Recounted) -> dict[str, Any]:
    """One compared figure as plain values."""
    return {
        "corpus": text_of(declared),
        "title": title,
        **dataclasses.asdict(line.expected),
        "ours": line.ours,
        "agrees": line.agrees,
        "reason": line.reason,
    }


def _figure(value: float, what: str) -> str:
    if what == "average length" and not float(value).is_integer():
        return f"{value:,.1f}"
    return f"{value:,.0f}"
