"""What people see of agreement: lines, figures, columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa

from attentest.presentation.line import Line, Tone
from attentest.presentation.presentation import NARROW, Caption, Column, Plot, Presentation
from attentest.presentation.thresholds import FEWEST, percent, said, tone_of
from attentest.statistics.bootstrap import bootstrap_paired_difference
from attentest.store.findings import Findings
from attentest.store.summary import by_sentence, estimate, sentences_of
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "deletion_line", "erased_line", "gradient_line", "tokens_line"]


def erased_line(agreement: Findings, permutation: Findings | None, wording: Wording = TEXTS) -> Line | None:
    """Does attention rank the states the output depends on?

    The effect of erasing a state has its weight as a factor, so peaked weights rank their states whether they are the
    right ones or not: the same number for shuffled weights stands beside it, and dependence is judged elsewhere.
    """
    line = _rank_line(
        agreement,
        "attention~state_erasure",
        "erased",
        "Does attention rank states as erasing them does?",
        "Does erasing states agree?",
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


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.agreement.figures import PAIRS, agreement_overview, tau_histograms

    narrow = partial(tau_histograms, columns=1)
    return (
        Plot(
            "tau",
            "tau",
            lambda found, results: tau_histograms(found, results.palette, results.wording),
            Caption(
                "Do attention and other scores rank the words the same?",
                "Each {w.unit} gives one Kendall τ: 1 if both scores put its words in the same order, 0 if the "
                "orders are unrelated, −1 if they are reversed. Values far from 1 mean that attention and the other "
                "score tell different stories. The control shows how well two scores other than attention agree. "
                "Dashed lines are means; sig. is the share with p ≤ .05.",
            ),
            lambda found, results: narrow(found, results.palette, results.wording),
            wide=True,
            pairs=PAIRS,
        ),
        Plot(
            "overview",
            "tau",
            lambda found, results: agreement_overview(found, results.wording),
            Caption(
                "How large is each agreement, and how sure is it?",
                "Black: choose the top words by the first score and see how much of the second they hold; 1 is the "
                "best choice, 0 a random one; attention ↔ state erasure and ↔ gradient state have the weight "
                "itself as a factor: peaked weights agree with them whether they are right or not. The verdict "
                "reads the black numbers, because Kendall τ weighs every pair of words equally, even words that do "
                "not matter. Dots are means over {w.units}, bars their 95 % intervals; a bar that "
                "cannot be seen is narrower than its dot. The control does not involve attention.",
            ),
            lambda found, results: agreement_overview(found, results.wording, width=NARROW),
        ),
    )


PRESENTATION = Presentation(
    "agreement",
    place=20,
    rows="One row per text and pair.",
    columns=(
        Column(
            "pair",
            "string",
            "two explainers, such as `attention~gradient`; `attention~state_erasure` and "
            "`state_erasure~leave_one_out` are read in the verdict",
        ),
        Column("tokens", "int32", "the number of tokens"),
        Column("tau", "double", "Kendall's τ-b"),
        Column("p_value", "double", "its two-sided p-value"),
        Column("significant", "bool", "whether the p-value is at most `level`"),
        Column(
            "captured",
            "double",
            "how much of the second score the top `k` tokens of the first (at most half of the text's) "
            "hold: 0 a blind choice, 1 the best, at least −1; null for one token and where every choice "
            "holds the same",
        ),
        Column("spearman", "double", "Spearman's ρ"),
        Column("top_k_overlap", "double", "share of the top `k` tokens that both rankings have"),
        Column("rank_biased_overlap", "double", "rank-biased overlap, 0 to 1"),
    ),
    lines=(
        lambda found, results: erased_line(found, results.found.get("permutation"), results.wording),
        lambda found, results: tokens_line(found, layered=results.site is not None, wording=results.wording),
        lambda found, results: gradient_line(found, results.wording),
        lambda found, results: deletion_line(found, results.wording),
    ),
    figures=_figures,
    in_study={
        "attention~gradient.tau": "τ(attention, gradient)",
        "attention~leave_one_out.tau": "τ(attention, deletion)",
    },
)
