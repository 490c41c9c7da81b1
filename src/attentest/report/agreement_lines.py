"""Lines on rankings: attention's of states and tokens beside those of erasure, gradients and deletion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa

from attentest.report.thresholds import FEWEST, percent, said, tone_of
from attentest.report.verdict import Line, Tone
from attentest.statistics.bootstrap import bootstrap_paired_difference
from attentest.store.findings import Findings
from attentest.store.summary import by_sentence, estimate, sentences_of
from attentest.tasks import TEXTS, Wording

__all__ = ["deletion_line", "gradient_line", "states_line", "tokens_line"]


def states_line(agreement: Findings, permutation: Findings | None, wording: Wording = TEXTS) -> Line | None:
    """Does attention rank the states the output depends on?

    The effect of erasing a state has its weight as a factor, so peaked weights rank their states whether they are the
    right ones or not: the same number for shuffled weights stands beside it, and dependence is judged elsewhere.
    """
    line = _rank_line(
        agreement,
        "attention~state_erasure",
        "states",
        "Does attention rank the states the output is computed from?",
        "Does it rank states?",
        "states",
        {
            "supports": "Yes: the weights, more than the states' contents, decide which states count.",
            "against": "No: the states' contents decide which of them count, not their weights.",
            "mixed": "Only in part: the weights and the states' contents decide together.",
        },
        wording,
    )
    if line is None or permutation is None:
        return line
    null = estimate(permutation, "shuffled_captured")
    if not null.judged:
        return line
    added = f" Weights shuffled over the {wording.items} would capture {null.value:.2f} of the effects they cause"
    no_praise = line.tone == "supports" and null.high >= line.estimate.low - 0.05
    added += ": this is a fact about the mechanism, not evidence for attention." if no_praise else "."
    tone: Tone = "context" if no_praise else line.tone
    return replace(line, tone=tone, reading=line.reading + added)


def tokens_line(agreement: Findings, *, layered: bool = False, wording: Wording = TEXTS) -> Line | None:
    """Does state t still stand for token t? In a model of layers it is one of many states that the token reaches."""
    item, token = wording.item, wording.token
    no = f"a state's content has little to do with its {token}."
    in_part = "states contain much of their neighbours."
    if layered:
        no, in_part = (
            f"erasing this state and deleting the {item} {differ}; the {item} also reaches the output by other paths."
            for differ in ("have little in common", "differ")
        )
    return _rank_line(
        agreement,
        "state_erasure~leave_one_out",
        "stands",
        f"Does a state still stand for its {token}?",
        f"Do states stand for {wording.items}?",
        "tokens",
        {
            "supports": f"Yes: erasing a state and deleting its {token} have similar effects.",
            "against": f"No: {no}",
            "mixed": f"Only in part: {in_part}",
        },
        wording,
    )


def gradient_line(agreement: Findings, wording: Wording = TEXTS) -> Line | None:
    """Do gradients agree that these tokens mattered?"""
    return _rank_line(
        agreement,
        "attention~gradient",
        "gradient",
        f"Does attention rank {wording.tokens} as gradients do?",
        "Do gradients agree?",
        "tokens",
        {
            "supports": "Yes: attention and gradient×embedding tell much the same story.",
            "against": "No: attention and gradient×embedding tell different stories.",
            "mixed": "Only in part: the two rankings agree loosely.",
        },
        wording,
    )


def deletion_line(agreement: Findings, wording: Wording = TEXTS) -> Line | None:
    """Does deletion agree that these tokens mattered?"""
    line = _rank_line(
        agreement,
        "attention~leave_one_out",
        "deletion",
        f"Does attention rank {wording.tokens} as deleting them does?",
        "Does deletion agree?",
        "tokens",
        {
            "supports": f"Yes: the {wording.items} with the largest weights are those whose deletion changes the "
            "prediction most.",
            "against": f"No: deleting a {wording.item} with much weight often changes little, and vice versa.",
            "mixed": "Only in part: the two rankings agree loosely.",
        },
        wording,
    )
    return None if line is None else replace(line, reading=line.reading + _beside_gradients(agreement))


def _beside_gradients(agreement: Findings) -> str:
    """Whether gradients find what deletion finds better than attention does, text by text."""
    pairs = ("gradient~leave_one_out", "attention~leave_one_out")
    if not all(_has(agreement, pair) for pair in pairs):
        return ""
    rows = [agreement.rows({"pair": pair}) for pair in pairs]
    theirs, ours = (by_sentence(r["captured"].cast(pa.float64()).to_numpy(), sentences_of(r)) for r in rows)
    both = ~(np.isnan(theirs) | np.isnan(ours))
    if both.sum() < FEWEST:
        return ""
    difference = bootstrap_paired_difference(theirs[both], ours[both])
    control = f"({theirs[both].mean():.2f})"
    if difference.low > 0:
        return f" Gradient×embedding captures significantly more of it than attention {control}."
    if difference.high < 0:
        return f" Gradient×embedding captures significantly less of it than attention {control}."
    return f" Gradient×embedding {control} and attention do not differ significantly."


def _rank_line(
    agreement: Findings,
    pair: str,
    key: str,
    question: str,
    short: str,
    about: Literal["states", "tokens"],
    words: Mapping[str, str],
    wording: Wording,
) -> Line | None:
    if not _has(agreement, pair):
        return None
    tau, significant, held = (estimate(agreement, f"{pair}.{name}") for name in ("tau", "significant", "captured"))
    tone = tone_of("captured", held)
    reading = said(words, "captured", tone, held, wording)
    reading += f" τ is significant in {percent(significant.value)} of {wording.units}."
    return Line(
        key,
        question,
        f"captures {held} (0 random, 1 best); τ = {tau}",
        reading,
        tone,
        held,
        about,
        short,
        scale="captured",
        explainers=tuple(pair.split("~")),
    )


def _has(findings: Findings, pair: str) -> bool:
    return any(measure.where.get("pair") == pair for measure in findings.measures)
