"""Input invariance: does an explanation stay the same when the origin of the embeddings is moved?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.oracle import Oracle
from attentest.explainers.precomputed import Precomputed
from attentest.measures.rank import spearman
from attentest.models.subject import Reading
from attentest.models.wrappers.shifted import Shifted, shifted
from attentest.parameters import Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure

__all__ = ["InputInvariance"]


@dataclass(frozen=True)
class InputInvariance(Challenge):
    """All embeddings are shifted by a constant and the first layer takes the shift back, so the model is the same.

    All embeddings are moved by the same vector, and the first layer takes it back, so the model is the same
    function of the words. An explanation of the model should not change. Attention, plain gradients and deletion do
    not; products with the input and methods with a baseline of zeros do, because they depend on where the origin of
    the embeddings lies. It tests explainers, not attention.
    """

    name: ClassVar[str] = "input_invariance"
    question: ClassVar[str] = "Do explanations stay the same when the embeddings' origin is moved and the model is not?"
    reference: ClassVar[str] = "Kindermans et al. 2019"
    explainers: Annotated[tuple[str, ...], "The explainers that are asked twice.", Several()] = (
        "attention",
        "gradient",
        "gradient_norm",
        "gradient_x_input",
        "integrated_gradients",
        "lrp",
        "occlusion",
        "leave_one_out",
    )
    shift: Annotated[float, "What is added to every number of every embedding.", Within(-1e6, 1e6, without=(0,))] = 1.0
    tolerance: Annotated[
        float,
        "Scores are the same when none changes by more than this share of the text's largest.",
        Within(0, 1e6, without=(0,)),
    ] = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        for explainer in self.explainers:
            if isinstance(EXPLAINERS.parse(explainer), Oracle | Precomputed):
                raise InputError(
                    f"input_invariance: explainer {explainer!r} looks at no model: it cannot be asked again."
                )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How often scores stay, and how alike they are where they do not."""
        return tuple(
            Measure(f"{e}.{column}", column, statistic, f"{called}: {words}", {"explainer": e})  # type: ignore[arg-type]
            for e, called in ((e, name_in_words(e, self.explainers)) for e in self.explainers)
            for column, statistic, words in (
                ("invariant", "fraction", f"share of instances whose scores stay within {self.tolerance:.0%}"),
                ("spearman", "mean", "Spearman ρ of the scores before and after the shift"),
                ("top_changed", "fraction", "share of instances whose top token becomes another one"),
            )
        )

    def examine(self, examination: Examination) -> pa.Table:
        """One row per instance and explainer."""
        subject = examination.subject
        with torch.no_grad():
            twin = shifted(subject, torch.full_like(subject.baseline("zero"), self.shift))
            reading = twin.read(examination.batch)
        return pa.concat_tables([self._compare(examination, name, twin, reading) for name in self.explainers])

    def _compare(self, examination: Examination, explainer: str, twin: Shifted, reading: Reading) -> pa.Table:
        batch, mask = examination.batch, examination.mask
        own = examination.scores(explainer)
        method = EXPLAINERS.parse(explainer)
        other = reading.pooled(method.scores(twin, batch, reading, examination.reading.predicted).double())
        scale = own.abs().amax(-1)
        change = (own - other).abs().amax(-1) / scale
        single, constant = examination.single, (scale == 0).cpu().numpy()
        judged = ~(single | constant)
        moved = (reading.logits - examination.reading.logits).abs().amax(-1)
        return pa.table(
            {
                "row": examination.rows,
                "explainer": pa.array([explainer] * len(batch), pa.string()),
                "largest_change": numbers(change, judged),
                "invariant": flags(change <= self.tolerance, judged),
                "spearman": numbers(spearman(own, other, mask), judged),
                "top_changed": flags(_top(own, mask) != _top(other, mask), judged),
                "output_change": numbers(moved),
                "not_judged": reasons((single, "fewer than two tokens"), (constant, "all scores are zero")),
            }
        )


def _top(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).argmax(-1)
