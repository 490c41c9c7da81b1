"""From lines to a verdict: what this attention may and may not be used for, by whom.

How the lines are weighed against each other stands in weighing.py; here every goal gets its answer, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attentest.challenges.certificates.checks import failed
from attentest.errors import StorageError
from attentest.presentation.line import Line
from attentest.presentation.thresholds import FEWEST, THRESHOLDS, percent
from attentest.registry import name_in_words
from attentest.report.results import results_of
from attentest.report.verdict.argument import DECIDING, DEPENDENCE
from attentest.report.verdict.lines import lines_of
from attentest.report.verdict.missing import failures, left_out
from attentest.report.verdict.next_steps import next_steps
from attentest.report.verdict.unweighed import also_measured
from attentest.report.verdict.verdict import Goal, Open, Verdict
from attentest.report.verdict.weighing import (
    UNKNOWN,
    UNSETTLED,
    VOID,
    Weighed,
    bounded,
    nothing_to_explain,
    remarks,
    weigh,
    why_open,
)
from attentest.store.folder import RunFolder
from attentest.store.summary import sentences_of
from attentest.tasks import TEXTS, Wording, task_of

__all__ = ["goals_of", "headline_of", "judge", "the_one_reason", "why_not_unique", "words_that_mattered"]

LIMITS = (
    "Attention cannot be changed while everything else stays as it was: replacing it feeds the head contexts it "
    "never saw in training (Grimsley et al. 2020). A change of the prediction shows dependence, not its cause.",
    "Deleting or erasing takes a text off the manifold the model was trained on.",
    "Gradients and deletion are other views of importance, not the truth; agreement with them is evidence. Kendall's "
    "τ is said to be unfair to contextual models, so the findings hold other rank measures too.",
    "The verdict holds for this model, this corpus and this seed, and its thresholds are provisional.",
)

FORCED = (
    "Each step was examined after a given prefix, and only its own weights were replaced: the effect of other weights "
    "on the prefix is not in these numbers, but in BLEU of whole translations, where it was asked for."
)
TOGETHER = "Steps of one sentence are not independent: intervals resample sentences or use an effective sample size."

RUN_ALL = "run the audit without naming challenges (--challenge)."


def judge(run: RunFolder) -> Verdict:
    """The verdict on a finished run."""
    results = results_of(run)
    if "instances" not in results.found:
        raise StorageError(f"{run.path} has no finished findings yet. Run the same audit again to complete it.")
    fields, wording, bad = results.fields, results.wording, failed(results.found.get("certificates"))
    lines = tuple(lines_of(run, results, bad))
    weighed, goals = weigh(lines), goals_of(lines, wording)
    sentences = sentences_of(results.found["instances"].table)
    closing = _closing(lines, weighed, goals, 0 if sentences is None else len(set(sentences.tolist())), wording)
    also = tuple(also_measured(run, {line.findings for line in lines}))
    limits = (
        *left_out(run.record),
        *failures(run.record),
        *LIMITS,
        *((FORCED, TOGETHER) if task_of(fields).writes else ()),
    )
    headline = headline_of(goals, weighed, fields.get("challenges"), wording)
    named = tuple(sorted(map(name_in_words, bad)))
    steps = tuple(next_steps(lines, goals, weighed, fields, wording, named))
    return Verdict(headline, lines, goals, closing, limits, also, steps, named)


def goals_of(lines: tuple[Line, ...], wording: Wording = TEXTS) -> tuple[Goal, Goal, Goal]:
    """What each reader may do with this attention: say which words mattered, check where it looks, give one reason."""
    weighed = weigh(lines)
    better = next((line.better for line in lines if line.key == "saliency"), ())
    reason = bounded(words_that_mattered(weighed, better, wording), "reason", lines, wording)
    check = bounded(_check(weighed, wording), "check", lines, wording)
    one = bounded(the_one_reason(weighed, reason, lines, wording), "one", lines, wording)
    return (
        why_open(reason, lines, DEPENDENCE, wording),
        why_open(check, lines, DEPENDENCE, wording),
        why_open(one, lines, (*DEPENDENCE, "adversary"), wording),
    )


def _open(said: Sequence[str]) -> Open:
    """Why a goal cannot be answered from what was weighed, empty when it can."""
    if "against" in said:
        return ""
    return "void" if VOID in said else "not run" if UNKNOWN in said else "not settled" if UNSETTLED in said else ""


def _cannot_say(goal: Goal, why: Open, wording: Wording) -> Goal:
    words = {
        "not run": f"The challenges that answer this were not run, or could judge no {wording.unit}.",
        "not settled": f"Too few {wording.units}, or too close to a threshold, to say.",
        "void": "The explainer that would tell failed its own check.",
    }
    return replace(goal, answer="cannot say", why=words[why], open=why)


def _broken(weighed: Weighed, wording: Wording, *parts: str) -> str:
    """What speaks against, in words."""
    words = {
        "depends": "the prediction hardly depends on the weights",
        "ranks": "the weights do not rank the states the output is computed from",
        "stands": f"the states they weigh do not stand for their {wording.items}",
        "agrees": f"no other view of which {wording.items} mattered agrees",
    }
    return ", and ".join(words[part] for part in parts if getattr(weighed, part) == "against")


def _instead(better: Sequence[str]) -> str:
    """What to show in place of attention: what does significantly more than a random order, or nothing."""
    if better:
        return f"Show instead what does significantly better than a random order: {', '.join(better)}."
    return "Show nothing instead until some method beats a random order."


def words_that_mattered(weighed: Weighed, better: Sequence[str] = (), wording: Wording = TEXTS) -> Goal:
    """May a developer say which words mattered?"""
    asked = f"Say which input {wording.items} mattered to a prediction"
    goal = Goal(asked, "a model developer", "cannot say", "", short=f"Say which {wording.items} mattered")
    said = [weighed.depends, weighed.ranks, weighed.stands]
    said += [weighed.agrees] if weighed.agrees in ("mixed", "against") else []
    if still := _open(said):
        return _cannot_say(goal, still, wording)
    if "against" in said:
        why = f"It would mislead: {_broken(weighed, wording, 'depends', 'ranks', 'stands', 'agrees')}."
        instead = (_instead(better),) if weighed.predicts == "supports" else ()
        return replace(goal, answer="no", why=why, beside=instead)
    if set(said) == {"supports"}:
        stand = f"those states still stand for their {wording.items}"
        return replace(goal, answer="yes", why=f"The weights rank the states the output is computed from, and {stand}.")
    why = "It points the right way only loosely; show deletion or gradients beside it."
    return replace(goal, answer="with care", why=why)


def _check(weighed: Weighed, wording: Wording = TEXTS) -> Goal:
    asked = "Check that the model looks where it should"
    goal = Goal(asked, "the model's builder", "cannot say", "", short="Check where the model looks")
    said = (weighed.depends, weighed.ranks)
    if still := _open(said):
        return _cannot_say(goal, still, wording)
    if "against" in said:
        why = f"Neither an odd nor a sensible focus means much: {_broken(weighed, wording, 'depends', 'ranks')}."
        return replace(goal, answer="no", why=why)
    if set(said) == {"supports"}:
        why = "Where it looks drives what it predicts, so an odd focus is worth following up."
        return replace(goal, answer="yes", why=why)
    return replace(goal, answer="with care", why="An odd focus is worth following up; a sensible one proves nothing.")


def the_one_reason(weighed: Weighed, reason: Goal, lines: tuple[Line, ...], wording: Wording = TEXTS) -> Goal:
    """May it be given as the one reason for a decision?"""
    asked = "Present attention as the one reason for a decision"
    goal = Goal(asked, "someone the decision concerns", "cannot say", "", short="Give it as the one reason")
    if (why := why_not_unique(weighed, lines, wording)) is not None:
        return replace(goal, answer="no", why=why)
    if reason.answer == "no":
        return replace(goal, answer="no", why=f"It does not say which {wording.items} mattered.")
    if weighed.only != "supports" or reason.answer == "cannot say":
        still: Open = "not run" if weighed.only == UNKNOWN else "not settled"
        return _cannot_say(goal, "void" if reason.open == "void" else still, wording)
    if reason.answer == "yes":
        why = "Few other attentions would do, but a ranking is not yet a reason."
        return replace(goal, answer="with care", why=why)
    return replace(goal, answer="no", why=f"It says only loosely which {wording.items} mattered.")


def why_not_unique(weighed: Weighed, lines: tuple[Line, ...], wording: Wording = TEXTS) -> str | None:
    """Why this attention is not the only one that would do, or None where that is not shown."""
    found = {line.key: line for line in lines}
    trained, single = found.get("unique"), found.get("adversary")
    if trained is not None and trained.tone in ("supports", "mixed", "against"):
        if trained.tone == "supports":
            return None
        return "A model trained to attend elsewhere predicts the same, within seed variance."
    if single is None or single.held:
        return None
    free = single.estimate.judged >= FEWEST and single.estimate.low > THRESHOLDS["ratio"].supports
    if free or weighed.only in ("mixed", "against"):
        share = percent(single.estimate.value)
        among = f" among the {wording.items}’ shares" if "held" in found else ""
        why = f"Attentions that differ by {share} of the largest possible difference{among} predict the same."
        if trained is not None:
            why = f"Models trained to attend elsewhere settled nothing, but for single {wording.units}: {why}"
        return why
    return None


def headline_of(
    goals: Sequence[Goal], weighed: Weighed, asked: Sequence[str] | None = None, wording: Wording = TEXTS
) -> str:
    """The first goal's answer, unless there is nothing to explain, or what decides was not asked."""
    reason, nothing = goals[0], nothing_to_explain(wording)
    if weighed.predicts in nothing:
        return nothing[weighed.predicts]
    if reason.answer == "cannot say" and (missing := _not_asked(asked)):
        if len(missing) == len(DECIDING):
            return f"No challenge was run that decides what this attention may be used for: {RUN_ALL}"
        return (
            f"There is too little to say what this attention may be used for: {' and '.join(missing)} is missing; "
            f"{RUN_ALL}"
        )
    return {
        "yes": f"This attention may be shown as a ranking of the {wording.items} that mattered.",
        "with care": "This attention is a hint, not a reason: show it only beside deletion or gradients.",
        "no": "Do not show this attention as the reason for a prediction.",
        "cannot say": "There is too little to say what this attention may be used for.",
    }[reason.answer]


