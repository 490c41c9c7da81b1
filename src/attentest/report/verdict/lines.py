"""The verdict's lines: each reads one number of one challenge and says it in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from attentest.challenges import PRESENTATIONS
from attentest.presentation.calibrated import calibrated
from attentest.presentation.line import Line, Settling, Tone
from attentest.presentation.presentation import Results
from attentest.presentation.thresholds import settling_of
from attentest.registry import name_in_words
from attentest.report.results import read
from attentest.report.verdict.argument import part_of, place_of
from attentest.store.folder import RunFolder

__all__ = ["lines_of"]

#: The AUROC of a coin.
CHANCE = 0.5


def lines_of(run: RunFolder, results: Results, bad: frozenset[str]) -> Iterator[Line]:
    """Every line that a run's results allow, in the order of the argument; ``bad`` explainers failed their check."""
    for line in sorted(_lines(results), key=lambda line: place_of(line.key)):
        file = run.named(line.findings) or ""
        counted = _counted(replace(line, findings=file, settling=line.settling or _settling(line)), bad)
        yield _calibrated(counted)


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


def _calibrated(line: Line) -> Line:
    """The line with the use it decides; one that decides none speaks only where calibration found that it may."""
    if (part := part_of(line.key)) is None:
        return line
    name = f"verdict.{part.decides}" if part.decides else f"{part.challenge}.{part.measure}"
    auroc = calibrated().told_apart(name, part.truth)
    line = replace(line, decides=part.decides, auroc=auroc)
    if part.decides or auroc is None:
        return line
    value, low, high = auroc
    told = f"Alone it tells faithful attention from misleading one with an AUROC of {value:.2f} [{low:.2f}, {high:.2f}]"
    if low > CHANCE:
        return replace(line, reading=f"{line.reading} {told}.")
    tone: Tone = "void" if line.tone == "void" else "context"
    return replace(line, tone=tone, reading=f"{line.reading} {told}: no better than chance.")


def _settling(line: Line) -> Settling | None:
    """What would settle a line, where more texts would; where most of the attention was held, they would not."""
    if line.tone != "unsettled" or line.held or not line.scale:
        return None
    return settling_of(line.scale, line.estimate, chance=line.chance)
