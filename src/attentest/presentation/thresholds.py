"""Where the verdict draws its lines; the one place to change them.

The three that decide (``reason``, ``check``, ``one``) were fitted on models whose truth is known (calibrated.py). The
others only choose the words for a line that decides nothing: they are judgements, and say nothing of the truth.
A line *supports*, is *against* or is *mixed* only when its whole 95 % interval lies on one side of, or between, the two
marks. An interval that crosses a mark, or stands on fewer than ``FEWEST`` texts, settles nothing: *unsettled*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attentest.presentation.calibrated import calibrated
from attentest.presentation.line import Settling, Tone
from attentest.store.summary import Estimate
from attentest.tasks import TEXTS, Wording

__all__ = [
    "FEWEST",
    "MOST",
    "THRESHOLDS",
    "Band",
    "about",
    "agreed",
    "band_of",
    "clear_of",
    "percent",
    "said",
    "settled_by",
    "settling_of",
    "tone_of",
]

#: Below this many judged texts a 95 % interval covers too little to be believed.
FEWEST = 30
#: Where it would take more than so many times as many texts to settle a line, no number is given.
MOST = 100


@dataclass(frozen=True)
class Band:
    """Two marks on a scale, and which side of them speaks for attention."""

    against: float
    supports: float
    why: str
    #: Whether the estimate is a share of decisions that were counted, with Wilson's interval.
    counted: bool = False


#: What the scale of a use measures, between a blind choice (0) and the best (1).
_HELD = {
    "reason": "How much of what mattered attention's top words hold, with words taken out in several ways.",
    "check": "How much of what the output takes from states attention's top states hold.",
    "one": "How far attention's top words are the one reason: the least of what they hold, of what goes with them, and "
    "of what goes when their weight lies elsewhere.",
    "text": "How much of what mattered attention's top words hold in a single text.",
}

THRESHOLDS: dict[str, Band] = {
    **{
        use: Band(*calibrated().marks[use], f"{measured} Fitted on models of known truth.")
        for use, measured in _HELD.items()
    },
    "captured": Band(
        0.4,
        0.75,
        "How much of an effect the top words capture, between a random choice (0) and the best (1). Gradients reach "
        "about .75 of deletion on the built-in corpus: an attention that does as well may be read the same way. "
        "Below .4 most of what matters is elsewhere. This decides, not τ, because τ counts the order of words that "
        "do not matter.",
    ),
    "flips": Band(
        0.02,
        0.10,
        "Share of decisions that flip under uniform attention: one in fifty is within seed variance, one in ten not.",
        counted=True,
    ),
    "change": Band(
        0.05,
        0.15,
        "Median change of the predicted probability under shuffled weights: .05 is the smallest that a reader of "
        "rounded probabilities would notice, .15 makes a confident prediction a doubtful one.",
    ),
    "ratio": Band(
        0.9,
        0.5,
        "ε-max JSD as a share of the largest possible: above .9 the prediction holds attention by almost nothing, "
        "below .5 it rules out the larger half of all differences.",
    ),
    "saliency": Band(
        0.4,
        0.75,
        "Attention's normalised comprehensiveness, between a random order's (0) and the best other explainer's (1) "
        "that is unsigned too and not based on erasure. The thresholds are those of capture: that explainer takes "
        "the place of deletion's own best words.",
    ),
    "precision": Band(
        0.0,
        0.2,
        "Average precision above a random order's, as a share of what is left above it: no better than a random "
        "order speaks against.",
    ),
    "order": Band(
        0.4,
        0.75,
        "How early decisions flip when weights are removed from the largest down, between a random order (0) and the "
        "smallest set that flips them (1), never-flipped texts counted as all removed. The thresholds are those of "
        "capture: the smallest set takes the place of the best words.",
    ),
    "lost": Band(
        0.02,
        0.05,
        "Accuracy lost by a control model trained with uniform weights: one text in fifty is within seed variance, one "
        "in twenty would justify another model.",
    ),
    "luck": Band(
        0.5,
        0.2,
        "Share of other seeds that put another word first: above one half, another seed more often than not shows "
        "another word; below one fifth, four in five show the same one.",
    ),
    "gained": Band(
        0.0,
        0.02,
        "Accuracy that a simple model of single words gains from the model's weights over uniform ones: weights that "
        "carry nothing gain nothing, and one text in fifty exceeds seed variance.",
    ),
    "free": Band(
        0.5,
        0.1,
        "How far trained adversaries get at the TVD between seeds, from another seed's attention (0) to a completely "
        "different one (1): beyond one half, the same predictions allow a different attention; below a tenth, the "
        "adversaries do what another seed does.",
    ),
}


def percent(share: float) -> str:
    """A share as a percentage a person would say."""
    if 0 < share < 0.01:
        return "under 1\u00a0%"
    if 0.99 < share < 1:
        return "over 99\u00a0%"
    return f"{100 * share:.0f}\u00a0%"


def band_of(key: str) -> Band:
    """The thresholds by their key; a line that counts must have some."""
    if key not in THRESHOLDS:
        raise LookupError(f"There are no thresholds {key!r}: add a Band with a reason to presentation/thresholds.py.")
    return THRESHOLDS[key]


def tone_of(key: str, found: Estimate, *, chance: float = 0.0) -> Tone:
    """What an estimate says by where its whole interval lies; above ``chance`` when that is given."""
    band = band_of(key)
    if found.judged < FEWEST or math.isnan(found.low):
        return "unsettled"
    low, high = ((value - chance) / (1 - chance) for value in (found.low, found.high))
    if band.supports < band.against:
        low, high = -high, -low
    against, supports = sorted((band.against, band.supports))
    if band.supports < band.against:
        against, supports = -supports, -against
    if low >= supports:
        return "supports"
    if high <= against:
        return "against"
    return "mixed" if low > against and high < supports else "unsettled"


def agreed(tones: Sequence[Tone]) -> Tone:
    """What several ways of measuring the same say together: they speak where all do, and are mixed where one is."""
    if len(set(tones)) == 1:
        return tones[0]
    return "mixed" if "mixed" in tones else "unsettled"


def said(
    words: Mapping[str, str],
    key: str,
    tone: Tone,
    found: Estimate,
    wording: Wording = TEXTS,
    *,
    chance: float = 0.0,
) -> str:
    """The words for a tone; an unsettled one says what would settle it."""
    if tone in words:
        return words[tone]
    settling = settling_of(key, found, chance=chance)
    return f"These {wording.units} give no interval." if settling is None else settled_by(settling, wording)


def settling_of(key: str, found: Estimate, *, chance: float = 0.0) -> Settling | None:
    """What would settle an estimate on a scale; None where it is settled, or no number can be given."""
    few = found.judged < FEWEST
    if tone_of(key, found, chance=chance) != "unsettled" or (math.isnan(found.low) and not few):
        return None
    band = band_of(key)
    return clear_of(
        [chance + mark * (1 - chance) for mark in (band.against, band.supports)], found, counted=band.counted
    )


def clear_of(marks: Sequence[float], found: Estimate, *, counted: bool = False) -> Settling:
    """How many would have to be judged for the interval to cross none of the marks, if the estimate stays where it is.

    An end of the interval lies at a distance that shrinks with the square root of the number judged. Of a share that
    is ``counted`` (Wilson) the end at a mark m is √(m (1 − m)) as far away, which is exact.
    """
    if math.isnan(found.low):
        return Settling(None, FEWEST, found.judged)
    hardest, times = None, 0.0
    for mark in marks:
        if not found.low <= mark <= found.high:
            continue
        end, gap = found.low if mark < found.value else found.high, abs(found.value - mark)
        factor = ((found.value - end) / gap) ** 2 if gap else math.inf
        if counted and 0 < end < 1:
            factor *= mark * (1 - mark) / (end * (1 - end))
        if factor >= times:
            hardest, times = mark, factor
    if times > MOST:
        return Settling(hardest, None, found.judged)
    return Settling(hardest, max(FEWEST, math.ceil(found.judged * times)), found.judged)


def settled_by(settling: Settling, wording: Wording = TEXTS) -> str:
    """The same in words."""
    if settling.judged is None:
        close = f"The estimate is close to {settling.threshold:.3g}"
        return f"{close}: to settle it would take more than {MOST} times as many {wording.units}."
    needed = f"about {about(settling.judged)} {wording.units}"
    if settling.threshold is None or settling.now < FEWEST:
        return f"{wording.counted(settling.now)} are too few to say; {needed} are needed."
    return f"The interval crosses {settling.threshold:.3g}: {needed} in place of {settling.now:,} would settle it."


def about(count: int) -> str:
    """A number with two digits that count."""
    digits = max(0, len(str(count)) - 2)
    return f"{round(count, -digits):,}"
