"""The verdict: may this way of reading attention be shown as where an answer came from?

Decided by one number: of the fall of the log-probability that taking out the most important source causes, the share
that taking out the method's first source causes, over the questions whose answer hangs on the sources at all. Its 95 %
interval must lie beyond a mark to speak, and a method that looks at attention must do better than words in common,
which ask no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attentest.sources.judging.alternatives import FAR
from attentest.sources.judging.measures import Judged, judge, share_of_largest
from attentest.sources.judging.record import Record
from attentest.statistics.bootstrap import bootstrap_mean, bootstrap_paired_difference
from attentest.statistics.intervals import Interval, wilson

__all__ = ["BASELINE", "FEWEST", "HIGH", "LOW", "Answered", "Others", "Ruling", "answered", "other_weights", "rule"]

#: The marks. Above the first, removing what is cited does nearly all that removing any one source can do; below the
#: second, more than half of it is missed.
HIGH, LOW = 0.8, 0.5
#: Questions that a verdict takes at least.
FEWEST = 20
#: What asks no model, and has to be beaten.
BASELINE = "shared_words"

Tone = Literal["supports", "against", "mixed", "too few"]


@dataclass(frozen=True)
class Ruling:
    """What is said of one method."""

    judged: Judged
    tone: Tone
    #: How much larger its share is than that of words in common, on the same questions.
    ahead: Interval
    reading: str


@dataclass(frozen=True)
class Answered:
    """Where the answers came from, question by question counted."""

    questions: int
    #: The answer hangs on the sources; the model knew it anyway; no source mattered, and it did not know it.
    sources: int
    known: int
    none: int
    #: Planted questions with a deciding source, those answered right, and those where an intervention confirms it.
    planted: int
    right: int
    confirmed: int


@dataclass(frozen=True)
class Others:
    """What other weights do to the answers that hang on their sources."""

    questions: int
    #: The fall of the log-probability, by how the weights are handed out.
    uniform: Interval
    permuted: Interval
    #: How often the answer stays under weights that were tried and give more than half of it to other sources.
    stays: Interval


def other_weights(records: Sequence[Record]) -> Others:
    """Over the questions where they were tried."""
    tried = [r.alternatives for r in records if r.alternatives is not None and r.status == "sources"]
    stay = sum(each.farthest() >= FAR for each in tried)
    return Others(
        len(tried),
        bootstrap_mean([each.uniform for each in tried]),
        bootstrap_mean([float(np.mean(each.permuted)) for each in tried]),
        wilson(stay, len(tried)),
    )


def answered(records: Sequence[Record]) -> Answered:
    """Counts over all questions."""
    status = [record.status for record in records]
    planted = [record for record in records if record.deciding]
    return Answered(
        len(records),
        status.count("sources"),
        status.count("known"),
        status.count("none"),
        len(planted),
        sum(bool(record.right) for record in planted),
        sum(record.confirmed for record in planted),
    )


def rule(records: Sequence[Record], method: str) -> Ruling:
    """The verdict on one method."""
    judged = judge(records, method)
    ahead = _ahead(records, method)
    share = judged.share
    if judged.counts[0] < FEWEST:
        text = f"only {judged.counts[0]} answers hang on their sources; a verdict takes {FEWEST}"
        return Ruling(judged, "too few", ahead, text)
    if share.high < LOW:
        return Ruling(judged, "against", ahead, "its first source is mostly not the one that the answer hangs on")
    if share.low <= HIGH:
        return Ruling(judged, "mixed", ahead, "its first source is often, not always, the one that the answer hangs on")
    if method != BASELINE and not ahead.low > 0:
        return Ruling(judged, "mixed", ahead, "it finds the source, and so do words in common, which ask no model")
    return Ruling(judged, "supports", ahead, "its first source is the one that the answer hangs on")


def _ahead(records: Sequence[Record], method: str) -> Interval:
    both = [
        (share_of_largest(np.array(r.given[method].scores), r.drops), share_of_largest(np.array(own), r.drops))
        for r in records
        if r.status == "sources" and r.drops.max() > 0 and method in r.given and r.given[method].scores
        for own in (r.given[BASELINE].scores if BASELINE in r.given else [],)
        if own
    ]
    return bootstrap_paired_difference([a for a, _ in both], [b for _, b in both])
