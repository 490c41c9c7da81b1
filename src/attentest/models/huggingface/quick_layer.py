"""A layer of BERT's kind in few operations, where logits alone are asked for, or what it attends to is given.

The library's own layer copies much between its products. Here rows are padded once to a number that the products like,
the activation is part of a product, and attention is one operation. Where only the first row of the last layer is
heard, nothing is made of the others: a score q·(W_k h + b) is (W_kᵀ q)·h, but for what all slots of the text share, and
as weights sum to one, values are made of the states' weighted sum.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attentest.models.huggingface.attending import SeenLayer, current
from attentest.models.products import forget, linear, linear_gelu, linear_held, ordered, padded, suits, whole_rows

__all__ = ["QuickLayer", "is_quick"]

_MAPS = (
    *("attention.self.query", "attention.self.key", "attention.self.value"),
    *("attention.output.dense", "intermediate.dense", "output.dense"),
)
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
_ACTIVATION = "intermediate.intermediate_act_fn"


def is_quick(layer: nn.Module) -> bool:
    """Whether a layer has the parts of BERT's, by the names they have there, and no other weights."""
    parts = dict(layer.named_modules())
    known = [parts.get(name) for name in _MAPS], [parts.get(name) for name in _NORMS]
    weights = {id(weight) for some in known for part in some if part is not None for weight in part.parameters()}
    return (
        all(isinstance(part, nn.Linear) and part.bias is not None for part in known[0])
        and all(isinstance(part, nn.LayerNorm) for part in known[1])
        and type(parts.get(_ACTIVATION)).__name__ == "GELUActivation"
        and weights == {id(weight) for weight in layer.parameters()}
    )


class QuickLayer(SeenLayer):
    """Mixed into the class of such a layer; of a pass that asks for more than logits the library computes it."""

    attention: Any
    intermediate: Any
    output: Any

    def train(self, mode: bool = True) -> Any:
        """Weights change in training, by fused steps without a trace: none is kept in order beyond it."""
        forget(self)
        return super().train(mode)

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        """What the layer gives; of the last layer, where logits alone are asked for, its first row."""
        this = current()
        if this is None or self.training or this.rules is not None:
            return super().forward(hidden_states, *args, **kwargs)
        attended = this.given.get(self.attention.self.attentest_place)
        if this.held and attended is not None:
            return self._rest(attended.flatten(2), hidden_states)
        if this.logits_alone is None or not suits(hidden_states):
            return super().forward(hidden_states, *args, **kwargs)
        if self.attentest_layer == this.logits_alone.last:
            return self._first_row(hidden_states, this.logits_alone.real)
        return self._whole(hidden_states, this.logits_alone.real)

    def _whole(
        self, states: Float[Tensor, "text slot state"], real: Bool[Tensor, "text slot"] | None
    ) -> Float[Tensor, "text slot state"]:
        """Every row of every text."""
        own, rows = self.attention.self, states.shape[0] * states.shape[1]
        given = padded(states.reshape(rows, -1), whole_rows(rows))

        def by_head(part: nn.Linear) -> Float[Tensor, "text head slot value"]:
            made = linear(given, *_map(part))[:rows]
            return made.view(*states.shape[:2], own.num_attention_heads, -1).transpose(1, 2)

        seen = None if real is None else real[:, None, None]
        query, key, value = (by_head(part) for part in (own.query, own.key, own.value))
        found = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
        attended = padded(found.transpose(1, 2).reshape(rows, -1), len(given))
        return self._rest(attended, given)[:rows].view_as(states)

    def _first_row(
        self, states: Float[Tensor, "text slot state"], real: Bool[Tensor, "text slot"] | None
    ) -> Float[Tensor, "text 1 state"]:
        """The first row of every text."""
        own, first = self.attention.self, states[:, 0].contiguous()
        keys, values = (part.weight.unflatten(0, (own.num_attention_heads, -1)) for part in (own.key, own.value))
        query = linear(first, *_map(own.query)).unflatten(1, keys.shape[:2])
        asked = torch.einsum("the,hes->ths", query, keys) * keys.shape[1] ** -0.5
        scores = asked @ states.transpose(1, 2)
        if real is not None:
            scores = scores.masked_fill(~real[:, None], -torch.inf)
        found = torch.einsum("ths,hes->the", scores.softmax(-1) @ states, values).flatten(1)
        return self._rest(found + own.value.bias, first)[:, None]

    def _rest(
        self, attended: Float[Tensor, "*row value"], given: Float[Tensor, "*row state"]
    ) -> Float[Tensor, "*row state"]:
        """What comes after attention, each row by itself."""
        first, last = self.attention.output, self.output
        between = first.LayerNorm(linear_held(attended, *_map(first.dense)) + given)
        inner = linear_gelu(between, *_map(self.intermediate.dense))
        normed: Tensor = last.LayerNorm(linear_held(inner, *_map(last.dense)) + between)
        return normed


def _map(part: nn.Linear) -> tuple[Tensor, Tensor, Tensor | None]:
    """A linear map as products take it: weight, bias, and the weight in the order that they like."""
    return part.weight, part.bias, ordered(part)
