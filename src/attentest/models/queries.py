"""The queries of attention and head: none, a text's own summary, or a second text's; and the classes to choose from."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from attentest.models.networks.signals import AnySignal
from attentest.models.parts.heads import HeadNetwork

__all__ = ["NO_CANDIDATE", "NO_QUERIES", "Queries"]

#: The logit of a class that may not be chosen, whatever is weighed: finite, so that affine heads stay affine.
NO_CANDIDATE = -1e4


@dataclass(frozen=True)
class Queries:
    """The queries of a batch."""

    #: The query of the attention: the second text's state, the text's own, or the instances' random keys.
    attention: Shaped[Tensor, "batch *alternative key"] | None = None
    #: The second text's state, for heads that see it.
    head: Float[Tensor, "batch *other query"] | None = None
    #: The classes that may be chosen; None: any.
    candidates: Bool[Tensor, "batch *either class"] | None = None

    @property
    def each(self) -> Queries:
        """The same queries for every one of several alternatives, or tokens, of a text."""
        return Queries(*(None if one is None else one[:, None] for one in (self.attention, self.head, self.candidates)))

    def __getitem__(self, rows: Int[Tensor, " row"]) -> Queries:
        return Queries(*(None if one is None else one[rows] for one in (self.attention, self.head, self.candidates)))

    def decoded(self, head: HeadNetwork, context: Float[Tensor, "*batch state"]) -> Float[Tensor, "*batch class"]:
        """A head's logits of contexts, those that may not be chosen far below all others."""
        return self.answered(head(context, self.head))

    def answered(self, logits: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch class"]:
        """Logits, those of classes that may not be chosen far below all others."""
        return logits if self.candidates is None else logits.masked_fill(~self.candidates, NO_CANDIDATE)

    def replayed(self, head: HeadNetwork, context: AnySignal) -> AnySignal:
        """The same as a signal in double precision: what lrp and deep_lift follow."""
        logits = head.replay(context, None if self.head is None else self.head.double())
        if self.candidates is None:
            return logits
        may = self.candidates.double()
        return logits.map(lambda z: z * may).settled(NO_CANDIDATE * (1 - may))


NO_QUERIES = Queries()
