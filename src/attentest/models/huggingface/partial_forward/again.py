"""Texts of a batch read again with their attention edited, each as often as asked, without the layers below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.huggingface.attending import Edit, Pass
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["Again"]

#: Slots that one pass may hold, and outputs for all of them: a language model has one for every word of its vocabulary.
SLOTS = {"cpu": 2048, "cuda": 262_144}
OUTPUTS = {"cpu": 1 << 27, "cuda": 1 << 32}


@dataclass(eq=False)
class Again:
    """What layers below the first one that is edited gave for a batch, to run the others on any of its texts."""

    subject: Pretrained
    layout: Layout
    first: int
    #: What the last of these layers gave, by stack, and what else each of them gave.
    hidden: dict[str, Tensor] = field(default_factory=dict)
    extras: dict[int, Any] = field(default_factory=dict)

    @classmethod
    @torch.no_grad()
    def of(cls, subject: Pretrained, batch: Batch, first: int, edits: Mapping[int, Edit] | None = None) -> Again:
        """One pass, which may look at attentions on its way; none where nothing is to be kept."""
        made = cls(subject, subject.pieces.layout(batch), first)
        if first or edits:
            subject.passed(Pass(edits=edits or {}, on_layer=made._keep), made.layout)
        return made

    def _keep(self, layer: int, given: Tensor, output: Any) -> None:
        if layer < self.first:
            several = isinstance(output, tuple)
            self.hidden[self.subject.places.stacks[layer]] = output[0] if several else output
            self.extras[layer] = output[1:] if several else None

    @property
    def outputs(self) -> int:
        """The numbers that come out for every slot."""
        spoken = self.subject.answers is not None and self.subject.start is None
        size: int = self.subject.model.config.get_text_config().vocab_size if spoken else 0
        return size

    @property
    def room(self) -> int:
        """How many texts one pass may hold."""
        kind, width = self.subject.device.type, max(1, self.layout.ids.shape[1])
        slots, outputs = (most.get(kind, most["cpu"]) // width for most in (SLOTS, OUTPUTS))
        return max(1, min(slots, outputs // max(1, self.outputs)))

    def taken(self, rows: Int[Tensor, " copy"]) -> Layout:
        """The pieces of these texts, as wide as the batch."""
        of = self.layout
        return Layout(of.ids[rows], of.types[rows], of.mask[rows], of.owner[rows], of.order[rows], of.width)

    def __call__(self, rows: Int[Tensor, " copy"], edits: Mapping[int, Edit]) -> Float[Tensor, "copy class"]:
        """The logits of these texts with attentions edited, from the first edited layer on."""
        stacks, count = self.subject.places.stacks, len(self.layout.ids)

        def each(value: Any) -> Any:
            several = isinstance(value, Tensor) and value.ndim > 1 and value.shape[0] == count
            return value[rows] if several else value

        hidden = {stack: value[rows] for stack, value in self.hidden.items()}
        below = {
            layer: hidden[stacks[layer]] if more is None else (hidden[stacks[layer]], *map(each, more))
            for layer, more in self.extras.items()
        }
        return self.subject.passed(Pass(edits=edits, instead=below), self.taken(rows))
