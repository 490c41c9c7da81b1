"""The second text of a pair in the place of the first: what gradients and deletion say of the query's tokens.

A batch for this subject is swapped: its text is the network's second text. Attention does not weigh that text, so its
weights are uniform and cannot be replaced; what is explained is how the query reaches the output, through the
attention and, where the head sees it, through the head.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import NotApplicable
from attentest.models.architecture import ASPECT
from attentest.models.networks.classifier import Classifier
from attentest.models.networks.embedded import baseline_of
from attentest.models.shared_work.deletion import ROWS
from attentest.models.subject import Reading, Subject

__all__ = ["QueryReading", "SecondText"]

#: Numbers that one pass over shortened second texts may hold.
CELLS = {"cpu": 4_000_000, "cuda": 100_000_000}


@dataclass(frozen=True)
class QueryReading(Reading):
    """A reading whose tokens are not weighed by any attention."""

    @property
    def token_logits(self) -> None:
        """There are none."""
        return None

    def reread(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """Not to be had: there are no weights to replace."""
        raise NotApplicable("Attention does not weigh the second text of a pair, so no other weights apply to it.")


class SecondText(Subject):
    """A classifier of pairs, explained at its second text."""

    def __init__(self, network: Classifier) -> None:
        self.network, self.classes = network, network.classes

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return self.network.device

    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """The second text's embeddings."""
        embeddings: Tensor = self.network.second_embeddings(batch.text.tokens)
        return embeddings

    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """Of the second text's table."""
        return baseline_of(self.network.second_embeddings, kind)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """The same output. Attention is never cut from the path: it is the way the second text takes."""
        embedded = self.embed(batch) if embeddings is None else embeddings
        logits = self.network.read(batch.swapped(), second_embeddings=embedded).logits
        uniform = batch.mask.to(logits.dtype) / batch.mask.sum(-1, keepdim=True).clamp(min=1)
        return QueryReading(logits, uniform, batch.mask, embedded, embedded)

    @torch.no_grad()
    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Logits without each token of the second text: the first one is encoded once."""
        network, own = self.network, batch.swapped()
        if network.architecture.query == ASPECT:
            return self._read_without_each(batch)
        width, tokens = batch.mask.shape[1], own.mask.shape[1]
        embedded = network.embed(own)
        states = network.encoder(embedded, own.text.lengths)
        keys = network.attention.keys(states)
        room = CELLS.get(self.device.type, CELLS["cpu"])
        size = max(1, room // max(1, width * max(width, tokens) * max(keys.shape[-1], embedded.shape[-1])))
        out = []
        for some in torch.arange(len(batch), device=batch.mask.device).split(size):
            part = own[some]
            repeated = some.repeat_interleave(width)
            second = network.second_states(batch.text[some].without_each(), own[repeated], embedded[repeated])
            second = second.view(len(some), width, -1)
            may = network.candidates(part)
            queries = network.as_queries(part.keys[:, None, None], second, None if may is None else may[:, None])
            weights = network.attention.weigh(
                keys[some, None].expand(-1, width, -1, -1), part.mask[:, None], queries.attention
            )
            out.append(queries.decoded(network.head, weights @ states[some]))
        return torch.cat(out) if out else states.new_zeros(0, width, self.classes)

    def _read_without_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """The same where the first text is encoded with the second beside it: every shortened pair is read."""
        count, width = batch.mask.shape
        rows = torch.arange(count, device=batch.mask.device).repeat_interleave(width)
        pairs = replace(batch.swapped()[rows], second=batch.text.without_each())
        room = ROWS.get(self.device.type, ROWS["cpu"])
        parts = [self.network.read(pairs[start : start + room]).logits for start in range(0, len(pairs), room)]
        return torch.cat(parts).view(count, width, -1) if parts else batch.mask.new_zeros(0, width, self.classes)
