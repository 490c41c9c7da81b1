"""Beam search: the words that a decoder finds most likely together, for all texts of a batch at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.vocabulary import END, PAD, START

__all__ = ["Weigh", "Written", "beam_search"]

State = tuple[Tensor, ...]
#: The state and the last word of every row, and the number of the step, to the next words' logits and the next state.
Advance = Callable[[State, Int[Tensor, " row"], int], tuple[Float[Tensor, "row word"], State]]
#: Other weights in the place of a step's own: (weights, mask, keys of the sentences, step) → weights.
Weigh = Callable[[Tensor, Tensor, Tensor, int], Tensor]


@dataclass(frozen=True)
class Written:
    """What was written for each sentence: the words, padded by end symbols, and how likely they are."""

    words: Int[Tensor, "sentence position"]
    lengths: Int[Tensor, " sentence"]
    #: Mean log-likelihood of a word, the end symbol included.
    scores: Float[Tensor, " sentence"]


@torch.no_grad()
def beam_search(advance: Advance, state: State, *, beam: int, longest: Int[Tensor, " sentence"]) -> Written:
    """The best of ``beam`` candidates by mean log-likelihood, each sentence no longer than it may be.

    ``state`` has one row for each sentence.
    """
    device, sentences = longest.device, len(longest)
    first = torch.arange(sentences, device=device)
    state = tuple(values[first.repeat_interleave(beam)] for values in state)
    words = torch.full((sentences * beam, 1), START, device=device)
    # All candidates are the same at first: only one of them counts.
    totals = torch.full((sentences, beam), -torch.inf, dtype=torch.float64, device=device)
    totals[:, 0] = 0.0
    lengths = torch.zeros(sentences, beam, dtype=torch.long, device=device)
    over, ended = (torch.zeros(sentences, beam, dtype=torch.bool, device=device) for _ in range(2))
    for step in range(int(longest.max())):
        logits, state = advance(state, words[:, -1], step)
        logits[:, [PAD, START]] = -torch.inf
        likely = logits.double().log_softmax(-1).view(sentences, beam, -1)
        # A finished candidate goes on with end symbols, for nothing.
        likely[over] = -torch.inf
        likely[..., END] = torch.where(over, 0.0, likely[..., END])
        longer = (lengths + ~over)[..., None]
        sums = totals[..., None] + likely
        best = (sums / longer).flatten(1).topk(beam, dim=-1).indices
        source, word = best // likely.shape[-1], best % likely.shape[-1]
        totals = sums.flatten(1).gather(1, best)
        lengths = longer[..., 0].gather(1, source)
        ended = ended.gather(1, source) | (~over.gather(1, source) & (word == END))
        over = ended | (step + 1 >= longest[:, None])
        rows = (first[:, None] * beam + source).flatten()
        words = torch.cat([words[rows], word.flatten()[:, None]], dim=1)
        state = tuple(values[rows] for values in state)
        # The best candidate is never overtaken once all are finished.
        if bool(over.all()):
            break
    chosen = (totals / lengths.clamp(min=1)).argmax(-1)
    found = words.view(sentences, beam, -1)[first, chosen, 1:]
    return Written(
        torch.where(torch.arange(found.shape[1], device=device) < lengths[first, chosen][:, None], found, END),
        lengths[first, chosen] - ended[first, chosen].long(),
        (totals / lengths.clamp(min=1))[first, chosen],
    )
