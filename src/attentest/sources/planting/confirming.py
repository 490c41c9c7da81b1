"""Whether a planted source decides what a model answers: its twin, which says otherwise, is put in its place.

A planted truth is what was written; what a model does with it is another matter. Only where exchanging the planted
sources, and nothing else, turns the model from one value to the other do they decide, and only such questions count
for hit rates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attentest.sources.case import Case
from attentest.sources.question import Planted

__all__ = ["Confirmed", "confirm"]


@dataclass(frozen=True)
class Confirmed:
    """What the intervention says of one question."""

    #: How much more probable the value is than its twin's, in log-probability: as it is, and with the twins in place.
    margin: float
    margin_exchanged: float
    #: Whether the model's own answer names the value.
    right: bool

    @property
    def decides(self) -> bool:
        """Whether the planted sources decide: the preference flips with them."""
        return self.margin > 0 > self.margin_exchanged


def confirm(case: Case, planted: Planted) -> Confirmed | None:
    """Put the twins in the planted sources' place and ask for both values; None where no source was planted."""
    if not planted.deciding:
        return None
    twins = dict(zip(planted.deciding, planted.twins, strict=True))
    prompts = [case.prompt.ids, case.exchanged(twins).ids]
    lead = _lead(case, planted.value)
    value, other = (_log_probability(case, prompts, lead, each) for each in (planted.value, planted.other))
    margin = value - other
    return Confirmed(float(margin[0]), float(margin[1]), planted.value.lower() in case.answer.text.lower())


def _lead(case: Case, value: str) -> str:
    """What the model's own answer says before it names the value, so that both values are asked for where one stood."""
    place = case.answer.text.lower().find(value.lower())
    return case.answer.text[:place] if place > 0 else ""


def _log_probability(case: Case, prompts: list[tuple[int, ...]], lead: str, value: str) -> np.ndarray:
    ids, places = case.prompter.answer(lead + value)
    own = [place for place, (_, end) in enumerate(places) if end > len(lead)]
    found = case.model.log_probabilities(prompts, ids, prefix=case.prefix).numpy()
    return np.asarray(found[:, own].sum(-1))
