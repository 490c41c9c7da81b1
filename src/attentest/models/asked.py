"""What attention and head are asked with beside the text: nothing, or the state of a pair's second text."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float, Int, Shaped
from torch import Tensor

__all__ = ["NOTHING_ASKED", "Asked"]


@dataclass(frozen=True)
class Asked:
    """The queries of a batch."""

    #: The query of the attention: the second text's state, or the instances' random keys.
    attention: Shaped[Tensor, "batch *alternative key"] | None = None
    #: The second text's state, for heads that see it.
    head: Float[Tensor, "batch *other query"] | None = None

    @property
    def each(self) -> Asked:
        """The same queries for every one of several alternatives, or tokens, of a text."""
        attention, head = (None if query is None else query[:, None] for query in (self.attention, self.head))
        return Asked(attention, head)

    def __getitem__(self, rows: Int[Tensor, " row"]) -> Asked:
        attention, head = (None if query is None else query[rows] for query in (self.attention, self.head))
        return Asked(attention, head)


NOTHING_ASKED = Asked()
