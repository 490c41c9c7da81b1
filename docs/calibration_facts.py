"""What the page on the calibration says in numbers, all computed from the table of members."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from attentest.calibration.analysis.calibrated import errors_by, single_test
from attentest.calibration.analysis.combination import RIVALS, combined_answers
from attentest.calibration.analysis.fitting import CLEAR, Errors, errors_of, fit_marks, held_out
from attentest.calibration.analysis.literature import EVIDENCE, TRUTHS, test_of
from attentest.calibration.analysis.rule import Marks
from attentest.calibration.analysis.scoring import (
    Dose,
    Fooled,
    Score,
    doses,
    fooled_by,
    order_agrees,
    redundant,
    scores,
)
from attentest.calibration.analysis.table import Table
from attentest.statistics.intervals import Interval

__all__ = ["SHOWN", "Facts", "number", "percent", "ranged", "share_of"]

#: An interval that is wider than this says nothing of an AUROC.
WIDE = 0.5


def _wide(one: Score) -> bool:
    interval = one.extremes
    return bool(interval.high - interval.low > WIDE or interval.high == interval.low)


#: Of every challenge the measures that the page shows; the file of scores has all.
SHOWN = {
    "importance": ("held", "one"),
    "agreement": ("captured", "tau"),
    "permutation": ("median_change", "flips"),
    "adversary": ("upper", "top_changed"),
    "uniform": ("change", "flipped"),
    "single_weight": ("delta_js", "only_top_flips"),
    "flip_sets": ("counted",),
    "faithfulness": (
        "comprehensiveness",
        "normalised_comprehensiveness",
        "sufficiency",
        "normalised_sufficiency",
        "until_flip",
    ),
    "soft_faithfulness": ("soft_comprehensiveness", "soft_sufficiency"),
    "rationale": ("average_precision",),
    "random_weights": ("flips",),
    "gating": ("query_flipped",),
    "randomisation": ("spearman",),
    "input_invariance": ("spearman",),
    "knockout": ("captured",),
}


def shown(measure: str) -> bool:
    """Whether the page shows a measure."""
    challenge, *parts = measure.split(".")
    return bool(test_of(measure)[1]) and any(part in SHOWN.get(challenge, ()) for part in parts)


def number(value: float, digits: int = 2) -> str:
    """As papers print what lies between −1 and 1: .93."""
    if math.isnan(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) else ""
    return sign + (text[1:] if text.startswith("0") else text)


def ranged(interval: Interval) -> str:
    """.93 [.88, .97]."""
    if math.isnan(interval.value):
        return "–"
    return f"{number(interval.value)} [{number(interval.low)}, {number(interval.high)}]"


def percent(value: float) -> str:
    """A share in per cent."""
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def share_of(counted: tuple[int, int, Interval]) -> str:
    """3 of 120, 2 % [1, 8]."""
    hits, size, share = counted
    if not size:
        return "none to judge"
    return f"{hits} of {size}: {percent(share.value)} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


@dataclass(frozen=True)
class Facts:
    """All that the page and its figures say."""

    whole: Table

    @cached_property
    def table(self) -> Table:
        """The members that count."""
        return self.whole.counted()

    @property
    def left_out(self) -> int:
        """Members that have not learnt their task."""
        return len(self.whole) - len(self.table)

    @cached_property
    def mechanisms(self) -> list[str]:
        return sorted(set(self.table.names("mechanism").tolist()))

    @cached_property
    def cells(self) -> int:
        return len(set(zip(self.table.names("mechanism"), self.table.names("world"), strict=True)))

    @cached_property
    def kinds_of_world(self) -> list[str]:
        return sorted(set(self.table.kinds_of_world.tolist()))

    @cached_property
    def families(self) -> list[dict[str, Any]]:
        """Of every family its members, mechanisms, cells, and how true they are about words."""
        rows = []
        for family in sorted(set(self.table.names("family").tolist())):
            own = self.table.where(self.table.names("family") == family)
            truth = own.truth("words")
            rows.append(
                {
                    "name": family,
                    "members": len(own),
                    "mechanisms": len(set(own.names("mechanism").tolist())),
                    "cells": len(set(zip(own.names("mechanism"), own.names("world"), strict=True))),
                    "faithful": int((truth >= CLEAR[1]).sum()),
                    "between": int(((truth > CLEAR[0]) & (truth < CLEAR[1])).sum()),
                    "unfaithful": int((truth <= CLEAR[0]).sum()),
                }
            )
        return rows

    def span(self, column: str) -> tuple[float, float]:
        """The least and the most of a column."""
        values = self.table.column(column)
        return float(np.nanmin(values)), float(np.nanmax(values))

    @cached_property
    def truths(self) -> dict[str, dict[str, int]]:
        """How many clear members each truth has."""
        found = {}
        for name in TRUTHS.values():
            truth = self.table.truth(name)
            found[name] = {
                "faithful": int((truth >= CLEAR[1]).sum()),
                "between": int(((truth > CLEAR[0]) & (truth < CLEAR[1])).sum()),
                "unfaithful": int((truth <= CLEAR[0]).sum()),
            }
        return found

    @cached_property
    def marks(self) -> dict[str, Marks]:
        return {use: fit_marks(self.table.evidence(use)) for use in EVIDENCE} | {
            "text": fit_marks(self.table.text_evidence())
        }

    @cached_property
    def errors(self) -> dict[str, dict[str, Errors]]:
        """By what is left out, and by use."""
        return {groups: errors_by(self.table, groups) for groups in ("mechanism", "carrier", "world")}

    @cached_property
    def thorough(self) -> dict[str, Errors]:
        """Of *reason* in a thorough audit, by what is left out."""
        return {groups: errors_by(self.table, groups, thorough=True)["reason"] for groups in ("mechanism", "world")}

    @cached_property
    def edits(self) -> list[dict[str, Any]]:
        """Models whose texts people edited, a row each; none where that was not measured."""
        file = Path(__file__).parent / "calibration" / "edits.csv"
        return list(pandas.read_csv(file).to_dict("records")) if file.is_file() else []

    @cached_property
    def wrong_mechanisms(self) -> dict[str, list[tuple[str, int]]]:
        """Of every use the mechanisms that got wrong answers, and how many."""
        found = {}
        for use in EVIDENCE:
            evidence = self.table.evidence(use)
            said = held_out(evidence, evidence.mechanism)
            wrong = (said == "yes") & evidence.unfaithful | (said == "no") & evidence.faithful
            found[use] = Counter(evidence.mechanism[wrong].tolist()).most_common()
        return found

    def meets(self, use: str, groups: str = "mechanism") -> bool:
        """Whether the aims are met: wrong at most 5 % each way, abstaining at most 20 %."""
        errors = self.errors[groups][use]
        return all(
            size > 0 and share.value <= most
            for (_, size, share), most in ((errors.yes, 0.05), (errors.no, 0.05), (errors.abstain, 0.2))
        )

    @cached_property
    def scores(self) -> dict[str, list[Score]]:
        """By truth, all tests that a paper gives a direction, best first."""
        tests = [measure for measure in self.table.measures if test_of(measure)[1]]
        return {truth: scores(self.table, truth, tests) for truth in TRUTHS.values()}

    def score(self, measure: str, truth: str) -> Score | None:
        return next((one for one in self.scores[truth] if one.measure == measure), None)

    def shown_scores(self, truth: str) -> list[Score]:
        return [one for one in self.scores[truth] if shown(one.measure)]

    def best_other(self, truth: str) -> Score:
        """The best test that is not of the challenge that decides, and that enough mechanisms were put to."""
        others = [one for one in self.scores[truth] if not one.measure.startswith("importance.")]
        return next(one for one in others if one.extremes.high - one.extremes.low < WIDE)

    @cached_property
    def unfaithful(self) -> dict[str, int]:
        """Of clearly unfaithful models about words: how many were written by hand, trained so, or learned it."""
        rows = self.table.truth("words") <= CLEAR[0]
        mechanism, family = self.table.names("mechanism")[rows], self.table.names("family")[rows]
        uniform = np.array([name.endswith("uniform") for name in mechanism]) & (family == "trained")
        learned = (family == "trained") & ~uniform
        return {
            "all": int(rows.sum()),
            "by_hand": int(rows.sum() - uniform.sum() - learned.sum()),
            "uniform": int(uniform.sum()),
            "learned": int(learned.sum()),
        }

    @cached_property
    def all_yes(self) -> tuple[int, int]:
        """Of all members that got a *yes* for *reason*, mechanisms left out: how many have a truth below clear."""
        evidence = self.table.evidence("reason")
        given = held_out(evidence, evidence.mechanism) == "yes"
        return int((given & (evidence.truth < CLEAR[1])).sum()), int(given.sum())

    @cached_property
    def too_few(self) -> dict[str, list[Score]]:
        """Tests of which the interval says nothing: too few mechanisms of one side were put to them."""
        return {truth: [one for one in self.shown_scores(truth) if _wide(one)] for truth in TRUTHS.values()}

    @cached_property
    def near_chance(self) -> dict[str, list[Score]]:
        return {
            truth: [one for one in self.shown_scores(truth) if one.near_chance and not _wide(one)]
            for truth in TRUTHS.values()
        }

    @cached_property
    def below_chance(self) -> dict[str, list[Score]]:
        """Tests that point the wrong way."""
        return {
            truth: [one for one in self.shown_scores(truth) if one.extremes.high < 0.5] for truth in TRUTHS.values()
        }

    @cached_property
    def doses(self) -> dict[str, dict[str, Dose]]:
        return {
            truth: {one.measure: doses(self.table, one.measure, truth) for one in self.shown_scores(truth)}
            for truth in TRUTHS.values()
        }

    @cached_property
    def fooled(self) -> dict[str, list[Fooled]]:
        """Of every shown test the mechanisms that fool it about words."""
        return {one.measure: fooled_by(self.table, one.measure, "words") for one in self.shown_scores("words")}

    @cached_property
    def redundant(self) -> list[list[str]]:
        return redundant(self.table, [one.measure for one in self.shown_scores("words")])

    @cached_property
    def transfer(self) -> tuple[float, int, int]:
        """ρ of the order of tests in generated worlds and on planted shortcuts, over how many tests and members."""
        planted = self.table.names("family") == "planted"
        if not planted.any():
            return math.nan, 0, 0
        tests = [one.measure for one in self.shown_scores("words")]
        generated, real = (scores(self.table.where(rows), "words", tests) for rows in (~planted, planted))
        return *order_agrees(generated, real), int(planted.sum())

    @cached_property
    def rivals(self) -> list[tuple[str, Errors]]:
        """Errors for *reason* of the rule, of a combination, and of the best single tests that are not in the rule."""
        rule = self.table.evidence("reason")
        measures = (*EVIDENCE["reason"], *(name for name in RIVALS if name in self.table.measures))
        found = [
            ("the rule", errors_of(rule, held_out(rule, rule.mechanism))),
            (
                f"logistic regression, {len(measures)} tests",
                errors_of(*combined_answers(self.table, "reason", measures)),
            ),
        ]
        singles = [one.measure for one in self.shown_scores("words") if not one.measure.startswith("importance.")]
        return found + [(f"`{name}`", errors_of(*single_test(self.table, "reason", name))) for name in singles[:6]]

    @cached_property
    def explainers(self) -> list[tuple[str, float, int]]:
        """Every explainer: how much of the true mass its top units hold, cells alike, and over how many members."""
        names = [name for name in self.table.frame.columns if name.startswith("explainer ")]
        cells = self.table.frame["mechanism"] + "\n" + self.table.frame["world"]
        found = []
        for name in names:
            values = self.table.frame[name]
            means = values.groupby(cells).mean().dropna()
            found.append((name.removeprefix("explainer "), float(means.mean()), int(values.notna().sum())))
        return sorted(found, key=lambda one: -one[1])
