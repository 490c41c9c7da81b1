"""The verdict's lines: each reads one number of one challenge and says it in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from attentest.report.thresholds import band_of
from attentest.report.verdict import Line, Tone
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate, estimate

__all__ = ["lines_of", "percent"]


def percent(share: float) -> str:
    """A share as a percentage a person would say."""
    if 0 < share < 0.01:
        return "under 1\u00a0%"
    if 0.99 < share < 1:
        return "over 99\u00a0%"
    return f"{100 * share:.0f}\u00a0%"


def accuracy_line(instances: Findings) -> Line:
    """Is the model worth asking about?"""
    right = estimate(instances, "accuracy")
    return Line(
        "accuracy",
        "Does the model predict well?",
        f"{right} correct",
        f"It is right {percent(right.value)} of the time; what follows explains these predictions, not the world.",
        "context",
        right,
        "setting",
    )


def uniform_line(uniform: Findings) -> Line:
    """Does the output depend on attention at all?"""
    flipped, before, after = (estimate(uniform, m) for m in ("flipped", "accuracy", "accuracy_uniform"))
    tone = _tone("flips", flipped)
    reading = {
        "supports": "Switching attention off changes many decisions: the model uses where it looks.",
        "against": "Switching attention off changes almost no decision: the model hardly needs it.",
        "mixed": "Switching attention off changes some decisions.",
    }[tone]
    cost = f"Accuracy {before.value:.3f} → {after.value:.3f}."
    return Line(
        "uniform",
        "Do decisions need attention? (uniform weights)",
        f"{flipped} of decisions change",
        f"{reading} {cost}",
        tone,
        flipped,
        "states",
    )


def permutation_line(permutation: Findings) -> Line:
    """Does it matter which state gets which weight?"""
    change, flips = (estimate(permutation, m) for m in ("median_change", "flips"))
    tone = _tone("change", change)
    reading = {
        "supports": "Shuffling the weights moves the prediction: it matters which word gets which weight.",
        "against": "Shuffling the weights hardly moves the prediction: it hardly matters which word gets which weight.",
        "mixed": "Shuffling the weights moves the prediction somewhat.",
    }[tone]
    turned = f"It turns the decision in {percent(flips.value)} of shuffles."
    return Line(
        "permutation",
        "Does it matter which word gets which weight? (permutation)",
        f"{change} median change of ŷ",
        f"{reading} {turned}",
        tone,
        change,
        "states",
    )


def adversary_line(adversary: Findings) -> Line:
    """Would a quite different attention have done?"""
    ratio, top, met = (estimate(adversary, m) for m in ("ratio", "top_changed", "certified"))
    tone = _tone("ratio", ratio)
    reading = {
        "supports": "Little of the attention could be otherwise without changing the prediction.",
        "against": "Nearly any other attention would have given the same prediction; this one is not unique.",
        "mixed": "Quite different attentions give the same prediction.",
    }[tone]
    proof = f"The largest difference is proved for {percent(met.value)} of instances, a lower bound for the rest."
    if met.value in (0, 1):
        proof = "This is proved for every instance." if met.value else "This is a lower bound, found by search."
    short, often = estimate(adversary, "shortfall"), estimate(adversary, "short_by_05")
    if short.judged and met.value:
        proof += f" The published search falls short of it by {short.value:.3f} JSD on average"
        proof += f", by more than .05 in {percent(often.value)} of instances."
    return Line(
        "adversary",
        "Could attention be otherwise, with the same prediction? (adversary)",
        f"{ratio} of the largest possible difference",
        f"{reading} In {percent(top.value)} of instances even the top word can be another one. {proof}",
        tone,
        ratio,
        "states",
    )


def states_line(agreement: Findings) -> Line | None:
    """Does attention rank the states the output depends on?"""
    return _rank_line(
        agreement,
        "attention~state_erasure",
        "states",
        "Does attention rank the states the output depends on?",
        "states",
        {
            "supports": "Yes: states with more weight matter more to the output.",
            "against": "No: a state's weight says little about what erasing that state would do.",
            "mixed": "Only in part: weight and the effect of erasing a state agree loosely.",
        },
    )


def tokens_line(agreement: Findings) -> Line | None:
    """Does state t still stand for token t?"""
    return _rank_line(
        agreement,
        "state_erasure~leave_one_out",
        "stands",
        "Does a state still stand for its token?",
        "tokens",
        {
            "supports": "Yes: erasing a state and deleting its token have like effects.",
            "against": "No: what a state carries has little to do with the token below it.",
            "mixed": "Only in part: states have taken up much from their neighbours.",
        },
    )


def gradient_line(agreement: Findings) -> Line | None:
    """Do gradients agree that these tokens mattered?"""
    return _rank_line(
        agreement,
        "attention~gradient",
        "gradient",
        "Does attention rank tokens as gradients do?",
        "tokens",
        {
            "supports": "Yes: attention and gradient×embedding tell much the same story.",
            "against": "No: attention and gradient×embedding tell different stories.",
            "mixed": "Only in part: the two rankings agree loosely.",
        },
    )


def deletion_line(agreement: Findings) -> Line | None:
    """Does deletion agree that these tokens mattered?"""
    line = _rank_line(
        agreement,
        "attention~leave_one_out",
        "deletion",
        "Does attention rank tokens as deleting them does?",
        "tokens",
        {
            "supports": "Yes: the words with most weight are those whose deletion changes the prediction most.",
            "against": "No: deleting a word with much weight often changes little, and the reverse.",
            "mixed": "Only in part: the two rankings agree loosely.",
        },
    )
    if line is None or not _has(agreement, "gradient~leave_one_out"):
        return line
    control = estimate(agreement, "gradient~leave_one_out.captured")
    better = "more" if control.low > line.estimate.high else "less" if control.high < line.estimate.low else "as much"
    as_than = "than" if better != "as much" else "as"
    extra = f" Gradients capture {better} {as_than} attention does ({control.value:.2f})."
    return Line(**{**line.__dict__, "reading": line.reading + extra})


def rationale_line(rationale: Findings, planted: bool) -> Line:
    """Does attention point at marked tokens?"""
    own = estimate(rationale, "attention.average_precision")
    chance = estimate(rationale, "chance")
    left = max(1 - chance.value, 1e-9)
    tone = _tone("precision", own, lambda value: (value - chance.value) / left)
    others = [
        (m.where["explainer"], estimate(rationale, m).value)
        for m in rationale.measures
        if m.column == "average_precision" and m.where["explainer"] != "attention"
    ]
    best = max(others, key=lambda pair: pair[1], default=None)
    beside = f" Chance gives {chance.value:.2f}" + (f", {best[0]} {best[1]:.2f}." if best else ".")
    if not planted:
        return Line(
            "rationale",
            "Does attention look like what people marked? (plausibility)",
            f"{own} average precision",
            f"This is plausibility, not faithfulness: people's marks say nothing about the model.{beside}",
            "context",
            own,
            "setting",
        )
    words = {
        "supports": "Attention finds the words that decide the label",
        "against": "Attention does no better than chance at finding the words that decide the label",
        "mixed": "Attention finds the words that decide the label only a little better than chance",
    }[tone]
    return Line(
        "rationale",
        "Does attention point at the words that decide the label? (planted truth)",
        f"{own} average precision",
        f"{words}.{beside}",
        tone,
        own,
        "tokens",
    )


def lines_of(run: RunFolder) -> Iterator[Line]:
    """Every line this run's findings allow, in the order of the argument."""
    found = {
        name: run.findings(file)
        for name in ("instances", "uniform", "permutation", "agreement", "adversary", "rationale")
        if (file := run.named(name)) is not None
    }
    planted = run.record["fields"]["corpus"].get("rationale") == "planted"
    makers: tuple[tuple[str, Callable[[Findings], Line | None]], ...] = (
        ("instances", accuracy_line),
        ("uniform", uniform_line),
        ("permutation", permutation_line),
        ("agreement", states_line),
        ("adversary", adversary_line),
        ("agreement", tokens_line),
        ("agreement", gradient_line),
        ("agreement", deletion_line),
        ("rationale", lambda findings: rationale_line(findings, planted)),
    )
    for name, make in makers:
        if name in found and (line := make(found[name])) is not None and line.estimate.judged:
            yield line


def _rank_line(
    agreement: Findings, pair: str, key: str, question: str, about: str, words: dict[str, str]
) -> Line | None:
    if not _has(agreement, pair):
        return None
    tau, significant, held = (estimate(agreement, f"{pair}.{name}") for name in ("tau", "significant", "captured"))
    tone = _tone("captured", held)
    reading = f"{words[tone]} τ is significant in {percent(significant.value)} of instances."
    result = f"captures {held} (0 chance, 1 best); τ = {tau}"
    return Line(key, question, result, reading, tone, held, about)  # type: ignore[arg-type]


def _has(findings: Findings, pair: str) -> bool:
    return any(measure.where.get("pair") == pair for measure in findings.measures)


def _tone(key: str, value: Estimate, scale: Callable[[float], float] = lambda v: v) -> Tone:
    low, high = (value.low, value.high) if value.low == value.low else (value.value, value.value)
    return cast("Tone", band_of(key, scale(low), scale(high)))
