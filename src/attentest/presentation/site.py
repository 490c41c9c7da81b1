"""What a run's attention was examined at, and how much of it lies on words: the rest was held, and limits what is said.

A transformer has many attentions, and one site of it is replaced while the others stay. What special tokens, a prompt
or a second text get there is held, so an attention that hardly looks at words can hardly change, whichever word gets
which weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attentest.presentation.line import Tone
from attentest.presentation.thresholds import percent, said, tone_of
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["HALF", "Said", "Site", "dependence", "freedom", "on_words", "site_of"]


#: Where words get less than this share on average, nothing is concluded from a prediction that stays.
HALF = 0.5


@dataclass(frozen=True)
class Site:
    """One of many attentions: its name, and what part of the model's attention it is."""

    name: str
    part: str

    @property
    def words(self) -> str:
        """What was replaced, and what was not."""
        return f" This is {self.name}, {self.part}; the others stay."


@dataclass(frozen=True)
class Said:
    """What a number says, in which tone, and whether it cannot say because most of the attention was held."""

    tone: Tone
    words: str
    held: bool = False


def site_of(fields: Mapping[str, Any]) -> Site | None:
    """The site that a run examined, by its fields; None where the model has one attention, or one for each level."""
    model = fields.get("model", {})
    if "row" in model:
        name = str(model["attention"]).partition(" row")[0]
        rows = "all rows" if model["row"] == "all" else "one row"
        return Site(name, f"{rows} of one {'head' if ' head ' in name else 'layer'}")
    kind, _, place = str(fields.get("site", "")).partition(" ")
    layer, dot, head = place.partition(".")
    if kind == "cross" and dot:
        return Site(f"cross layer {layer} head {head}", "one head of one layer")
    return None


def on_words(instances: Findings | None) -> Estimate | None:
    """The mean share of attention on words; None where all of it is."""
    if instances is None or not any(measure.name == "on_words" for measure in instances.measures):
        return None
    found = estimate(instances, "on_words")
    return found if found.judged else None


def dependence(
    words: Mapping[str, str], key: str, found: Estimate, share: Estimate | None, wording: Wording = TEXTS
) -> Said:
    """What a change of the prediction says; one that stays says nothing where most of the attention was held."""
    tone = tone_of(key, found)
    if tone == "against" and share is not None and share.value < HALF:
        hardly = f"the prediction could hardly change, whichever {wording.item} gets which weight."
        return Said("unsettled", f"{_mostly_held(share, wording)} {hardly}", held=True)
    return Said(tone, said(words, key, tone, found, wording))


def _mostly_held(share: Estimate, wording: Wording) -> str:
    return (
        f"Cannot say: only {percent(share.value)} of this attention lies on {wording.items} and the rest was held, so"
    )


def freedom(tone: Tone, reading: str, share: Estimate | None, spread: str, wording: Wording = TEXTS) -> Said:
    """What it says that words' weights may be others; nothing where most of the attention was held.

    The less words get, the less their shares matter, and the more others would do. That even then few would do says
    more, not less, so ``supports`` stays. ``spread`` says what the number is about where words get most, not all.
    """
    if share is None or share.value == 1:
        return Said(tone, reading)
    if share.value < HALF and tone != "supports":
        otherwise = f"how {wording.items} share it could be different whatever the model does."
        return Said("unsettled", f"{_mostly_held(share, wording)} {otherwise}", held=True)
    return Said(tone, f"{reading} {spread}; what lies on no {wording.item} ({percent(1 - share.value)}) was held.")
