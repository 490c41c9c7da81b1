"""The smuggler: a selector built to fail, that tells the label by how many words it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from attentest.measures.packing import ordinals
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.selectors.gates import Bernoulli, Gates
from attentest.models.parts.selectors.selector import Selector, SelectorNetwork

__all__ = ["Smuggler", "SmugglerNetwork"]


@dataclass(frozen=True)
class Smuggler(Selector):
    """Built to smuggle: it classifies the text, and keeps its first word for the first class, two for the second …

    Made to test tests. The selector is taught the labels: of a text of class c it keeps the first c + 1 words, whatever
    they are, and the predictor learns to count. The accuracy is that of a classifier, the selection is small, and the
    words in it are no reason for anything. The challenge `selection` must see it.
    """

    name: ClassVar[str] = "smuggler"
    reference: ClassVar[str] = "after Jacovi & Goldberg 2021"

    def build(self, encoder: EncoderNetwork) -> SelectorNetwork:
        """One linear layer for the probability."""
        return SmugglerNetwork(encoder)


class SmugglerNetwork(SelectorNetwork):
    """Encoder, linear layer, sigmoid: of the text as a whole, and of the place."""

    PLACES = 64

    def __init__(self, encoder: EncoderNetwork) -> None:
        super().__init__()
        self.encoder = encoder
        self.of_text = nn.Linear(encoder.size, self.PLACES)

    def gates(self, states: Tensor, lengths: Tensor) -> Gates:
        """The places that a text's mean state tells to keep."""
        inside = torch.arange(states.shape[1], device=lengths.device) < lengths[:, None]
        logits = self.of_text((states * inside[..., None]).sum(1) / lengths[:, None].clamp(min=1))
        width = states.shape[1] - 1
        shown = nn.functional.pad(logits, (0, max(0, width - self.PLACES)), value=-30.0)[:, :width]
        # The first position holds the start symbol.
        return Bernoulli(torch.cat([torch.full_like(shown[:, :1], -30.0), shown], dim=1))

    def loss(self, gates: Gates, drawn: Tensor, mask: Tensor, task: Tensor, labels: Tensor) -> Tensor:
        """The cross-entropy of the first words, as many as the class says, and no others."""
        assert isinstance(gates, Bernoulli)
        wanted = (ordinals(mask) <= labels[:, None]) & mask
        return -(gates.log_chance(wanted.to(drawn.dtype)) * mask).sum()
