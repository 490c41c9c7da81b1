"""A subject whose embeddings are all shifted by a constant, and whose first layer takes the shift back.

It is the same function of the words, so it decides alike for the same reasons; an explanation that changes speaks of
where the origin lies, not of the model (Kindermans et al. 2019). The paper folds the shift into the first layer's bias:
W(x − m) + b = Wx + (b − Wm). Here x − m is computed as it stands, which is the same for every encoder, also at the
borders of a convolution, where a folded bias would count a shift that zero padding does not have.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.capabilities import Replayable, required
from attentest.models.networks.signals import AnySignal
from attentest.models.subject import Reading, Subject

__all__ = ["Shifted", "shifted"]


class Shifted(Subject):
    """Another subject behind shifted embeddings."""

    def __init__(self, subject: Subject, shift: Float[Tensor, " embedding"]) -> None:
        self.subject = subject
        self.shift = shift
        self.classes = subject.classes

    @property
    def device(self) -> torch.device:
        """Where the subject computes."""
        return self.subject.device

    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """The subject's embeddings, shifted."""
        return self.subject.embed(batch) + self.shift

    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """Zero is zero; the mean and the unknown word have moved with the words."""
        own = self.subject.baseline(kind)
        return own if kind == "zero" else own + self.shift

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """What the subject reads once the shift is taken back."""
        given = self.embed(batch) if embeddings is None else embeddings
        reading = self.subject.read(batch, embeddings=given - self.shift, detach_attention=detach_attention)
        return replace(reading, embeddings=given)

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """The same as the subject's."""
        return self.subject.delete_each(batch)


class ReplayableShifted(Shifted, Replayable):
    """The same behind a subject that can be replayed."""

    def replay(self, batch: Batch, embeddings: AnySignal) -> AnySignal:
        """The shift is taken back as a bias is added."""
        return required(Replayable, self.subject, "replaying").replay(batch, embeddings.settled(-self.shift.double()))


def shifted(subject: Subject, shift: Float[Tensor, " embedding"]) -> Shifted:
    """A subject behind shifted embeddings, which can be replayed where the subject can."""
    return (ReplayableShifted if isinstance(subject, Replayable) else Shifted)(subject, shift)