def _not_asked(asked: Sequence[str] | None) -> list[str]:
    """The deciding challenges that a run was not asked to put, by its fields; none where these do not say."""
    if asked is None:
        return []
    names = {text.partition("(")[0] for text in asked}
    return [" or ".join(either) for either in DECIDING if names.isdisjoint(either)]


def _closing(
    lines: tuple[Line, ...], weighed: Weighed, goals: tuple[Goal, ...], sentences: int, wording: Wording = TEXTS
) -> str:
    least, most = (
        pick((line.estimate.judged for line in lines if line.key != "bleu"), default=0) for pick in (min, max)
    )
    judged = f"{most} {wording.units}" if least == most else f"{least} to {most} {wording.units}"
    judged += f" of {sentences:,} sentences" if sentences else ""
    depends = {
        "supports": "the predictions depend on the attention weights",
        "mixed": "the predictions depend somewhat on the attention weights",
        "against": "the predictions hardly depend on the attention weights",
        UNSETTLED: "whether the predictions depend on the attention weights is not settled",
        UNKNOWN: "whether the predictions depend on the attention weights was not judged",
    }[weighed.depends]
    ranks = {
        "supports": "the weights rank the states",
        "mixed": "the weights rank the states only in part",
        "against": "the weights do not rank the states",
        UNSETTLED: "whether the weights rank the states is not settled",
        UNKNOWN: "whether the weights rank the states was not judged",
        VOID: "whether the weights rank the states is not known, because a check failed",
    }[weighed.ranks]
    stands = {
        "supports": f"states still stand for their {wording.items}",
        "mixed": f"states stand for their {wording.items} only in part",
        "against": f"states do not stand for their {wording.items}",
        UNSETTLED: f"whether states stand for their {wording.items} is not settled",
        UNKNOWN: f"whether states stand for their {wording.items} was not judged",
        VOID: f"whether states stand for their {wording.items} is not known, because a check failed",
    }[weighed.stands]
    agrees = {
        "mixed": f"not every other view of which {wording.items} mattered agrees",
        "against": f"no other view of which {wording.items} mattered agrees",
    }.get(weighed.agrees)
    may = {
        "yes": "may",
        "with care": "may, with care,",
        "no": "may not",
        "cannot say": "should not yet",
    }
    reason, check, one = (may[goal.answer] for goal in goals)
    uses = (
        f"A model developer {reason} read from it which input {wording.items} mattered to a prediction. "
        f"The model's builder {check} use it to check that the model looks where it should. "
        f"It {one} be presented as the one reason for a decision to someone the decision concerns."
    )
    found = [depends, ranks, stands, *([agrees] if agrees else [])]
    said = " ".join([f"On {judged}, {'; '.join(found[:-1])}; and {found[-1]}.", *remarks(lines, weighed, wording)])
    return f"{said} {uses}"
