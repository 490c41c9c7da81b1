"""What an answer's tokens attend to, item by item: read layer by layer, and only their rows are looked at.

A row of the attention is what one token of the answer was predicted from; the first of them is the prompt's last token.
Rollout (Abnar & Zuidema 2020) mixes what all rows attend to; it is carried along from layer to layer as the share of
every item in every position, so that no map of all positions by all positions is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.models.huggingface.attending import Edit
from attentest.models.huggingface.recomputing import NUMBERS
from attentest.sources.language import LanguageModel, Prefix
from attentest.sources.prompt import FRAME, QUESTION, SINK, Prompt

__all__ = ["ROLES", "TOP", "Attended", "read_attention"]

#: What attention may go to beside the items.
ROLES = ("sink", "frame", "question", "answer")
#: Tokens of an item whose weights are averaged (AttnTrace, Wang et al. 2025).
TOP = 5


@dataclass(frozen=True, eq=False)
class Attended:
    """What the explained tokens of the answer attend to, averaged over them."""

    #: The weight that all tokens of an item have together.
    summed: Float[np.ndarray, "layer head item"]
    #: The mean of the item's largest weights.
    top: Float[np.ndarray, "layer head item"]
    #: Weights times the lengths of the values they weigh (Kobayashi et al. 2020, head by head).
    value_weighted: Float[np.ndarray, "layer head item"]
    #: How many tokens an item has.
    sizes: Float[np.ndarray, " item"]
    #: The rest: on the first token, the frame, the question and the answer so far.
    rest: Float[np.ndarray, "layer head role"]
    #: None where carrying it along would take too much memory: many items in a long text.
    rollout: Float[np.ndarray, " item"] | None
    #: Of every token of the answer, explained or not.
    log_probabilities: Float[np.ndarray, " token"]
    prefix: Prefix
    seconds: float


class _Watch:
    """Looks at every attention on the way and keeps sums."""

    def __init__(self, prompt: Prompt, answer: int, explained: np.ndarray, layers: int, device: torch.device) -> None:
        roles = np.concatenate([prompt.roles, np.full(answer, len(prompt.items) + 3)])
        for place, role in enumerate((SINK, FRAME, QUESTION)):
            roles[roles == role] = len(prompt.items) + place
        groups = len(prompt.items) + len(ROLES)
        #: [position, item or role]: which position belongs to what.
        self.belongs = torch.nn.functional.one_hot(torch.tensor(roles), groups).float().to(device)
        self.items, self.explained = len(prompt.items), torch.tensor(np.flatnonzero(explained), device=device)
        self.own = [torch.tensor(prompt.tokens_of(item), device=device) for item in range(self.items)]
        self.looking = False
        carried = (layers + 1) * self.belongs.numel()
        self.rolled = [self.belongs] if carried <= NUMBERS["cpu"] else None
        for _ in range(layers if self.rolled is not None else 0):
            self.rolled.append(torch.zeros_like(self.belongs))  # type: ignore[union-attr]
        self.found: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    def at(self, place: int) -> Edit:
        """What looks at one attention."""

        def look(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            keys, rows = weights.shape[-1], weights.shape[-2]
            if self.rolled is not None:
                # Layers may lie on several devices: what is carried along goes with them.
                below, here = self.rolled[place].to(weights.device), slice(keys - rows, keys)
                self.rolled[place + 1] = self.rolled[place + 1].to(weights.device)
                mixed = weights[0].float().mean(0) @ below[:keys]
                self.rolled[place + 1][here] = (mixed + below[here]) / 2
            if self.looking:
                explained = self.explained.to(weights.device)
                self._pool(place, weights[0, :, explained].float().mean(1), values[0].float().norm(dim=-1))
            return weights, values

        return look

    def _pool(self, place: int, weights: Float[Tensor, "head key"], lengths: Float[Tensor, "head key"]) -> None:
        belongs = self.belongs[: weights.shape[-1]].to(weights.device)
        mine = [weights[:, own.to(weights.device)] for own in self.own]
        top = torch.stack([each.topk(min(TOP, each.shape[-1])).values.mean(-1) for each in mine], -1)
        self.found[place] = weights @ belongs, top, (weights * lengths) @ belongs[:, : self.items]


@torch.no_grad()
def read_attention(model: LanguageModel, prompt: Prompt, answer: tuple[int, ...], explained: np.ndarray) -> Attended:
    """One pass over prompt and answer, whose attention is looked at on the way."""
    began = model.cost.seconds
    layers = len(model.places)
    watch = _Watch(prompt, len(answer) - 1, explained, layers, model.device)
    edits = {place: watch.at(place) for place in range(layers)}
    prefix = model.prefix(prompt.ids[:-1], edits)
    watch.looking = True
    found = model.log_probabilities([prompt.ids], answer, prefix=prefix, edits=edits)
    every = [np.stack([watch.found[place][part].cpu().numpy() for place in range(layers)]) for part in range(3)]
    items = len(prompt.items)
    rolled = None
    if watch.rolled is not None:
        last = watch.rolled[-1][len(prompt.ids) - 1 :].cpu()
        rolled = last[watch.explained.cpu()][:, :items].mean(0).numpy()
    sizes = watch.belongs[:, :items].sum(0).cpu().numpy()
    return Attended(
        every[0][..., :items],
        every[1],
        every[2],
        sizes,
        every[0][..., items:],
        rolled,
        found[0].numpy(),
        prefix,
        model.cost.seconds - began,
    )
