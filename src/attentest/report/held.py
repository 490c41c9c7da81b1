"""What a run's attention was examined at, and how much of it lies on words: the rest was held, and limits what is said.

A transformer has many attentions, and one site of it is replaced while the others stay. What special tokens, a prompt
or a second text get there is held, so an attention that hardly looks at words can hardly change, whichever word gets
which weight.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from attentest.report.thresholds import percent, said, tone_of
from attentest.report.verdict import Goal, Line, Tone
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate

__all__ = ["HALF", "Site", "dependence", "freedom", "held_line", "is_open", "named", "on_words", "site_of", "why_open"]

#: Where words get less than this share on average, nothing is concluded from a prediction that stays.
HALF = 0.5
#: The lines on whether predictions depend on the weights.
DEPENDENCE = ("uniform", "permutation")
_OF_HEADS = re.compile(r"cross (\d+)\.(\d+)")


@dataclass(frozen=True)
class Site:
    """One of many attentions: its name, and what part of the model's attention it is."""

    name: str
    part: str


def site_of(fields: Mapping[str, Any]) -> Site | None:
    """The site that a run examined, by its fields; None where the model has one attention, or one for each level."""
    model = fields.get("model", {})
    if "row" in model:
        name = str(model["attention"]).partition(" row")[0]
        rows = "all rows" if model["row"] == "all" else "one row"
        return Site(name, f"{rows} of one {'head' if ' head ' in name else 'layer'}")
    if (match := _OF_HEADS.fullmatch(str(fields.get("site", "")))) is not None:
        return Site(f"cross layer {match[1]} head {match[2]}", "one head of one layer")
    return None


def named(line: Line, site: Site | None) -> Line:
    """The line in words that name the site."""
    if site is None:
        return line
    reading = line.reading.replace("Switching attention off", f"Switching {site.name}'s attention off")
    reading = reading.replace("Shuffling the weights", f"Shuffling {site.name}'s weights")
    return replace(line, reading=f"{reading} This is {site.name}, {site.part}; the others stay.")


def on_words(instances: Findings | None) -> Estimate | None:
    """The mean share of attention on words; None where all of it is."""
    if instances is None or not any(measure.name == "on_words" for measure in instances.measures):
        return None
    found = estimate(instances, "on_words")
    return found if found.judged else None


def held_line(instances: Findings) -> Line | None:
    """How much of the attention could be replaced at all?"""
    share = on_words(instances)
    if share is None:
        return None
    reading = (
        f"{percent(1 - share.value)} of this attention lies on no word and was held (special tokens, a prompt, "
        "a second text): what is said of its weights is said of the rest."
    )
    question = "How much of this attention lies on words?"
    return Line("held", question, f"{share} of it", reading, "context", share, "setting")


def dependence(words: Mapping[str, str], key: str, found: Estimate, share: Estimate | None) -> tuple[Tone, str]:
    """What a change of the prediction says; one that stays says nothing where most of the attention was held."""
    tone = tone_of(key, found)
    if tone == "against" and share is not None and share.value < HALF:
        return "unsettled", (
            f"Cannot say: only {percent(share.value)} of this attention lies on words and the rest was held, so that "
            "the prediction could hardly change, whichever word gets which weight."
        )
    return tone, said(words, tone, found)


def freedom(tone: Tone, reading: str, share: Estimate | None, spread: str) -> tuple[Tone, str]:
    """What it says that words' weights may be others; nothing where most of the attention was held.

    The less words get, the less their shares matter, and the more others would do. That even then few would do says
    more, not less, so ``supports`` stays. ``spread`` says what the number is about where words get most, not all.
    """
    if share is None or share.value == 1:
        return tone, reading
    if share.value < HALF and tone != "supports":
        return "unsettled", (
            f"Cannot say: only {percent(share.value)} of this attention lies on words and the rest was held, so that "
            "how words share it could be otherwise whatever the model does."
        )
    return tone, f"{reading} {spread}; what lies on no word ({percent(1 - share.value)}) was held."


def is_open(line: Line) -> bool:
    """Whether the line cannot say because most of the attention was held."""
    return line.reading.startswith("Cannot say: only")


def why_open(goal: Goal, usual: str, lines: tuple[Line, ...], keys: tuple[str, ...] = DEPENDENCE) -> Goal:
    """The goal with the reason why it is open, where that is what was held in one of these lines, not the ``usual``."""
    share = next((line.estimate for line in lines if line.key == "held"), None)
    kept = any(line.key in keys and is_open(line) for line in lines)
    if goal.answer != "cannot say" or goal.why != usual or share is None or not kept:
        return goal
    why = f"Only {percent(share.value)} of this attention lies on words: what their weights do cannot be told from it."
    return replace(goal, why=why)
