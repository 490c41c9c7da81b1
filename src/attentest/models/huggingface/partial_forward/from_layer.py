"""Texts of a batch read once more with their attention edited, each any number of times, without the layers below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.huggingface.attending import Edit, Pass
from attentest.models.huggingface.partial_forward.layers_below import LayersBelow
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["FromLayer"]

#: Slots that one pass may hold, and outputs for all of them: a language model has one for every word of its vocabulary.
SLOTS = {"cpu": 2048, "cuda": 262_144}
OUTPUTS = {"cpu": 1 << 27, "cuda": 1 << 32}


@dataclass(eq=False)
class FromLayer:
    """Runs a model from a layer on, over copies of a batch's texts; what the layers below it gave is kept."""

    subject: Pretrained
    layout: Layout
    below: LayersBelow

    @classmethod
    @torch.no_grad()
    def of(cls, subject: Pretrained, batch: Batch, first: int, edits: Mapping[int, Edit] | None = None) -> FromLayer:
        """One pass, which may look at attentions on its way; none where nothing is to be kept."""
        layout = subject.pieces.layout(batch)
        below = LayersBelow(subject.places.stacks, first, len(layout.ids))
        if first or edits:
            subject.passed(Pass(edits=edits or {}, on_layer=below.keep), layout)
        return cls(subject, layout, below)

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

    def __call__(self, rows: Int[Tensor, " copy"], edits: Mapping[int, Edit]) -> Float[Tensor, "copy class"]:
        """The logits of these texts with attentions edited, from the first edited layer on."""
        return self.subject.passed(Pass(edits=edits, instead=self.below.of(rows), held=True), self.layout[rows])
