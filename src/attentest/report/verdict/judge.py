"""From findings to a verdict: what this attention may and may not be used for, by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attentest.challenges.certificates.checks import failed
from attentest.errors import StorageError
from attentest.presentation.calibrated import calibrated
from attentest.presentation.line import Line
from attentest.registry import name_in_words
from attentest.report.results import results_of
from attentest.report.verdict.argument import DECIDING
from attentest.report.verdict.goals import goals_of
from attentest.report.verdict.lines import lines_of
from attentest.report.verdict.missing import failures, left_out
from attentest.report.verdict.next_steps import next_steps
from attentest.report.verdict.outside import outside_of
from attentest.report.verdict.remarks import remarks
from attentest.report.verdict.unweighed import also_measured
from attentest.report.verdict.verdict import Goal, Verdict
from attentest.store.folder import RunFolder
from attentest.store.summary import sentences_of
from attentest.tasks import TEXTS, Wording, task_of

__all__ = ["headline_of", "judge"]

LIMITS = (
    "What mattered was measured by taking words out, which leaves the texts that a model was trained on; several ways "
    "of doing so must agree.",
    "Attention cannot be changed while everything else stays as it was: replacing it feeds the head contexts it "
    "never saw in training (Grimsley et al. 2020). A change of the prediction shows dependence, not its cause.",
    "The verdict holds for this model, this corpus and this seed.",
)
FORCED = (
    "Each step was examined after a given prefix, and only its own weights were replaced: the effect of other weights "
    "on the prefix is not in these numbers, but in BLEU of whole translations, where it was asked for."
)
TOGETHER = "Steps of one sentence are not independent: intervals resample sentences or use an effective sample size."
RUN_ALL = "run the audit without naming challenges (--challenge), or name importance too."


def judge(run: RunFolder) -> Verdict:
    """The verdict on a finished run."""
    results = results_of(run)
    if "instances" not in results.found:
        raise StorageError(f"{run.path} has no finished findings yet. Run the same audit again to complete it.")
    fields, wording, bad = results.fields, results.wording, failed(results.found.get("certificates"))
    lines, outside = tuple(lines_of(run, results, bad)), outside_of(results)
    asked = results.found.get("importance")
    thorough = asked is not None and "draw" in asked.parameters.get("erasures", ())
    goals = goals_of(lines, wording, calibrated_here=not outside, thorough=thorough)
    sentences = sentences_of(results.found["instances"].table)
    counted = 0 if sentences is None else len(set(sentences.tolist()))
    named = tuple(sorted(map(name_in_words, bad)))
    return Verdict(
        headline_of(goals, lines, fields.get("challenges"), wording),
        lines,
        goals,
        _closing(lines, goals, counted, wording),
        (*left_out(run.record), *failures(run.record), *_limits(fields, outside)),
        tuple(also_measured(run, {line.findings for line in lines})),
        tuple(next_steps(lines, goals, fields, wording, named)),
        named,
        outside,
    )


def _limits(fields: Mapping[str, Any], outside: Sequence[str]) -> tuple[str, ...]:
    known = calibrated()
    said = (
        f"The marks were fitted on {known.members} models of known truth, of {known.mechanisms} mechanisms; models "
        "that attend in a way that none of these does may be misjudged more often."
    )
    beyond = (f"Outside of what was calibrated: {'; '.join(outside)}. The error of these answers is not known.",)
    return (
        *(beyond if outside else ()),
        *((said,) if known.members else ()),
        *LIMITS,
        *((FORCED, TOGETHER) if task_of(fields).writes else ()),
    )


def headline_of(
    goals: Sequence[Goal], lines: Sequence[Line], asked: Sequence[str] | None = None, wording: Wording = TEXTS
) -> str:
    """The first goal's answer, unless there is nothing to explain, or what decides was not asked."""
    reason = goals[0]
    accuracy = next((line for line in lines if line.key == "accuracy"), None)
    if accuracy is not None and accuracy.tone in ("against", "unsettled"):
        return _nothing(accuracy, wording)
    if reason.answer == "cannot say" and asked is not None and not _decided_by(asked):
        return f"No challenge was run that decides what this attention may be used for: {RUN_ALL}"
    return {
        "yes": f"This attention may be shown as a ranking of the {wording.items} that mattered.",
        "with care": f"This attention is a hint at the {wording.items} that mattered, not the reason.",
        "no": "Do not show this attention as the reason for a prediction.",
        "cannot say": "There is too little to say what this attention may be used for.",
    }[reason.answer]


def _nothing(accuracy: Line, wording: Wording) -> str:
    most = f"the most frequent {wording.choice}"
    if accuracy.tone == "against":
        return f"There is nothing to explain: the model is right no more often than {most}."
    return f"There may be nothing to explain: the model is not significantly better than {most}."


def _decided_by(asked: Sequence[str]) -> bool:
    return not {text.partition("(")[0] for text in asked}.isdisjoint(DECIDING)


def _closing(lines: Sequence[Line], goals: Sequence[Goal], sentences: int, wording: Wording = TEXTS) -> str:
    """What decides, in a sentence each, what the tests on other models add, and what follows for each use."""
    counts = [line.estimate.judged for line in lines if line.key != "bleu"]
    least, most = min(counts, default=0), max(counts, default=0)
    judged = wording.counted(most) if least == most else f"{least:,} to {most:,} {wording.units}"
    judged += f" of {sentences:,} sentences" if sentences else ""
    found = [line.reading for line in lines if line.decides] or ["nothing that decides was measured."]
    accuracy = next((line for line in lines if line.key == "accuracy"), None)
    if accuracy is not None and accuracy.tone in ("against", "unsettled"):
        found = [_nothing(accuracy, wording), *found]
    may = {"yes": "may", "with care": "may, with care,", "no": "may not", "cannot say": "should not yet"}
    reason, check, one = (may[goal.answer] for goal in goals)
    uses = (
        f"A model developer {reason} read from it which input {wording.items} mattered to a prediction. "
        f"The model's builder {check} use it to check that the model looks where it should. "
        f"It {one} be presented as the one reason for a decision to someone the decision concerns."
    )
    return " ".join([f"On {judged}: {found[0]}", *found[1:], *remarks(lines, wording), uses])
