"""The one attention function that every layer of a Transformers model calls, and what one pass asks of it.

Transformers looks its attention up by name. The function here is registered under ours, computes what the library's
own does, and asks the pass that is under way whether anything is to be read or overwritten. A pass belongs to its
thread and ends with it, so replacing attention is never a mode of the model.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.overrides import handle_torch_function

from attentest.models.huggingface.rules import Rules, activated
from attentest.models.products import linear, linear_held

__all__ = [
    "NAME",
    "Edit",
    "LogitsAlone",
    "Pass",
    "SeenActivation",
    "SeenEmbedding",
    "SeenLayer",
    "SeenLinear",
    "current",
    "register",
    "under_way",
]

#: What Transformers knows the function by.
NAME = "attentest"

#: Weights, values and which keys each query may see, to the weights and values that are used.
Edit = Callable[
    [Float[Tensor, "batch head query key"], Float[Tensor, "batch head key value"], Bool[Tensor, "#batch #query key"]],
    tuple[Float[Tensor, "batch head query key"], Float[Tensor, "batch head key value"]],
]


class LogitsAlone(NamedTuple):
    """Nothing but logits is asked for, and they depend on the first row of the last layer alone."""

    #: Which slots are real; None: all are.
    real: Bool[Tensor, "batch slot"] | None
    #: The number of the last layer.
    last: int


@dataclass(eq=False)
class Pass:
    """One forward pass: what is given in place of what the model would compute, and what is noted on the way."""

    #: What is done to the attention at a place.
    edits: Mapping[int, Edit] = field(default_factory=dict)
    #: What an attention gives, in place of computing it.
    given: Mapping[int, Float[Tensor, "batch query head value"]] = field(default_factory=dict)
    #: What a layer gives, in place of computing it.
    instead: Mapping[int, Any] = field(default_factory=dict)
    #: The input embeddings, in place of those of the words.
    embeddings: Float[Tensor, "batch slot embedding"] | None = None
    #: Whether every attention is cut from the gradient's path.
    detach: bool = False
    #: Told what each layer is given and gives.
    on_layer: Callable[[int, Tensor, Any], None] | None = None
    #: Told of each attention: its module, the shapes of queries and keys.
    on_attention: Callable[[nn.Module, Tensor, Tensor], None] | None = None
    #: Told what each attention gives.
    on_output: Callable[[int, Tensor], None] | None = None
    #: By which rules gradients become relevance; None: they stay gradients.
    rules: Rules | None = None
    #: Whether it is for the logits alone; what is asked beside them is then not told.
    logits_alone: LogitsAlone | None = None
    #: Whether the model's weights are held: no gradient is wanted at them.
    held: bool = False


_THREAD = threading.local()


def current() -> Pass | None:
    """The pass under way in this thread."""
    return getattr(_THREAD, "current", None)


@contextlib.contextmanager
def under_way(this: Pass) -> Iterator[Pass]:
    """This pass is under way, in this thread alone."""
    before = current()
    _THREAD.current = this
    try:
        with this.rules or contextlib.nullcontext():
            yield this
    finally:
        _THREAD.current = before


def register() -> None:
    """Make the function and its mask known to Transformers."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, eager_mask)


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    position_bias: Tensor | None = None,
    softcap: float | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention as the library computes it, with what the pass under way does to it."""
    this, place = current() or Pass(), getattr(module, "attentest_place", -1)
    if this.on_attention is not None:
        this.on_attention(module, query, key)
    if place in this.given:
        return this.given[place], None
    if key.shape[1] != query.shape[1]:
        shared = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    for added in (position_bias, attention_mask):
        if added is not None:
            scores = scores + added
    exact = torch.float32 if scores.dtype in (torch.float16, torch.bfloat16) else scores.dtype
    weights = scores.softmax(-1, dtype=exact).to(value.dtype)
    if this.detach:
        weights = weights.detach()
    if place in this.edits:
        weights, value = this.edits[place](weights, value, _allowed(attention_mask, weights))
    weights = nn.functional.dropout(weights, dropout, training=module.training)
    output = (weights @ value).transpose(1, 2).contiguous()
    if this.on_output is not None:
        this.on_output(place, output)
    return output, None


def _allowed(mask: Tensor | None, weights: Tensor) -> Bool[Tensor, "#batch #query key"]:
    """Which keys each query may see; the library's masks are very low numbers that are added to the scores."""
    if mask is None:
        return torch.ones(1, 1, weights.shape[-1], dtype=torch.bool, device=weights.device)
    return mask[:, 0] > torch.finfo(mask.dtype).min / 2


class SeenLayer(nn.Module):
    """Mixed into a layer's class: the pass under way may note what it does, or give its result."""

    attentest_layer: int

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        """What the layer gives, or what the pass gives in its place."""
        this = current()
        if this is not None and self.attentest_layer in this.instead:
            return this.instead[self.attentest_layer]
        output = super().forward(hidden_states, *args, **kwargs)
        if this is not None and this.on_layer is not None:
            this.on_layer(self.attentest_layer, hidden_states, output)
        return output


class SeenEmbedding(nn.Module):
    """Mixed into the class of the input embeddings: the pass under way may give them, once."""

    def forward(self, words: Tensor) -> Any:
        """The words' embeddings, or what the pass gives in their place."""
        this = current()
        if this is not None and this.embeddings is not None:
            given, this.embeddings = this.embeddings, None
            return given
        return super().forward(words)


class SeenLinear(nn.Linear):
    """Mixed into the class of a linear layer: a quick product, the weights held where the pass under way says so."""

    def forward(self, given: Tensor) -> Tensor:
        """The same map."""
        this = current()
        product = linear_held if this is not None and this.held and this.rules is None else linear
        return product(given, self.weight, self.bias)


class SeenActivation(nn.Module):
    """Mixed into the class of an activation, so that rules see it whole, not as the products it is computed by."""

    def forward(self, given: Tensor) -> Any:
        """What it gives."""
        this = current()
        if this is None or this.rules is None:
            return super().forward(given)
        return handle_torch_function(activated, (given,), super().forward, given)
