"""What a headline table means, in sentences computed from it: is a loss about attention, or about wiring?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attentest.papers.headline import Control, Headline, Row, Second
from attentest.statistics.seeds import OverSeeds, Share

__all__ = ["in_words", "meaning_in_words", "sentences"]

#: A score within so many points of chance is called chance.
AT_CHANCE = 2.0


def sentences(headline: Headline) -> list[str]:
    """How much of the loss a control does away with, corpus by corpus."""
    return _Reader(headline).sentences()


@dataclass(frozen=True)
class _Reader:
    """Reads one table."""

    headline: Headline

    def sentences(self) -> list[str]:
        """What the numbers mean, computed from them: how much of the loss a control does away with."""
        found = [
            words
            for corpus in dict.fromkeys(row.claim.corpus for row in self.headline.rows)
            for position, control in enumerate(self.headline.rule.controls)
            if (words := self._sentence(corpus, position, control))
        ]
        return found or ["No control has been run beside the paper's models yet, so nothing can be said about wiring."]

    def _sentence(self, corpus: str, position: int, control: Control) -> str:
        """What a control does on one corpus, for every way of altering weights, and how much it could have lost."""
        shares = {
            name: Share(*pair)
            for name, groups in self.headline.rule.read.items()
            if (pair := self._pair(corpus, groups, position))
        }
        if not shares:
            return ""
        room = self._room(corpus, position)
        if not any(share.lost for share in shares.values()):
            said = f"{corpus}, {control.name}: seeds differ too much, or are too few, to say that anything is lost."
            return f"{said} {room}".strip()
        parts = ", ".join(f"{in_words(share)} ({name})" for name, share in shares.items())
        means = f"{_meaning(shares)}. Gone once the head sees {self._second(corpus).words}: {parts}."
        return " ".join(filter(None, (f"{corpus}, {control.name}:", self._end(corpus, position), means, room)))

    def _end(self, corpus: str, position: int) -> str:
        """Where the paper's model ends without attention, where that is chance."""
        second = self._second(corpus)
        score, lost = (self._row(corpus, group, position) for group in ("", self.headline.rule.without))
        if score is None or score.ours is None or lost is None or lost.ours is None:
            return ""
        end = score.ours.value + lost.ours.value
        if abs(end - second.chance) > AT_CHANCE:
            return ""
        return f"the paper's model ends at chance ({end:.1f} %), because its head cannot see {second.words};"

    def _room(self, corpus: str, position: int) -> str:
        """How much the control could lose: what it is short of when it is trained without attention."""
        groups = ("", self.headline.rule.without, self.headline.rule.altered)
        score, lost, altered = (_control(self._row(corpus, group, position), position) for group in groups)
        if score is None or lost is None or altered is None:
            return ""
        little = -lost.value <= self.headline.rule.little
        said = (
            f"With a head that sees {self._second(corpus).words}, {'only ' if little else ''}{_points(lost)} points "
            f"can be lost without attention ({score.value:.1f} to {score.value + lost.value:.1f} %), "
            f"and {_points(altered)} are at inference"
        )
        if not little:
            return f"{said}."
        sure = "" if lost.low >= -self.headline.rule.little else ", as far as the seeds tell"
        return f"{said}: little room{sure}, which cannot show attention to matter here."

    def _second(self, corpus: str) -> Second:
        return self.headline.rule.second.get(corpus, Second())

    def _row(self, corpus: str, group: str, position: int) -> Row | None:
        """The figure of a corpus that a control has; the model's own score has no group."""
        found = (row for row in self.headline.rows if (row.claim.corpus, row.claim.group) == (corpus, group))
        return next((row for row in found if row.controls[position] is not None), None)

    def _pair(self, corpus: str, groups: Sequence[str], position: int) -> tuple[OverSeeds, OverSeeds] | None:
        """What the paper's model and the control lose of their score above chance, averaged over some figures.

        In points a control that knows more would seem to lose more. None where one of the two is not there.
        """
        rows = [row for group in groups if (row := self._row(corpus, group, position)) is not None]
        score = self._row(corpus, "", position)
        both = [(row.ours, other) for row in rows if (other := row.controls[position]) and row.ours]
        if not both or score is None or score.ours is None:
            return None
        chance = self._second(corpus).chance
        scores = (score.ours, score.controls[position] or score.ours)
        own, with_control = (_averaged([pair[side].above(chance, scores[side]) for pair in both]) for side in (0, 1))
        return (own, with_control) if own.seeds and with_control.seeds else None


def _control(row: Row | None, position: int) -> OverSeeds | None:
    return None if row is None else row.controls[position]


def _points(lost: OverSeeds) -> str:
    """A loss, with its interval over seeds where there is one."""
    half = "" if math.isnan(lost.half) else f" ± {lost.half:.1f}"
    return f"{-lost.value:.1f}{half}".replace("-", "−")


def _averaged(each: Sequence[OverSeeds]) -> OverSeeds:
    """The mean over figures, for every seed that all of them have."""
    seeds = sorted(set.intersection(*(set(one.seeds) for one in each)))
    figures = [[one.figures[one.seeds.index(seed)] for seed in seeds] for one in each]
    return OverSeeds(tuple(seeds), tuple(float(mean) for mean in np.mean(figures, axis=0)))


def _meaning(shares: Mapping[str, Share]) -> str:
    """What the loss is mostly about; said of every way of altering weights where they are not all the same."""
    found: dict[str, list[str]] = {}
    for name, share in shares.items():
        found.setdefault(meaning_in_words(share), []).append(name)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{meaning} ({', '.join(names)})" for meaning, names in found.items())


def in_words(share: Share) -> str:
    """The share with its interval, or that there is no loss it could be a share of."""
    if not share.lost:
        return "an unknown share"
    low = "below -100" if share.low < -1 else f"{100 * share.low:.0f}"
    return f"{100 * share.value:.0f} % [{low}, {100 * share.high:.0f}]".replace("-", "−")


def meaning_in_words(share: Share) -> str:
    """What becomes of most of the loss; the whole interval decides."""
    if not share.lost:
        return "whether anything is lost is open"
    if share.low > 0.5:
        return "most of the paper's loss vanishes, and that part is about wiring"
    if share.high < 0.5:
        return "most of the paper's loss stays, and that part is about attention"
    return "whether most of the paper's loss vanishes is open"
