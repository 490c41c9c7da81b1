"""Attention flow: how much can flow from the output down to a word, attention weights being the widths of pipes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import InputError
from attentest.explainers.attention.of_transformer import OfTransformer, mixed_with_itself, see_every
from attentest.explainers.explainer import Attribution
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained
from attentest.parameters import Within

__all__ = ["AttentionFlow", "flows_through"]

#: Widths are whole numbers for the algorithm: shares of this.
SCALE = 100_000_000


@dataclass(frozen=True)
class AttentionFlow(OfTransformer):
    """The maximum flow from the output's row, through ½A + ½I of every layer, to each of a word's pieces, summed.

    For transformers: each layer's attention is a set of pipes, and a word's score is the most that can flow from
    the output down to it. Exact (maximum flow) but for rounding of widths to 1e-8, whose effect is at most
    `rounding`. Slow: one flow for every piece of a word.

    Widths are rounded to 1e-8, which changes a flow by at most half of that for every pipe of a cut, and a cut has
    at most ⌈L/2⌉·T² pipes between layers. With the T pipes of the source, which are rounded down, that bounds the
    error: the certificate's ``rounding``.
    """

    name: ClassVar[str] = "attention_flow"
    summary: ClassVar[str] = "maximum flow from the output to the word, with attention weights as capacities"
    reference: ClassVar[str] = "Abnar & Zuidema 2020"
    cost: ClassVar[str] = "one forward pass and T maximum flows through L·T² pipes"
    longest: Annotated[
        int, "Texts of more pieces are refused: the time grows with the third power of their number.", Within(1, 1000)
    ] = 128

    def explain_some(
        self, model: Pretrained, batch: Batch, layout: Layout, target: Int[Tensor, " batch"]
    ) -> Attribution:
        """One network of pipes for every text."""
        if (most := int(layout.lengths.max())) > self.longest:
            raise InputError(
                f"attention_flow: a text has {most} pieces of words, and longest={self.longest}: its flows would take "
                "minutes. Leave such texts out (--max-tokens) or raise longest."
            )
        kept: list[Tensor] = []
        see_every(model, layout, lambda place, weights: kept.append(mixed_with_itself(weights)))
        pipes = torch.stack(kept, dim=1).double().cpu().numpy()
        chosen = model.site.chosen_rows(layout, pipes.shape[2]).cpu().numpy()
        flows = np.zeros((len(batch), layout.mask.shape[1]))
        for text, length in enumerate(layout.lengths.tolist()):
            flows[text, :length] = flows_through(pipes[text, :, :length, :length], chosen[text, :length])
        found = torch.from_numpy(flows).to(layout.mask.device)
        sizes, deepest = layout.lengths.double(), (pipes.shape[1] + 1) // 2
        rounding = (deepest * sizes**2 / 2 + sizes) / SCALE
        return Attribution(layout.pooled(found), {"rounding": rounding})


def flows_through(pipes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The maximum flow from the top layer's rows to each slot at the bottom; ``pipes`` is [layer, query, slot]."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    layers, size, _ = pipes.shape
    width = np.rint(pipes * SCALE).astype(np.int64)
    above = np.arange(1, layers + 1)[:, None, None] * size
    query = above + np.arange(size)[None, :, None]
    slot = above - size + np.arange(size)[None, None, :]
    source = (layers + 1) * size
    begin = [np.broadcast_to(query, width.shape).ravel(), np.full(rows.sum(), source)]
    end = [np.broadcast_to(slot, width.shape).ravel(), layers * size + rows.nonzero()[0]]
    share = np.full(rows.sum(), SCALE // max(1, rows.sum()), dtype=np.int64)
    shape = (source + 1, source + 1)
    network: Any = csr_matrix(
        (np.concatenate([width.ravel(), share]).astype(np.int32), (np.concatenate(begin), np.concatenate(end))), shape
    )
    network.eliminate_zeros()
    return np.array([maximum_flow(network, source, place).flow_value / SCALE for place in range(size)])
