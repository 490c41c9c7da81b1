"""How this paper alone is compared: how far an adversary goes that costs no more than another seed does."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow.compute as pc

from attentest.papers.evidence import Evidence, Group
from attentest.papers.own import Own
from attentest.papers.rules import MeasureRule
from attentest.statistics.resampling import Sample, reach

__all__ = ["OWN"]

#: What tells the points of the curve apart, what each gains, and what it costs; and what another seed costs.
POINT, GAIN, COST = "weight", "jsd", "tvd"
SEED: Final = MeasureRule("TVD of another seed", challenge="seed_variance", measure="prediction_tvd")


def reached(evidence: Evidence, group: Group, rule: MeasureRule, label: str) -> Sample | str | None:
    """The largest mean JSD among the points of the curve over λ whose mean TVD is at most that between seeds."""
    if not group.has(SEED.challenge):
        return f"its runs have no finished {SEED.challenge}"
    curve = []
    along = evidence.table(group.cells[0].folder, rule.challenge, (POINT,))[POINT]
    for point in pc.unique(along).to_pylist():
        gain, cost = (
            evidence.sample(group, replace(rule, column=column), label, only={POINT: point}) for column in (GAIN, COST)
        )
        if gain is not None and cost is not None:
            curve.append((gain, cost))
    bound = evidence.sample(group, SEED, label)
    return None if bound is None or not curve else reach(curve, bound)


OWN = Own(measures={"adversary_reach": reached})
