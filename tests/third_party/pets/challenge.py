"""Half uniform: how far does the prediction move when weights go half of the way to uniform ones?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa

from attentest.challenges.challenge import Challenge, Examination, reasons
from attentest.store.findings import Measure


@dataclass(frozen=True)
class HalfUniform(Challenge):
    """The mean of the model's weights and of uniform ones takes their place.

    Where predictions hardly move, half of the attention is enough.
    """

    name: ClassVar[str] = "half_uniform"
    question: ClassVar[str] = "Does the prediction move under weights half of the way to uniform ones?"
    reference: ClassVar[str] = "—"
    share: Annotated[float, "How far the weights go towards uniform ones."] = 0.5

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How far."""
        return (Measure("moved", "moved", "mean", "total variation distance, weights half uniform"),)

    def examine(self, examination: Examination) -> pa.Table:
        """One rereading."""
        reading, mask = examination.reading, examination.batch.mask
        half = (1 - self.share) * examination.weights + self.share * mask / mask.sum(-1, keepdim=True)
        other = reading.reread(half[:, None])[:, 0].softmax(-1)
        moved = (other - reading.logits.softmax(-1)).abs().sum(-1) / 2
        judged = ~examination.single
        return pa.table(
            {
                "row": examination.rows,
                "moved": [value if told else None for value, told in zip(moved.tolist(), judged.tolist(), strict=True)],
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )
