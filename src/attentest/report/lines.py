"""The verdict's lines: each reads one number of one challenge and says it in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa

from attentest.registry import name_in_words
from attentest.report.accuracy import accuracy_line
from attentest.report.checks import failed
from attentest.report.erasure import order_line
from attentest.report.four_lines import carries_line, luck_line, needed_line, unique_line
from attentest.report.gating import gating_line
from attentest.report.held import Site, dependence, freedom, held_line, on_words, site_of
from attentest.report.marks import rationale_line
from attentest.report.saliency import saliency_line
from attentest.report.seeds import Seeds
from attentest.report.thresholds import FEWEST, percent, said, settling_of, tone_of
from attentest.report.translation import alignment_line, bleu_line
from attentest.report.verdict import Line, Settling, Tone, wording_of
from attentest.statistics.bootstrap import bootstrap_paired_difference
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate, by_sentence, estimate, sentences_of
from attentest.tasks import TEXTS, Wording

__all__ = ["lines_of", "percent"]

#: The challenges that lines are made of.
READ = (
    *("instances", "uniform", "permutation", "agreement", "flip_sets", "adversary", "faithfulness", "rationale"),
    *("gating", "bleu", "alignment"),
    *("trained_uniform", "seed_variance", "guide", "adversarial_training", "certificates"),
)


def uniform_line(
    uniform: Findings, share: Estimate | None = None, site: Site | None = None, wording: Wording = TEXTS
) -> Line:
    """Does the output change without attention?"""
    flipped, before, after = (estimate(uniform, m) for m in ("flipped", "accuracy", "accuracy_uniform"))
    off = "Switching attention off" if site is None else f"Switching {site.name}'s attention off"
    words = {
        "supports": f"{off} changes many decisions: the model uses where it looks.",
        "against": f"{off} changes almost no decision: where the model looks hardly shows.",
        "mixed": f"{off} changes some decisions.",
    }
    reading = dependence(words, "flips", flipped, share, wording)
    return Line(
        "uniform",
        "Do decisions change without attention? (uniform weights)",
        f"{flipped} of decisions change",
        f"{reading.words} Accuracy {before.value:.3f} → {after.value:.3f}.{site.words if site else ''}",
        reading.tone,
        flipped,
        "states",
        "Does uniform attention flip decisions?",
        scale="flips",
        held=reading.held,
    )


def permutation_line(
    permutation: Findings, share: Estimate | None = None, site: Site | None = None, wording: Wording = TEXTS
) -> Line:
    """Does it matter which state gets which weight?"""
    change, flips = (estimate(permutation, m) for m in ("median_change", "flips"))
    which = f"which {wording.item} gets which weight"
    shuffling = "Shuffling the weights" if site is None else f"Shuffling {site.name}'s weights"
    words = {
        "supports": f"{shuffling} moves the prediction: it matters {which}.",
        "against": f"{shuffling} hardly moves the prediction: it hardly matters {which}.",
        "mixed": f"{shuffling} moves the prediction somewhat.",
    }
    reading = dependence(words, "change", change, share, wording)
    return Line(
        "permutation",
        f"Does it matter {which}? (permutation)",
        f"{change} median change of ŷ",
        f"{reading.words} It turns the decision in {percent(flips.value)} of shuffles.{site.words if site else ''}",
        reading.tone,
        change,
        "states",
        "Does shuffling weights matter?",
        scale="change",
        held=reading.held,
    )


def adversary_line(
    adversary: Findings, share: Estimate | None = None, site: Site | None = None, wording: Wording = TEXTS
) -> Line:
    """Would a quite different attention have done?"""
    ratio, top, possible = (estimate(adversary, m) for m in ("ratio", "top_changed", "ratio_upper"))
    words = {
        "supports": "Little of the attention could be otherwise without changing the prediction.",
        "against": "Nearly any other attention would have given this prediction; this one is not unique.",
        "mixed": "Quite different attentions give this prediction.",
    }
    tone: Tone = tone_of("ratio", ratio)
    told = said(words, "ratio", tone, ratio, wording)
    if tone == "supports" and not possible.judged:
        # What a search does not find may be there all the same.
        tone, told = "unsettled", "A search found little attention that could be otherwise, which proves nothing."
    elif tone == "supports" and tone_of("ratio", possible) != "supports":
        tone, told = "unsettled", "Little attention was found that could be otherwise; much more is not ruled out."
    shares = f"The difference is one among the shares that {wording.items} get"
    reading = freedom(tone, told, share, shares, wording)
    return Line(
        "adversary",
        "Could attention be otherwise, with the same prediction? (adversary)",
        f"{ratio} of the largest possible difference, within ε = {adversary.parameters['epsilon']:g}",
        f"{reading.words} In {percent(top.value)} of {wording.units} even the top {wording.item} can be another one. "
        f"{_proof(adversary, ratio, possible, wording)}{site.words if site else ''}",
        reading.tone,
        ratio,
        "states",
        "Would other weights do?",
        scale="ratio",
        held=reading.held,
    )


def _proof(adversary: Findings, ratio: Estimate, possible: Estimate, wording: Wording) -> str:
    """How sure the largest difference is, and how far the published search falls short of it."""
    met, short, often = (estimate(adversary, m) for m in ("certified", "shortfall", "short_by_05"))
    if not possible.judged:
        return "The largest difference was searched for: more may be possible."
    kept = "adversarial_probabilities" in adversary.table.column_names
    exact = kept and len(adversary.table["adversarial_probabilities"][0]) == 2
    proof = f"That no larger difference is possible is proved{'' if exact else ', to within .01,'} for "
    if met.value == 1:
        proof += f"every {wording.unit}."
    else:
        proof += f"{percent(met.value)} of {wording.units}; for the rest" if met.value else f"no {wording.unit}:"
        proof += " only bounds are known. On average the largest difference lies between "
        proof += f"{ratio.value:.3f} and {possible} of the largest possible one."
    if short.judged:
        proof += f" The published search falls short by {short.value:.3f} JSD on average"
        proof += f", by more than .05 in {percent(often.value)} of {wording.units}."
    return proof


def states_line(agreement: Findings, permutation: Findings | None, wording: Wording = TEXTS) -> Line | None:
    """Does attention rank the states the output depends on?

    The effect of erasing a state has its weight as a factor, so peaked weights rank their states whether they are the
    right ones or not: the same number for shuffled weights stands beside it, and dependence is judged elsewhere.
    """
    line = _rank_line(
        agreement,
        "attention~state_erasure",
        "states",
        "Does attention rank the states the output is made of?",
        "Does it rank states?",
        "states",
        {
            "supports": "Yes: the weights, more than what states say, decide which states count.",
            "against": "No: what states say decides which of them count, not the weights they get.",
            "mixed": "Only in part: weights and what states say decide together.",
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
    added += ": this is a fact about the mechanism, not praise." if no_praise else "."
    tone: Tone = "context" if no_praise else line.tone
    return replace(line, tone=tone, reading=line.reading + added)


def tokens_line(agreement: Findings, *, layered: bool = False, wording: Wording = TEXTS) -> Line | None:
    """Does state t still stand for token t? In a model of layers it is one of many states that the token reaches."""
    item, token = wording.item, wording.token
    no, in_part = f"what a state carries has little to do with the {token} below it.", "states have taken up much from"
    in_part += " their neighbours."
    if layered:
        no, in_part = (
            f"erasing this state and deleting the {item} {differ}; the {item} also reaches the output by other ways."
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
            "supports": f"Yes: erasing a state and deleting its {token} have like effects.",
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
            "supports": f"Yes: the {wording.items} with most weight are those whose deletion changes the prediction "
            "most.",
            "against": f"No: deleting a {wording.item} with much weight often changes little, and the reverse.",
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
        return f" Gradient×embedding captures more of it than attention {control}."
    if difference.high < 0:
        return f" Gradient×embedding captures less of it than attention {control}."
    return f" Gradient×embedding {control} and attention cannot be told apart here."


def lines_of(run: RunFolder) -> Iterator[Line]:
    """Every line this run's findings allow, in the order of the argument."""
    files = {name: file for name in READ if (file := run.named(name)) is not None}
    found = {name: run.findings(file) for name, file in files.items()}
    other_seeds = found.get("seed_variance")
    seeds, bad = Seeds.of(other_seeds), failed(found.get("certificates"))
    site, share = site_of(run.record["fields"]), on_words(found.get("instances"))
    wording, planted = wording_of(run.record["fields"]), run.record["fields"]["corpus"].get("rationale") == "planted"
    makers: tuple[tuple[str, Callable[[Findings], Line | None]], ...] = (
        ("instances", lambda findings: accuracy_line(findings, wording)),
        ("instances", lambda findings: held_line(findings, wording)),
        ("uniform", lambda findings: uniform_line(findings, share, site, wording)),
        ("permutation", lambda findings: permutation_line(findings, share, site, wording)),
        ("agreement", lambda findings: states_line(findings, found.get("permutation"), wording)),
        ("flip_sets", lambda findings: order_line(findings, share, wording)),
        ("adversary", lambda findings: adversary_line(findings, share, site, wording)),
        ("gating", lambda findings: gating_line(findings, wording)),
        ("bleu", bleu_line),
        ("adversarial_training", lambda findings: unique_line(findings, other_seeds, found.get("guide"), wording)),
        ("trained_uniform", lambda findings: needed_line(findings, seeds, wording)),
        ("agreement", lambda findings: tokens_line(findings, layered=site is not None, wording=wording)),
        ("agreement", lambda findings: gradient_line(findings, wording)),
        ("agreement", lambda findings: deletion_line(findings, wording)),
        ("faithfulness", lambda findings: saliency_line(findings, wording, bad)),
        ("rationale", lambda findings: rationale_line(findings, planted, wording)),
        ("alignment", alignment_line),
        ("guide", lambda findings: carries_line(findings, seeds, wording)),
        ("seed_variance", lambda findings: None if seeds is None else luck_line(findings, seeds, wording)),
    )
    for name, make in makers:
        if name in found and (line := make(found[name])) is not None and line.estimate.judged:
            yield _counted(replace(line, findings=files[name], settling=line.settling or _settling(line)), bad)


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
        f"captures {held} (0 blind, 1 best); τ = {tau}",
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
