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
from attentest.store.folder import RunFolder

__all__ = ["lines_of"]

#: The order of the argument, by the lines' keys; lines of other packages come after it.
ARGUMENT = (
    *("accuracy", "held", "uniform", "permutation", "states", "order", "adversary", "gating", "bleu", "unique"),
    *("needed", "stands", "gradient", "deletion", "saliency", "rationale", "alignment", "carries", "luck"),
)


def lines_of(run: RunFolder, results: Results, bad: frozenset[str]) -> Iterator[Line]:
    """Every line that a run's results allow, in the order of the argument; ``bad`` explainers failed their check."""
    for line in sorted(_lines(results), key=lambda line: _place(line.key)):
        file = run.named(line.findings) or ""
        yield _counted(replace(line, findings=file, settling=line.settling or _settling(line)), bad)


def _lines(results: Results) -> Iterator[Line]:
    """The lines of every reading, each with the name of its challenge; one of another package decides nothing."""
    for reading in read(results):
        name = reading.challenge
        for make in reading.lines:
            line = make(results.found[name], results)
            if line is None or not line.estimate.judged:
                continue
            if not PRESENTATIONS.is_own(name):
                line = replace(line, key=f"{name}.{line.key}", tone="context")
            yield replace(line, findings=name)


def _place(key: str) -> int:
    return ARGUMENT.index(key) if key in ARGUMENT else len(ARGUMENT)


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
