"""Rationale: do the scores point at the tokens that decide the label (or that people marked)?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch

from attentest.challenges.challenge import Challenge, Examination, numbers, reasons
from attentest.measures.random_order import expected_average_precision
from attentest.measures.rank import average_precision
from attentest.models.subject import Subject
from attentest.store.findings import Measure

__all__ = ["Rationale"]


@dataclass(frozen=True)
class Rationale(Challenge):
    """Average precision of every explainer's ranking against the marked tokens.

    With planted marks the generator knows which tokens decide the label. With human marks this is
    plausibility, never faithfulness.
    """

    name: ClassVar[str] = "rationale"
    question: ClassVar[str] = "Does attention point at the tokens that decide the label?"
    reference: ClassVar[str] = "DeYoung et al. 2020 (ERASER)"
    explainers: tuple[str, ...] = (
        "attention",
        "gradient",
        "leave_one_out",
        "state_erasure",
        "state_evidence",
        "gradient_state",
    )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Average precision and mass for each explainer, and what chance would give."""
        precision = [
            Measure(
                f"{e}.average_precision",
                "average_precision",
                "mean",
                f"{e}: average precision against the marked tokens",
                {"explainer": e},
            )
            for e in self.explainers
        ]
        mass = [
            Measure(f"{e}.mass", "mass", "mean", f"{e}: share of the score on marked tokens", {"explainer": e})
            for e in self.explainers
        ]
        first = {"explainer": self.explainers[0]}
        chance = Measure("chance", "chance", "mean", "average precision of a random order", first)
        return (*precision, *mass, chance)

    def objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs marks."""
        return None if has_rationale else "the corpus marks no tokens"

    def examine(self, examination: Examination) -> pa.Table:
        """One row per instance and explainer."""
        return pa.concat_tables([self._compare(examination, name) for name in self.explainers])

    def _compare(self, examination: Examination, explainer: str) -> pa.Table:
        assert examination.rationale is not None
        marked, mask = examination.rationale & examination.mask, examination.mask
        scores = examination.scores(explainer)
        share = marked.sum(-1).double() / examination.lengths.clamp(min=1)
        total = scores.sum(-1)
        mass = torch.where(total > 0, (scores * marked).sum(-1) / total, torch.nan)
        none, every = ((share == 0).cpu().numpy(), (share == 1).cpu().numpy())
        judged: np.ndarray = ~(none | every)
        return pa.table(
            {
                "row": examination.rows,
                "explainer": pa.array([explainer] * len(judged), pa.string()),
                "average_precision": numbers(average_precision(scores, marked, mask), judged),
                "mass": numbers(mass, judged),
                "chance": numbers(expected_average_precision(marked.sum(-1), examination.lengths), judged),
                "not_judged": reasons((none, "no marked token"), (every, "every token marked")),
            }
        )
