"""From lines to a verdict: what this attention may and may not be used for, by whom.

How the lines are weighed against each other stands in weighing.py; here every goal gets its answer, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attentest.errors import StorageError
from attentest.report.also import also_measured
from attentest.report.held import DEPENDENCE, is_open, why_open
from attentest.report.lines import lines_of
from attentest.report.thresholds import FEWEST, THRESHOLDS, percent
from attentest.report.verdict import Goal, Line, Verdict, items_of, of_steps, writes
from attentest.report.weighing import UNKNOWN, UNSETTLED, Weighed, bounded, remarks, weigh
from attentest.store.folder import RunFolder
from attentest.store.summary import sentences_of

__all__ = ["judge", "weigh"]

LIMITS = (
    "Attention cannot be changed while everything else stays as it was: replacing it feeds the head contexts it "
    "never met in training (Grimsley et al. 2020). A change of the prediction shows dependence, not its cause.",
    "Deleting or erasing takes a text off the manifold the model was trained on.",
    "Gradients and deletion are other views of importance, not the truth; agreement with them is evidence. Kendall's "
    "τ is said to be unfair to contextual models, so other rank measures stand beside it in the findings.",
    "The verdict holds for this model, this corpus and this seed, and its thresholds are provisional.",
)

FORCED = (
    "Each step was examined after given words, and its weights alone were replaced: what other weights would have made "
    "of the words before is not in these numbers, but in those of whole translations (BLEU), where they were asked for."
)
TOGETHER = "Steps of one sentence are not independent: intervals draw whole sentences, or count steps as fewer."

NOT_RUN = "The challenges that answer this were not run, or could judge no text."
#: What a verdict cannot do without: one of each.
DECIDING = (("uniform", "permutation"), ("agreement",))
RUN_ALL = "run the audit without naming challenges (--challenge)."
TOO_FEW = "Too few texts, or too close to a threshold, to say."


def judge(run: RunFolder) -> Verdict:
    """The verdict on a finished run."""
    name = run.named("instances")
    if name is None:
        raise StorageError(f"{run.path} has no finished findings yet. Run the same audit again to complete it.")
    lines = tuple(lines_of(run))
    weighed = weigh(lines)
    better = next((line.better for line in lines if line.key == "saliency"), ())
    reason = bounded(_reason(weighed, better), "reason", lines)
    check = bounded(_check(weighed), "check", lines)
    one = bounded(_one_reason(weighed, reason, lines), "one", lines)
    answers = ((reason, DEPENDENCE), (check, DEPENDENCE), (one, (*DEPENDENCE, "adversary")))
    goals = tuple(why_open(goal, TOO_FEW, lines, keys) for goal, keys in answers)
    fields = run.record["fields"]
    sentences = sentences_of(run.findings(name).table) if writes(fields) else None
    closing = _closing(lines, weighed, goals, 0 if sentences is None else len(set(sentences.tolist())))
    also = tuple(also_measured(run, {line.findings for line in lines}))
    verdict = Verdict(_headline(goals[0], fields.get("challenges")), lines, goals, closing, LIMITS, also)
    if writes(fields):
        return replace(verdict.told(of_steps), limits=(*LIMITS, FORCED, TOGETHER))
    items = items_of(fields)
    return verdict if items == "word" else verdict.said_of(items)


def _open(said: Sequence[str]) -> str | None:
    """Why a goal cannot be answered from what was weighed, or None when it can."""
    if "against" in said:
        return None
    return NOT_RUN if UNKNOWN in said else TOO_FEW if UNSETTLED in said else None


def _broken(weighed: Weighed, *parts: str) -> str:
    """What speaks against, in words."""
    words = {
        "depends": "the prediction hardly depends on the weights",
        "ranks": "the weights do not rank the states the output is made of",
        "stands": "the states they weigh do not stand for the words below them",
    }
    return ", and ".join(words[part] for part in parts if getattr(weighed, part) == "against")


def _instead(better: Sequence[str]) -> str:
    """What to show in place of attention: what surely does more than a random order, or nothing."""
    if better:
        return f"Show instead what does more than a random order: {', '.join(better)}."
    return "Show nothing instead until something is found to beat a random order."


def _reason(weighed: Weighed, better: Sequence[str] = ()) -> Goal:
    goal, reader = "Say which input words mattered to a prediction", "a model developer"
    said = (weighed.depends, weighed.ranks, weighed.stands)
    if (why := _open(said)) is not None:
        return Goal(goal, reader, "cannot say", why)
    if "against" in said:
        broken = _broken(weighed, "depends", "ranks", "stands")
        return Goal(goal, reader, "no", f"It would mislead: {broken}. {_instead(better)}")
    if set(said) == {"supports"}:
        why = "The weights rank the states the output is made of, and those states still stand for their words."
        return Goal(goal, reader, "yes", why)
    return Goal(
        goal, reader, "with care", "It points the right way only loosely; show deletion or gradients beside it."
    )


def _check(weighed: Weighed) -> Goal:
    goal, reader = "Check that the model looks where it should", "the model's builder"
    said = (weighed.depends, weighed.ranks)
    if (why := _open(said)) is not None:
        return Goal(goal, reader, "cannot say", why)
    if "against" in said:
        broken = _broken(weighed, "depends", "ranks")
        why = f"Neither an odd nor a sensible focus means much: {broken}."
        return Goal(goal, reader, "no", why)
    if set(said) == {"supports"}:
        why = "Where it looks drives what it predicts, so an odd focus is worth following up."
        return Goal(goal, reader, "yes", why)
    return Goal(goal, reader, "with care", "An odd focus is worth following up; a sensible one proves nothing.")


def _one_reason(weighed: Weighed, reason: Goal, lines: tuple[Line, ...]) -> Goal:
    goal, reader = "Present attention as the one reason for a decision", "someone the decision concerns"
    if (why := _otherwise(weighed, lines)) is not None:
        return Goal(goal, reader, "no", why)
    if reason.answer == "no":
        return Goal(goal, reader, "no", "It does not say which words mattered.")
    if weighed.only != "supports" or reason.answer == "cannot say":
        return Goal(goal, reader, "cannot say", NOT_RUN if weighed.only == UNKNOWN else TOO_FEW)
    if reason.answer == "yes":
        return Goal(goal, reader, "with care", "Few other attentions would do, but a ranking is not yet a reason.")
    return Goal(goal, reader, "no", "It says only loosely which words mattered.")


def _otherwise(weighed: Weighed, lines: tuple[Line, ...]) -> str | None:
    """Why this attention is not the only one that would do, or None where that is not shown."""
    found = {line.key: line for line in lines}
    trained, single = found.get("unique"), found.get("adversary")
    if trained is not None and trained.tone in ("supports", "mixed", "against"):
        if trained.tone == "supports":
            return None
        return "A model that was trained to attend elsewhere predicts the same, within what another seed changes."
    if single is None or is_open(single):
        return None
    free = single.estimate.judged >= FEWEST and single.estimate.low > THRESHOLDS["ratio"].supports
    if free or weighed.only in ("mixed", "against"):
        share = percent(single.estimate.value)
        among = " among the words’ shares" if "held" in found else ""
        why = f"Attentions that differ by {share} of the largest possible difference{among} predict the same."
        if trained is not None:
            why = f"Models trained to attend elsewhere settled nothing; of single texts it is known: {why}"
        return why
    return None


def _headline(reason: Goal, asked: Sequence[str] | None) -> str:
    if reason.answer == "cannot say" and (missing := _not_asked(asked)):
        if len(missing) == len(DECIDING):
            return f"Nothing was asked that decides what this attention may be used for: {RUN_ALL}"
        return (
            f"There is too little to say what this attention may be used for: {' and '.join(missing)} is missing; "
            f"{RUN_ALL}"
        )
    return {
        "yes": "This attention may be shown as a ranking of the words that mattered.",
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


def _closing(lines: tuple[Line, ...], weighed: Weighed, goals: tuple[Goal, ...], sentences: int) -> str:
    least, most = (
        pick((line.estimate.judged for line in lines if line.key != "bleu"), default=0) for pick in (min, max)
    )
    judged = f"{most} instances" if least == most else f"{least} to {most} instances"
    judged += f" of {sentences:,} sentences" if sentences else ""
    depends = {
        "supports": "the predictions depend on the attention weights",
        "mixed": "the predictions depend somewhat on the attention weights",
        "against": "the predictions hardly depend on the attention weights",
        UNSETTLED: "whether the predictions depend on the attention weights is not settled",
        UNKNOWN: "whether the predictions depend on the attention weights was not judged",
    }[weighed.depends]
    ranks = {
        "supports": "the weights rank the states they are made of",
        "mixed": "the weights rank the states they are made of only in part",
        "against": "the weights do not rank the states they are made of",
        UNSETTLED: "whether the weights rank the states they are made of is not settled",
        UNKNOWN: "whether the weights rank the states they are made of was not judged",
    }[weighed.ranks]
    stands = {
        "supports": "states still stand for their words",
        "mixed": "states stand for their words only in part",
        "against": "states do not stand for their words",
        UNSETTLED: "whether states stand for their words is not settled",
        UNKNOWN: "whether states stand for their words was not judged",
    }[weighed.stands]
    may = {
        "yes": "may",
        "with care": "may, with care,",
        "no": "may not",
        "cannot say": "should not yet",
    }
    reason, check, one = (may[goal.answer] for goal in goals)
    uses = (
        f"A model developer {reason} read from it which input words mattered to a prediction. "
        f"The model's builder {check} use it to check that the model looks where it should. "
        f"It {one} be presented as the one reason for a decision to someone whom the decision concerns."
    )
    said = " ".join([f"On {judged}, {depends}; {ranks}; and {stands}.", *remarks(lines, weighed)])
    return f"{said} {uses}"
