"""What an encoder is: a frozen description, and the network it builds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.errors import NotApplicable
from attentest.models.networks.signals import AnySignal
from attentest.parameters import Checked

__all__ = ["Encoder", "EncoderNetwork"]

#: Numbers that one pass over shortened sequences may hold.
CELLS = {"cpu": 4_000_000, "cuda": 100_000_000}


class EncoderNetwork(nn.Module, ABC):
    """Embeddings to states, padding in, padding out."""

    size: int

    @abstractmethod
    def forward(
        self, embeddings: Float[Tensor, "batch token embedding"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch token state"]:
        """One state per position; what stands in padding does not matter."""

    @torch.no_grad()
    def without_each(
        self,
        embeddings: Float[Tensor, "batch token embedding"],
        lengths: Int[Tensor, " batch"],
        onto: Float[Tensor, "state out"],
        plus: Float[Tensor, " out"],
    ) -> Float[Tensor, "batch deleted token out"]:
        """States·onto + plus of the sequence without position d, for every d (undefined at d; no gradient).

        Here every shorter sequence is encoded; an encoder that can share what stays the same does so.
        """
        count, width, size = embeddings.shape
        out = embeddings.new_zeros(count, width, width, onto.shape[1])
        if width < 2:
            return out
        every = torch.arange(width, device=embeddings.device)
        kept = every[:-1] + (every[:-1] >= every[:, None])
        # Where each token stands in the sequence without d; at d itself anything will do.
        place = (every - (every > every[:, None]).long()).clamp(max=width - 2)
        room = CELLS.get(embeddings.device.type, CELLS["cpu"]) // (width * max(size, self.size))
        for some in torch.arange(count * width, device=embeddings.device).split(max(1, room)):
            row, gap = some // width, some % width
            states = self(embeddings[row[:, None], kept[gap]], (lengths[row] - 1).clamp(min=0))
            seen = states @ onto + plus
            out[row, gap] = seen.gather(1, place[gap][..., None].expand(-1, -1, seen.shape[-1]))
        return out

    def summary(
        self,
        states: Float[Tensor, "batch token state"],
        lengths: Int[Tensor, " batch"],
        mask: Bool[Tensor, "batch token"],
    ) -> Float[Tensor, "batch state"]:
        """The whole sequence as one state, for use as a query: the mean over its real tokens."""
        total = (states * mask[..., None]).sum(1)
        return total / mask.sum(-1, keepdim=True).clamp(min=1)

    def replay(self, embeddings: AnySignal, lengths: Int[Tensor, " batch"]) -> AnySignal:
        """The states again, as a signal: what lrp and deep_lift follow."""
        raise NotApplicable(f"Encoder network {type(self).__name__} has no replay, which lrp and deep_lift need.")


class Encoder(Checked, ABC):
    """A description of an encoder."""

    name: ClassVar[str]

    @abstractmethod
    def build(self, embedding: int) -> EncoderNetwork:
        """The network, for embeddings of this size."""
