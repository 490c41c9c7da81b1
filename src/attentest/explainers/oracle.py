"""The oracle: the truth that was planted in the corpus, as scores. The upper bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import NotApplicable
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.shared import Shared
from attentest.models.subject import Reading, Subject

__all__ = ["Oracle"]


@dataclass(frozen=True)
class Oracle(Explainer):
    """1 for the tokens that decide the label, 0 for the others, where the corpus's generator knows them.

    Where the corpus was generated, its generator knows which tokens decide the label, and none can point at them
    better. It explains the label, not the model. With other corpora it says that there is no planted rationale:
    human rationales are opinions.
    """

    name: ClassVar[str] = "oracle"
    summary: ClassVar[str] = "the tokens that were planted to decide the label: the upper bound"
    reference: ClassVar[str] = "—"
    cost: ClassVar[str] = "nothing"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Refused: a batch has no marks."""
        raise NotApplicable("explainer 'oracle' needs the corpus's planted rationales: use it in a challenge.")

    def explain_sharing(self, shared: Shared) -> Attribution:
        """The marks as scores, if they were planted."""
        rationale, marks = shared.rationale, shared.marks
        if rationale is None or marks != "planted":
            found = "this one has no rationales"
            if rationale is not None:
                found = f"this one's marks are {marks}" if marks else "nobody said where this one's marks come from"
            raise NotApplicable(
                f"explainer 'oracle' needs a corpus with planted rationales, and {found}. Use one such as reviews."
            )
        return Attribution((rationale & shared.reading.mask).double())
