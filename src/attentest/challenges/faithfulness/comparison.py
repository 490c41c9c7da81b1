"""Explainers ranked by what erasing their top words does, attention among them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.line import Rival
from attentest.presentation.standings import ATTENTION
from attentest.presentation.thresholds import FEWEST
from attentest.registry import name_in_words
from attentest.statistics.bootstrap import resampled_means
from attentest.statistics.ranking import Dependence, Ranking, Standing, dependence, rank_methods
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, by_sentence, sentences_of, summarise
from attentest.tasks import TEXTS, Wording

__all__ = ["KINDS", "MARKS", "RANDOM", "REMOVED", "Compared", "Row"]


#: How the findings call the order that puts marked words first, and how a random order is called here.
MARKS, RANDOM = "marks", "random order"

REMOVED, KEPT = "normalised_comprehensiveness", "normalised_sufficiency"

#: How the table marks explainers that are no fair comparison with attention, by their column in the findings.
KINDS = {"signed": "±", "made_of_erasure": "e"}

#: Where explainers outdo the search for limits in more than this share of texts, they are the limits.
OFTEN = 0.5


@dataclass(frozen=True)
class Row:
    """One explainer in the table: its standing and what else erasing its top words shows."""

    words: str
    #: Any of KINDS' marks.
    kind: str
    #: None for the marks, which are not ranked.
    standing: Standing | None
    #: 1: significantly better than attention, −1: significantly worse, 0: no significant difference.
    beside_attention: int
    removed: Estimate
    kept: Estimate
    until_flip: Estimate
    #: None for a random order.
    flipped: Estimate | None


@dataclass(frozen=True)
class Compared:
    """The findings of the challenge ``faithfulness``, read for a ranking of explainers under one way of erasing."""

    findings: Findings
    erasure: str
    #: Explainers whose own check failed: they are shown, and attention is not compared with them.
    failed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, findings: Findings, failed: frozenset[str] = frozenset()) -> Compared | None:
        """Under the first way of erasing; None where attention is not among the explainers, or alone."""
        ways = pc.unique(findings.table["erasure"]).to_pylist()
        compared = cls(findings, ways[0], failed) if ways else None
        if compared is None or ATTENTION not in compared.names or len(compared.names) < 2 or not compared.ranking:
            return None
        return compared

    @cached_property
    def names(self) -> list[str]:
        """The explainers, without the marks."""
        found = pc.unique(self.findings.rows({"erasure": self.erasure})["explainer"]).to_pylist()
        return [name for name in found if name != MARKS]

    @cached_property
    def ways(self) -> list[str]:
        """The other ways of erasing in these findings."""
        return [way for way in pc.unique(self.findings.table["erasure"]).to_pylist() if way != self.erasure]

    def values(self, column: str, explainer: str, erasure: str = "") -> np.ndarray:
        """One number for every text, not a number where it was not judged."""
        rows = self.findings.rows({"explainer": explainer, "erasure": erasure or self.erasure})
        judged = pc.if_else(pc.is_null(rows["not_judged"]), rows[column].cast(pa.float64()), None)
        found: np.ndarray = judged.to_numpy()
        return found

    @cached_property
    def sentences(self) -> np.ndarray | None:
        """Which sentence each value is a step of, where texts are written step by step."""
        return sentences_of(self.findings.rows({"explainer": self.names[0], "erasure": self.erasure}))

    def each(self, column: str, erasure: str = "") -> dict[str, np.ndarray]:
        """The column of every explainer, and of a random order."""
        every = {name: self.values(column, name, erasure) for name in self.names}
        return every | {RANDOM: self.values(f"random_{column}", self.names[0], erasure)}

    def table(self, column: str, erasure: str = "") -> dict[str, np.ndarray]:
        """The same, text by text: the steps of a sentence are averaged."""
        return {name: by_sentence(values, self.sentences) for name, values in self.each(column, erasure).items()}

    @cached_property
    def ranking(self) -> Ranking | None:
        """By what removing the top words does; None where no text was judged for all explainers."""
        table = self.table(REMOVED)
        if np.isnan(np.stack(list(table.values()))).any(0).all():
            return None
        return rank_methods(table)

    def kind(self, name: str) -> str:
        """The marks of an explainer that has a sign, or is made of the erasure that tests it."""
        rows = self.findings.rows({"explainer": name, "erasure": self.erasure})
        return "".join(mark for column, mark in KINDS.items() if rows.num_rows and _first(rows, column))

    @property
    def others(self) -> list[str]:
        """What attention may be compared with: explainers of which no check failed."""
        return [name for name in self.names if name != ATTENTION and name not in self.failed]

    @cached_property
    def fair(self) -> list[str]:
        """The explainers that, like attention, have no sign and are not made of erasing."""
        known = set(KINDS) <= set(self.findings.table.column_names)
        return [name for name in self.others if known and not self.kind(name)]

    @property
    def against(self) -> list[str]:
        """What attention is compared with: the fair ones or, where there are none, all others."""
        return self.fair or self.others

    @property
    def few(self) -> bool:
        """Whether the texts are too few to call anything sure."""
        return self.ranking is None or self.ranking.judged < FEWEST

    @property
    def best(self) -> str:
        """The best explainer that attention is compared with."""
        assert self.ranking is not None
        return next(one.name for one in self.ranking.standings if one.name in self.against)

    @cached_property
    def beaten(self) -> float:
        """In which share of texts an explainer outdoes the search for limits."""
        return float(np.nanmean(self.values("search_beaten", self.names[0])))

    def limits(self, wording: Wording = TEXTS) -> str:
        """What 0 and 1 stand for, in words."""
        share = f"{100 * self.beaten:.0f} % of {wording.units}"
        ends = f"the least (0) to the most (1) that was found by erasing {wording.items}"
        if self.beaten > OFTEN:
            return (
                f"Relative to the methods listed, from {ends} ({self.erasure}; in {share} one of the methods outdoes "
                "the search for limits)"
            )
        outdone = f"in {share} an explainer outdoes the search for limits"
        return f"From {ends} ({self.erasure}; exact for short texts; {outdone})"

    @cached_property
    def share(self) -> Estimate:
        """Where attention lies between a random order (0) and the best that it is compared with (1)."""
        table = self.table(REMOVED)
        names = [ATTENTION, RANDOM, *self.against]
        sample = np.stack([table[name] for name in names], axis=1)
        judged = sample[~np.isnan(sample).any(1)]
        drawn = np.concatenate([judged.mean(0)[None], resampled_means(judged)])
        room = drawn[:, 2:].max(1) - drawn[:, 1]
        shares = (drawn[:, 0] - drawn[:, 1]) / np.where(room > 0, room, np.nan)
        low, high = np.quantile(shares[1:], [0.025, 0.975]) if len(judged) > 1 else (math.nan, math.nan)
        each = self.each(REMOVED)
        missing = np.isnan(np.stack([each[name] for name in names])).any(0)
        counts = int((~missing).sum()), int(missing.sum())
        return Estimate(float(shares[0]), float(low), float(high), math.nan, *counts, "bootstrap 95 %")

    @property
    def alone(self) -> Estimate:
        """What attention's order does, beside nothing: from the least (0) to the most (1) that was found."""
        return self._summed(self.values(REMOVED, ATTENTION))

    def rival(self, better: Sequence[str]) -> Rival | None:
        """The best of these, the best first, that is not made of erasing; one that is, where there is no other."""
        fit = [name for name in better if KINDS["made_of_erasure"] not in self.kind(name)] or better
        if not fit or self.ranking is None:
            return None
        best, own = (self._summed(self.values(REMOVED, name)) for name in (fit[0], ATTENTION))
        return Rival(name_in_words(fit[0], self.names), best, own, self.ranking.told_apart(fit[0], ATTENTION) > 0)

    def rows(self) -> Iterator[Row]:
        """The explainers from the best to the worst, a random order among them; marks, where there are any, last."""
        assert self.ranking is not None
        for standing in self.ranking.standings:
            apart = 0 if standing.name == ATTENTION else self.ranking.told_apart(standing.name, ATTENTION)
            yield self._row(standing.name, standing, apart)
        if len(marked := self.values(REMOVED, MARKS)) and not np.isnan(marked).all():
            yield self._row(MARKS, None, 0)

    def _row(self, name: str, standing: Standing | None, apart: int) -> Row:
        random = name == RANDOM
        removed, kept, until = (
            self._summed(self.values(f"random_{column}", self.names[0]) if random else self.values(column, name))
            for column in (REMOVED, KEPT, "until_flip")
        )
        flipped = None if random else self._summed(self.values("flipped", name), "fraction")
        words = {RANDOM: RANDOM, MARKS: "marked words"}.get(name) or name_in_words(name, self.names)
        return Row(words, "" if random else self.kind(name), standing, apart, removed, kept, until, flipped)

    def _summed(self, values: np.ndarray, statistic: str = "mean") -> Estimate:
        there = ~np.isnan(values)
        together = None if self.sentences is None else self.sentences[there]
        return summarise(values[there], len(values) - int(there.sum()), statistic, together)

    def depends(self) -> Iterator[tuple[str, Dependence]]:
        """For every other way of erasing: whether the ranking would be another one."""
        for way in self.ways:
            tables = [{k: v for k, v in self.table(REMOVED, w).items() if k != RANDOM} for w in (self.erasure, way)]
            if not np.isnan(np.stack([v for table in tables for v in table.values()])).any(0).all():
                yield way, dependence(*tables)

    def turned(self) -> Iterator[str]:
        """The same in words."""
        for way, other in () if self.few else self.depends():
            turned = "; ".join(
                f"{name_in_words(a, self.names)} before {name_in_words(b, self.names)}" for a, b in other.reversed
            )
            tau = f"(τ = {other.tau.value:.2f})"
            if turned:
                yield f"By {way} the ranking differs {tau}: it reverses {turned}."
            elif other.lost:
                yield f"By {way} no conclusion reverses {tau}, but {len(other.lost)} of them hold in one way only."
            else:
                yield f"By {way} the conclusions are the same {tau}."


def _first(rows: pa.Table, column: str) -> bool:
    return column in rows.column_names and bool(rows[column][0].as_py())
