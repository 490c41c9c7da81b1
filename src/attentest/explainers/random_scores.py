"""Random scores: the lower bound that every explainer should beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.measures.chance import uniforms
from attentest.models.subject import Reading, Subject
from attentest.parameters import SEEDS

__all__ = ["RandomScores"]


@dataclass(frozen=True)
class RandomScores(Explainer):
    """A number in [0, 1) for every token, from the seed, the instance and the token's place alone.

    No explainer should do worse. The numbers depend on the seed and the text alone.
    """

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "a random number: the lower bound"
    reference: ClassVar[str] = "—"
    cost: ClassVar[str] = "nothing"
    seed: Annotated[int, "Another seed, other numbers.", SEEDS] = 0

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """The model is not asked."""
        mask = reading.mask
        return Attribution(uniforms(batch.keys, 1, mask.shape[1], self.seed, self.name, mask)[:, 0])
