"""What the layers below one gave for a batch, given again to copies of its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Int
from torch import Tensor

__all__ = ["LayersBelow"]


@dataclass(eq=False)
class LayersBelow:
    """The outputs of the layers below ``first``, as one pass over so many ``texts`` gave them."""

    stacks: Sequence[str]
    first: int
    texts: int
    #: What the last of these layers gave, by stack, and what else each of them gave.
    hidden: dict[str, Tensor] = field(default_factory=dict)
    extras: dict[int, Any] = field(default_factory=dict)

    def keep(self, layer: int, given: Tensor, output: Any) -> None:
        """Keep what a layer gives, if it is one of these."""
        if layer < self.first:
            several = isinstance(output, tuple)
            self.hidden[self.stacks[layer]] = (output[0] if several else output).detach()
            self.extras[layer] = output[1:] if several else None

    def of(self, rows: Int[Tensor, " copy"], hidden: dict[str, Tensor] | None = None) -> dict[int, Any]:
        """What they give for these texts: all of a stack the same, because only the last one is heard."""
        last = hidden or {stack: value[rows] for stack, value in self.hidden.items()}

        def each(value: Any) -> Any:
            several = isinstance(value, Tensor) and value.ndim > 1 and value.shape[0] == self.texts
            return value.detach()[rows] if several else value

        return {
            layer: last[self.stacks[layer]] if more is None else (last[self.stacks[layer]], *map(each, more))
            for layer, more in self.extras.items()
        }
