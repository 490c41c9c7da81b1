"""Explainers against marked words: ranked by the area under the precision-recall curve, attention among them.

Planted marks are the truth. Marks by people make it plausibility, and how far people agree is its ceiling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table
from rich.text import Text

from attentest.registry import name_in_words
from attentest.report.saliency import ATTENTION, BESIDE, beside, place
from attentest.report.tables import interval_of, value_of
from attentest.report.thresholds import FEWEST, said, tone_of
from attentest.report.verdict import Line, wording_of
from attentest.statistics.ranking import Ranking, Standing, rank_methods
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate, by_sentence, estimate, sentences_of, summarise
from attentest.tasks import TEXTS, Wording

__all__ = ["CEILING", "Marked", "has_ceiling", "marks_table", "marks_terminal", "rationale_line"]

AREA = "auprc"
#: The columns of the table after the area; the last two, and a person's own, where it is known what each person marked.
OVERLAPS, SINGLES = ("token_f1", "iou"), ("single_token_f1", "single_iou")
CEILING = "a person (human ceiling)"
HEADS = {
    "token_f1": "Token F1",
    "iou": "IOU",
    "single_token_f1": "F1, one person",
    "single_iou": "IOU, one person",
}


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


def rationale_line(rationale: Findings, planted: bool, wording: Wording = TEXTS) -> Line:
    """Does attention point at marked tokens?"""
    own, chance = estimate(rationale, "attention.average_precision"), estimate(rationale, "chance")
    names = [m.where["explainer"] for m in rationale.measures if m.column == "average_precision"]
    others = [(n, estimate(rationale, f"{n}.average_precision").value) for n in names if n != ATTENTION]
    best = max(others, key=lambda pair: pair[1], default=None)
    beside = f"A random order reaches {chance.value:.2f}"
    beside += f", {name_in_words(best[0], names)} {best[1]:.2f}." if best else "."
    if (marked := Marked.of(rationale)) is not None:
        beside = " ".join(filter(None, (beside, marked.ranked(wording), "" if planted else marked.ceiling(wording))))
    if not planted:
        return Line(
            "rationale",
            f"Does attention look like {wording.marked}? (plausibility)",
            f"{own} average precision",
            f"This is plausibility, not faithfulness: {wording.marks} say nothing about the model. {beside}",
            "context",
            own,
            "setting",
            f"Matches {wording.marks}?",
        )
    deciding = f"the {wording.items} that {wording.decide}"
    words = {
        "supports": f"Attention finds {deciding}.",
        "against": f"Attention does no better than a random order at finding {deciding}.",
        "mixed": f"Attention finds {deciding} only a little better than a random order.",
    }
    tone = tone_of("precision", own, chance=chance.value)
    return Line(
        "rationale",
        f"Does attention point at {deciding}? (planted rationale)",
        f"{own} average precision",
        f"{said(words, 'precision', tone, own, wording, chance=chance.value)} {beside}",
        tone,
        own,
        "tokens",
        f"Does it find deciding {wording.items}?",
        scale="precision",
        explainers=(ATTENTION,),
        chance=chance.value,
    )


def marks_table(rationale: Findings | None, wording: Wording = TEXTS) -> dict[str, Any] | None:
    """The explainers from the best to the worst, as text."""
    marked = Marked.of(rationale)
    if marked is None:
        return None
    rows = [
        {
            "words": row.words,
            "rank": "–" if row.standing is None or marked.few else place(row.standing),
            "beside": "–"
            if row.words == ATTENTION or row.standing is None
            else beside(row.beside_attention, marked.few, wording),
            "numbers": [
                ("–", "") if one is None or not one.judged else (value_of(one, "mean"), interval_of(one, "mean"))
                for one in (row.area, *row.overlaps)
            ],
        }
        for row in marked.rows()
    ]
    return {
        "heads": [HEADS[column] for column in marked.columns],
        "rows": rows,
        "ceiling": has_ceiling(marked.findings),
    }


def marks_terminal(run: RunFolder) -> Table | None:
    """The same for the terminal, in 80 columns; None where the run did not ask."""
    name = run.named("rationale")
    wording = wording_of(run.record["fields"])
    found = marks_table(None if name is None else run.findings(name), wording)
    if found is None:
        return None
    planted = run.record["fields"]["corpus"].get("rationale") == "planted"
    title = f"Explainers against {'planted rationales' if planted else wording.marks}"
    title += "" if planted else " (plausibility, not faithfulness)"
    table = Table(
        title=title,
        caption="+ significantly better than attention, − significantly worse; others: no significant difference.",
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("Explainer", min_width=20)
    table.add_column("AUPRC, 95 % interval", no_wrap=True)
    table.add_column("Rank", no_wrap=True)
    for head in found["heads"]:
        table.add_column(head, max_width=6)
    signs = {BESIDE[1]: " +", BESIDE[-1]: " −"}
    for row in found["rows"]:
        (area, interval), *overlaps = row["numbers"]
        rank = row["rank"].replace(" to ", "–") + signs.get(row["beside"], "")
        cells = [row["words"], f"{area} {interval.replace(' ', '')}".strip(), rank, *(value for value, _ in overlaps)]
        table.add_row(*map(Text, cells), style="bold" if row["words"] == ATTENTION else None)
    return table
