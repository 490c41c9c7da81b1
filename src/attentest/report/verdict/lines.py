"""The verdict's lines: each reads one number of one challenge and says it in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from attentest.challenges import PRESENTATIONS
from attentest.presentation.line import Line, Settling
from attentest.presentation.presentation import Results
from attentest.presentation.thresholds import settling_of
from attentest.registry import name_in_words
from attentest.report.results import read
from attentest.report.verdict.argument import place_of
from attentest.store.folder import RunFolder

__all__ = ["lines_of"]


def lines_of(run: RunFolder, results: Results, bad: frozenset[str]) -> Iterator[Line]:
    """Every line that a run's results allow, in the order of the argument; ``bad`` explainers failed their check."""
    for line in sorted(_lines(results), key=lambda line: place_of(line.key)):
        file = run.named(line.findings) or ""
        yield _counted(replace(line, findings=file, settling=line.settling or _settling(line)), bad)


def _lines(results: Results) -> Iterator[Line]:
    """The lines of every presentation, each with the name of its challenge; one of another package decides nothing."""
    for presentation in read(results):
        name = presentation.challenge
        for make in presentation.lines:
            line = make(results.found[name], results)
            if line is None or not line.estimate.judged:
                continue
            if not PRESENTATIONS.is_own(name):
                line = replace(line, key=f"{name}.{line.key}", tone="context")
            yield replace(line, findings=name)


def _counted(line: Line, failed: frozenset[str]) -> Line:
    """The line, or one that does not count, where it rests on an explainer whose own check failed."""
    names = [name_in_words(name) for name in line.explainers if name in failed]
    if not names:
        return line
    why = f"The check of {' and '.join(names)} failed, so this line does not count."
    return replace(line, tone="void", reading=f"{why} {line.reading}", settling=None)


def _settling(line: Line) -> Settling | None:
    """What would settle a line, where more texts would; where most of the attention was held, they would not."""
    if line.tone != "unsettled" or line.held or not line.scale:
        return None
    return settling_of(line.scale, line.estimate, chance=line.chance)
