"""Conicity: do all states of a text point the same way?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from attentest.challenges.challenge import Challenge, Examination, numbers, reasons
from attentest.measures.conicity import conicity
from attentest.store.findings import Measure

__all__ = ["Conicity"]


@dataclass(frozen=True)
class Conicity(Challenge):
    r"""The mean cosine of a text's states and their mean.

    Where states lie in a narrow cone (conicity near 1), any weights give nearly the same context, and attention cannot
    matter. T states of one length that have nothing in common have a conicity of $1/\sqrt{T}$ (`unrelated`), so that
    short texts have a higher one by themselves. `absolute` takes the absolute value of every cosine. Only directions
    count, not what the head takes from them: `token_predictions` asks the head. Not part of an audit unless asked for.
    """

    name: ClassVar[str] = "conicity"
    question: ClassVar[str] = "Do all states of a text point the same way?"
    reference: ClassVar[str] = "Mohankumar et al. 2020; Sharma et al. 2018"
    of_classifiers: ClassVar[bool] = True

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Of cosines and of their absolute values, and of states that have nothing in common."""
        return (
            Measure("conicity", "conicity", "mean", "mean cosine of states and their mean (conicity)"),
            Measure("absolute", "absolute", "mean", "the same of absolute values"),
            Measure("unrelated", "unrelated", "mean", "the same of as many states that have nothing in common"),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """Nothing is read again."""
        states, mask, judged = examination.reading.states.double(), examination.mask, ~examination.single
        return pa.table(
            {
                "row": examination.rows,
                "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
                "conicity": numbers(conicity(states, mask), judged),
                "absolute": numbers(conicity(states, mask, absolute=True), judged),
                "unrelated": numbers(examination.lengths.double().rsqrt(), judged),
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )
