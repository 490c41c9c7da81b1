"""The page of an audit of sources: one HTML file that needs no network and runs nothing."""

from __future__ import annotations

from pathlib import Path

from attentest import __version__
from attentest.report.pages.html import environment
from attentest.sources.auditing import SourcesAudit
from attentest.sources.judging.record import Record
from attentest.sources.showing.shading import number, shaded_example
from attentest.sources.showing.words import between, came_from, headline, named, of_layers, of_others
from attentest.store.atomic import write_text
from attentest.store.folder import REPORT, RunFolder

__all__ = ["page", "write_page"]

#: So many questions are shown, each with every method.
SHOWN = 10


def write_page(found: SourcesAudit) -> Path:
    """Write the page into the audit's folder, whole or not at all."""
    target = found.folder / REPORT
    write_text(target, page(found))
    RunFolder(found.folder).finish(REPORT)
    return target


def page(found: SourcesAudit) -> str:
    """The page as text."""
    return (
        environment(between=between, named=named, number=number)
        .get_template("attentest.sources.showing/page.html")
        .render(
            found=found,
            headline=headline(found),
            came_from=came_from(found),
            layers=of_layers(found),
            others=of_others(found),
            planted=any(ruling.judged.counts[2] for ruling in found.rulings),
            injected=any(ruling.judged.counts[3] for ruling in found.rulings),
            examples=[shaded_example(record) for record in _examples(found.records)],
            version=__version__,
        )
    )


def _examples(records: tuple[Record, ...]) -> list[Record]:
    """A few of every status and kind, in turn."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.status, record.kind), []).append(record)
    turns = max(map(len, groups.values()))
    return [group[turn] for turn in range(turns) for group in groups.values() if turn < len(group)][:SHOWN]
