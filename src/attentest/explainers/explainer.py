"""An explainer gives every token of every instance one score: how much it mattered to one class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.capabilities import lacking
from attentest.models.subject import Reading, Subject
from attentest.parameters import Checked

if TYPE_CHECKING:
    from attentest.explainers.shared import Shared

__all__ = ["Attribution", "Explainer", "margin"]


@dataclass(frozen=True)
class Attribution:
    """Scores with what can be said for their correctness, instance by instance."""

    #: One per position, zero outside the mask; positive scores speak for the target class where the method is signed.
    scores: Float[Tensor, "batch token"]
    #: Numbers that prove, or limit, the scores: the gap to completeness, the share of relevance absorbed, …
    certificate: Mapping[str, Float[Tensor, " batch"]] = field(default_factory=dict)


class Explainer(Checked, ABC):
    """A frozen description of a method; ``explain`` applies it to a batch."""

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    #: Forward and backward passes per instance of T tokens, for the documentation.
    cost: ClassVar[str]
    #: Whether scores may be negative: those speak against the target class.
    signed: ClassVar[bool] = False
    #: "tokens" or "weights", where it takes these away to see what changes, or is made of the weights themselves.
    erases: ClassVar[str] = ""
    #: Whether its scores are probabilities of being selected: those above one half are, or the most probable one.
    selects: ClassVar[bool] = False
    #: What a subject must be for the method to apply: a class, or a capability (models/capabilities.py).
    needs: ClassVar[tuple[type, ...]] = ()
    #: The numbers that it gives with its scores, by their names in the challenge ``certificates``.
    certifies: ClassVar[tuple[str, ...]] = ()
    #: What the method's certificate checks, for the documentation.
    checked: ClassVar[str] = "determinism: the same scores twice"

    def objection(self, subject: Subject) -> str | None:
        """Why this method does not apply to a subject, or None when it does."""
        return lacking(self.needs, subject) or self.further_objection(subject)

    def further_objection(self, subject: Subject) -> str | None:
        """Why it does not apply to a subject that has all it needs."""
        return None

    def has_sign(self) -> bool:
        """Whether these parameters make scores that speak for or against a class."""
        return self.signed

    def erases_as(self, erasure: str) -> bool:
        """Whether the scores come from erasing as a test does, so that they are nearly its criterion."""
        return self.erases == ("weights" if erasure == "zero_attention" else "tokens")

    @abstractmethod
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Scores for the target class (None: the predicted one); ``reading`` is the subject's of this batch."""

    def explain_sharing(self, shared: Shared) -> Attribution:
        """The same, as challenges ask for it; methods made of what ``shared`` remembers take it from there."""
        return self.explain(shared.subject, shared.batch, shared.reading, shared.target)

    def scores(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch token"]:
        """The scores alone."""
        return self.explain(subject, batch, reading, target).scores


def margin(logits: Float[Tensor, "*batch class"], target: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """log(p/(1−p)) of the target class: ranks as its probability does, and does not underflow."""
    wanted = logits.gather(-1, target[..., None])[..., 0]
    others = logits.scatter(-1, target[..., None], -torch.inf)
    return wanted - others.logsumexp(-1)
