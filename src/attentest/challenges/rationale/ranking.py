"""Explainers against marked words: ranked by the area under the precision-recall curve, attention among them.

Planted marks are the truth. Marks by people make it plausibility, and how far people agree is its ceiling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.standings import ATTENTION, place
from attentest.presentation.thresholds import FEWEST
from attentest.registry import name_in_words
from attentest.statistics.ranking import Ranking, Standing, rank_methods
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, by_sentence, sentences_of, summarise
from attentest.tasks import TEXTS, Wording

__all__ = ["CEILING", "Marked", "has_ceiling"]


AREA = "auprc"

#: The columns of the table after the area; the last two, and a person's own, where it is known what each person marked.
OVERLAPS, SINGLES = ("token_f1", "iou"), ("single_token_f1", "single_iou")

CEILING = "a person (human ceiling)"


def has_ceiling(rationale: Findings) -> bool:
    """Whether some text was marked by two people or more, and what each of them marked is known."""
    column = "ceiling_single_token_f1"
    return column in rationale.table.column_names and rationale.table[column].null_count < len(rationale.table)


@dataclass(frozen=True)
class Row:
    """One explainer, or a person in its place: its standing, and how far its top words are the marked ones."""

    words: str
    #: None for a person, who marks words and does not rank them.
    standing: Standing | None
    #: 1: significantly better than attention, −1: significantly worse, 0: no significant difference.
    beside_attention: int
    area: Estimate | None
    overlaps: tuple[Estimate, ...]


@dataclass(frozen=True)
class Marked:
    """The findings of the challenge ``rationale``, read for a ranking of explainers."""

    findings: Findings

    @classmethod
    def of(cls, findings: Findings | None) -> Marked | None:
        """None where attention is not among the explainers, or alone, or no text was judged for all of them."""
        if findings is None or AREA not in findings.table.column_names:
            return None
        marked = cls(findings)
        return marked if ATTENTION in marked.names and len(marked.names) > 1 and marked.ranking else None

    @cached_property
    def names(self) -> list[str]:
        """The explainers."""
        found: list[str] = pc.unique(self.findings.table["explainer"]).to_pylist()
        return found

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns beside the area."""
        return OVERLAPS + (SINGLES if has_ceiling(self.findings) else ())

    def values(self, column: str, explainer: str) -> np.ndarray:
        """One number for every text, not a number where there is none."""
        found: np.ndarray = self.findings.rows({"explainer": explainer})[column].cast(pa.float64()).to_numpy()
        return found

    @cached_property
    def sentences(self) -> np.ndarray | None:
        """Which sentence each value is a step of, where texts are written step by step."""
        return sentences_of(self.findings.rows({"explainer": self.names[0]}))

    @cached_property
    def ranking(self) -> Ranking | None:
        """By the area under the precision-recall curve; None where no text was judged for all explainers."""
        table = {name: by_sentence(self.values(AREA, name), self.sentences) for name in self.names}
        return None if np.isnan(np.stack(list(table.values()))).any(0).all() else rank_methods(table)

    @property
    def few(self) -> bool:
        """Whether the texts are too few to call anything sure."""
        return self.ranking is None or self.ranking.judged < FEWEST

    def rows(self) -> Iterator[Row]:
        """The explainers from the best to the worst; a person, where there is a ceiling, last."""
        assert self.ranking is not None
        for standing in self.ranking.standings:
            name = standing.name
            apart = 0 if name == ATTENTION else self.ranking.told_apart(name, ATTENTION)
            area, *overlaps = (self._summed(column, name) for column in (AREA, *self.columns))
            yield Row(name_in_words(name, self.names), standing, apart, area, tuple(overlaps))
        if has_ceiling(self.findings):
            yield Row(CEILING, None, 0, None, tuple(self._summed(f"ceiling_{c}", self.names[0]) for c in self.columns))

    def _summed(self, column: str, name: str) -> Estimate:
        return self._on_the_same_texts(name, column)[0]

    def _on_the_same_texts(self, name: str, *columns: str) -> list[Estimate]:
        """Several columns over the texts that have a number in all of them."""
        values = np.stack([self.values(column, name) for column in columns])
        there = ~np.isnan(values).any(0)
        together = None if self.sentences is None else self.sentences[there]
        return [summarise(one[there], int((~there).sum()), together=together) for one in values]

    def ranked(self, wording: Wording = TEXTS) -> str:
        """Attention's place, and who is significantly better."""
        assert self.ranking is not None
        if self.few:
            return f"{self.ranking.judged} {wording.wholes} are too few to rank explainers by."
        better = [
            name_in_words(one.name, self.names)
            for one in self.ranking.standings
            if self.ranking.told_apart(one.name, ATTENTION) > 0
        ]
        who = f"significantly better: {', '.join(better)}" if better else "none is significantly better"
        own = self.ranking[ATTENTION]
        among = f"{place(own)} of {len(self.names)} explainers"
        how = f"AUPRC ({own.mean.value:.2f}; as average precision, but with linear interpolation)"
        return f"By {how} attention ranks {among}; {who}."

    def ceiling(self, wording: Wording = TEXTS) -> str:
        """How far people agree, beside attention on the same texts, in words; empty where it is not known."""
        if not has_ceiling(self.findings):
            return ""
        columns = (f"{prefix}{column}" for prefix in ("ceiling_", "") for column in SINGLES)
        person_f1, person_iou, own_f1, own_iou = self._on_the_same_texts(ATTENTION, *columns)
        words = (
            f"The human ceiling: two annotators' rationales agree with token F1 {person_f1} and IOU {person_iou}; on "
            f"the same {wording.units} attention's top {wording.items} agree with one annotator's rationale with "
            f"{own_f1.value:.3f} and {own_iou.value:.3f}. "
            f"Explainers are told how many {wording.items} to choose, and annotators were not, so an explainer may "
            "exceed the ceiling without being better."
        )
        most, merged = self._on_the_same_texts(ATTENTION, "ceiling_token_f1", "token_f1")
        if most.judged:
            words += f" With the majority rationale, another annotator agrees with token F1 {most}, attention {merged}."
        return words
