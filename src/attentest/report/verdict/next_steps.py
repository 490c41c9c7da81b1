"""What to do next: settle what is open, show what did better, or look at single texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attentest.presentation.line import Line
from attentest.presentation.thresholds import about, settled_by
from attentest.report.verdict.verdict import Goal
from attentest.tasks import TEXTS, THOROUGH, Wording

__all__ = ["next_steps"]


def next_steps(
    lines: Sequence[Line],
    goals: Sequence[Goal],
    fields: Mapping[str, Any],
    wording: Wording = TEXTS,
    failed: Sequence[str] = (),
) -> Iterator[str]:
    """A sentence for each, the most urgent first."""
    by_key = {line.key: line for line in lines}
    if (accuracy := by_key.get("accuracy")) is not None and accuracy.tone in ("against", "unsettled"):
        yield from _predict_better(accuracy, wording)
        return
    if failed:
        yield f"Do not rely on {', '.join(failed)} here: see what failed under the checks of explainers (--details)."
    if any(goal.open == "not run" for goal in goals):
        yield "Run the audit without naming challenges (--challenge)."
    yield from _settle(lines, goals, fields, wording)
    reason = goals[0].answer
    if (compared := by_key.get("saliency")) is not None and reason in ("no", "with care"):
        yield from _show(compared, reason)
    if reason == "yes":
        yield f"Look at single {wording.wholes} in the report, or explain one of your own: attentest explain."
    asked = {text.partition("(")[0] for text in fields.get("challenges", ())}
    if goals[2].answer not in ("no", "cannot say") and asked.isdisjoint(THOROUGH):
        yield "A thorough audit (--thorough) would train other models to see whether these attend elsewhere."


def _predict_better(accuracy: Line, wording: Wording) -> Iterator[str]:
    if (needed := accuracy.settling) is not None and needed.judged is not None:
        more = f"about {about(needed.judged)} {wording.units} in place of {needed.now:,}"
        yield f"If it is as good as it looks, {more} would show that it beats the most frequent {wording.choice}."
    yield "Give a model that predicts better: train it longer, on more texts, or take another one."


def _settle(lines: Sequence[Line], goals: Sequence[Goal], fields: Mapping[str, Any], wording: Wording) -> Iterator[str]:
    """What would settle the lines that keep a use open."""
    still = {goal.key for goal in goals if goal.open == "not settled"}
    open_lines = [line for line in lines if line.decides in still and line.settling is not None]
    for line in open_lines:
        assert line.settling is not None
        yield f"{line.short} {settled_by(line.settling, wording)}"
    if any(line.estimate.not_judged for line in open_lines):
        yield f"--challenge 'importance(texts=0)' judges every {wording.unit} that is examined, not a sample."
    size = fields.get("corpus", {}).get("sizes", {}).get(fields.get("split"), 0)
    if open_lines and 0 < fields.get("limit", 0) < size:
        yield f"There are {size:,} {wording.wholes} to examine: --limit 0 takes all."


def _show(compared: Line, reason: str) -> Iterator[str]:
    """The explainer that did best, in the place of attention or beside it."""
    if (best := compared.rival) is None:
        yield "No explainer was found to beat a random order here: show none."
    else:
        where = "instead" if reason == "no" else "beside it"
        did = "it did best here" if best.ahead else "not significantly better here"
        found = f"{best.estimate} of the most that erasing does; attention {best.attention}"
        yield f"Show {best.name} {where}: {did}, {found}."
