"""The network that selects: embedding → selector → the words it keeps → encoder → attention → head.

What is not selected is gone, as if it had never been written: the predictor (encoder, attention and head) is given the
selected words one after the other, between start and end symbols. So a selection *is* the input of the prediction, and
which places it has in the text shows only in the order of its words. Words that are not selected have no state: zeros
stand in its place, and no weight.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.measures.packing import positions
from attentest.models.capabilities import Replayable, Selects
from attentest.models.networks.embedded import EmbeddedNetwork
from attentest.models.networks.signals import AnySignal
from attentest.models.parts.attention import AttentionNetwork
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.heads import HeadNetwork
from attentest.models.parts.selectors.gates import Gates
from attentest.models.parts.selectors.selector import SelectorNetwork
from attentest.models.shared_work.deletion import encoded_without_each
from attentest.models.subject import AffineReading, DecodedReading, Reading

__all__ = ["Drawn", "Selecting", "selected"]


@dataclass(frozen=True)
class Drawn(Reading):
    """A reading under gates that were drawn, for training: what it says, and the draw."""

    said: Reading
    gates: Gates
    drawn: Float[Tensor, "batch token"]

    @property
    def token_logits(self) -> Tensor | None:
        """Those of the reading."""
        return self.said.token_logits

    def reread(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """Under this draw."""
        return self.said.reread(weights)


@dataclass(frozen=True)
class Kept:
    """Texts of which some words are left: where each position of the shorter texts was."""

    order: Int[Tensor, "batch short"]
    lengths: Int[Tensor, " batch"]
    #: Which positions of the shorter texts are words; where none is left, the start symbol stands for one.
    mask: Bool[Tensor, "batch short"]
    #: The same, without such start symbols.
    words: Bool[Tensor, "batch short"]

    @classmethod
    def of(cls, batch: Batch, kept: Bool[Tensor, "batch token"]) -> Kept:
        """Start and end symbols always stay."""
        inside = torch.arange(batch.mask.shape[1], device=kept.device) < batch.text.lengths[:, None]
        left = (kept & batch.mask) | (inside & ~batch.mask)
        lengths = left.sum(-1)
        order = positions(left)[:, : max(1, int(lengths.max())) if len(left) else 1]
        words = (kept & batch.mask).gather(1, order)
        first = torch.arange(order.shape[1], device=order.device) == 0
        return cls(order, lengths, words | (first & ~words.any(-1, keepdim=True)), words)

    def shortened(self, values: Float[Tensor, "batch token size"]) -> Float[Tensor, "batch short size"]:
        """What stands at the positions that are left."""
        return values.gather(1, self.order[..., None].expand(-1, -1, values.shape[-1]))

    def placed(self, values: Float[Tensor, "batch short size"], width: int) -> Float[Tensor, "batch token size"]:
        """Values of the words that are left at their old positions, zeros elsewhere."""
        out = values.new_zeros(len(values), width, values.shape[-1])
        return out.scatter(1, self.order[..., None].expand_as(values), values * self.words[..., None])


class Selecting(EmbeddedNetwork, Selects, Replayable):
    """A classifier of single texts that reads the words which its selector keeps, and no others."""

    selector: SelectorNetwork
    encoder: EncoderNetwork
    attention: AttentionNetwork
    head: HeadNetwork

    @property
    def order(self) -> tuple[str, ...]:
        """From below."""
        return ("embedding", "selector", "encoder", "attention", "head")

    def _new_above(self, part: str) -> nn.Module:
        made = self.architecture
        if part == "encoder":
            return made.encoder.build(made.embedding)
        if part == "selector":
            assert made.selector is not None
            return made.selector.build(made.encoder.build(made.embedding))
        return made.attention.build(self.encoder.size) if part == "attention" else self._new_head(self.encoder.size)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Those of the attention."""
        return self.attention.parameters()

    def forward(self, batch: Batch) -> Reading:
        """Under gates that are drawn: the predictor is given the words whose gate is not zero, times their gates."""
        embedded = self.embed(batch)
        gates = self.selector(embedded, batch.text.lengths)
        drawn = gates.drawn() * batch.mask
        said = self.under(batch, embedded, embedded * torch.where(batch.mask, drawn, 1.0)[..., None], drawn > 0)
        return Drawn(said.logits, said.weights, said.mask, said.states, embedded, said, gates, drawn)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """Select, encode what is selected, attend to it, decode."""
        embedded = self.embed(batch) if embeddings is None else embeddings
        return self.under(batch, embedded, embedded, self._chosen(batch, embedded), detach_attention)

    def kept(self, batch: Batch) -> Float[Tensor, "batch token"]:
        """P(gate ≠ 0) of every word."""
        kept: Tensor = self.selector(self.embed(batch), batch.text.lengths).kept
        return kept * batch.mask

    def given(self, batch: Batch, chosen: Bool[Tensor, "batch token"]) -> Reading:
        """The predictor alone."""
        embedded = self.embed(batch)
        return self.under(batch, embedded, embedded, chosen)

    def _chosen(self, batch: Batch, embeddings: Tensor) -> Bool[Tensor, "batch token"]:
        with torch.no_grad():
            kept: Tensor = self.selector(embeddings.detach(), batch.text.lengths).kept
        return selected(kept, batch.mask)

    def under(
        self,
        batch: Batch,
        embedded: Tensor,
        gated: Float[Tensor, "batch position embedding"],
        chosen: Bool[Tensor, "batch token"],
        detach_attention: bool = False,
    ) -> Reading:
        """What the predictor says of the chosen words, as they are in ``gated``."""
        kept, head = Kept.of(batch, chosen), self.head
        short = self.encoder(kept.shortened(gated), kept.lengths)
        weights = self.attention(short, kept.mask, self._asked(batch))
        if detach_attention:
            weights = weights.detach()
        width = batch.mask.shape[1]
        states, full = kept.placed(short, width), kept.placed(weights[..., None], width)[..., 0]
        # From the states that are shown, so that gradients can be taken there; the rest is of texts without words.
        nothing = ((weights * (kept.mask & ~kept.words))[:, None] @ short)[:, 0]
        logits = head((full[:, None] @ states)[:, 0] + nothing)
        if head.affine:
            return AffineReading(logits, full, batch.mask, states, embedded, head(states))
        return DecodedReading(logits, full, batch.mask, states, embedded, head)

    def _asked(self, batch: Batch) -> Int[Tensor, "batch key"] | None:
        return batch.keys[:, None] if self.attention.asks_the_instance else None

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Logits without each token, of which the selector then selects anew."""
        return encoded_without_each(self, batch)

    def replay(self, batch: Batch, embeddings: AnySignal) -> AnySignal:
        """The predictor's; the selection is held."""
        kept = Kept.of(batch, self._chosen(batch, embeddings.value.to(next(self.parameters()).dtype)))
        states = copy.deepcopy(self.encoder).double().replay(embeddings.map(kept.shortened), kept.lengths)
        weights = copy.deepcopy(self.attention).double().replay(states, kept.mask, self._asked(batch))
        context = states.gated(weights, lambda a, h: (a[:, None] @ h)[:, 0]).settled()
        return copy.deepcopy(self.head).double().replay(context)

    @property
    def parts(self) -> tuple[str, ...]:
        """Head, attention and encoder unless they learn nothing, selector, embeddings."""
        learnt = [name for name in ("attention", "encoder") if any(p.requires_grad for p in self._of(name))]
        return ("head", *learnt, "selector", "embedding")

    def _of(self, part: str) -> Iterable[nn.Parameter]:
        module: nn.Module = getattr(self, part)
        return module.parameters()


def selected(kept: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Bool[Tensor, "batch token"]:
    """The words above one half; of a text without any, the first of the most probable, so that none is left empty."""
    there = torch.where(mask, kept, -1.0)
    most = torch.zeros_like(mask).scatter(1, there.argmax(-1, keepdim=True), True) & mask
    above = (there > 0.5) & mask
    return above | (most & ~above.any(-1, keepdim=True))
