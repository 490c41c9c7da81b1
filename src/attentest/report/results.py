"""A run's findings, as presentations are given them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from attentest.challenges import PRESENTATIONS
from attentest.presentation.presentation import Presentation, Results
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder

__all__ = ["read", "results_of", "terminal_tables"]


def results_of(run: RunFolder, every: Mapping[str, Findings] | None = None) -> Results:
    """What a run found, by challenge; one that was run with several parameters is read once.

    ``every`` has the findings of all its files, where they were read before.
    """
    files = {name: run.findings(name) for name in run.challenges} if every is None else every
    found = {findings.name: files[run.named(findings.name) or name] for name, findings in files.items()}
    return Results(found, run.record["fields"])


def read(results: Results) -> Iterator[Presentation]:
    """The presentations of the challenges that these are results of, in their order."""
    return (reading for name, reading in PRESENTATIONS.items() if name in results.found)


def terminal_tables(run: RunFolder) -> Iterator[Table]:
    """The tables that challenges bring for the terminal."""
    results = results_of(run)
    makers = dict.fromkeys(reading.terminal for reading in read(results) if reading.terminal)
    return (table for make in makers if (table := make(results)) is not None)
