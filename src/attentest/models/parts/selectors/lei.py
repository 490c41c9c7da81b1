"""Lei et al. 2016: words are drawn to be read or not, and the draw is rewarded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.selectors.gates import Bernoulli, Gates, transitions
from attentest.models.parts.selectors.selector import Multiplier, Selector, SelectorNetwork, shares
from attentest.parameters import Within

__all__ = ["Lei", "LeiNetwork"]

#: What the baseline keeps of itself from one batch to the next.
KEEPS = 0.9


@dataclass(frozen=True)
class Lei(Selector):
    """Words drawn to be read or not, each by itself; REINFORCE with a baseline.

    A state of the selector gives the probability that its word is read. The gradient of the task's expected loss is
    estimated from one draw (REINFORCE), less a baseline, the mean loss of the last batches. The share of words that
    are read and the share of neighbours of which one is read and the other is not (coherence) are added in expectation,
    which has the same gradient as the drawn ones with less noise. The paper chose the weight of the first by trying;
    here a Lagrange multiplier finds the one that gives `share`.
    """

    name: ClassVar[str] = "lei"
    reference: ClassVar[str] = "Lei et al. 2016"
    share: Annotated[
        float, "The share of a text's words that is selected, at most, on average.", Within(0, 1, (0, 1))
    ] = 0.2
    coherence: Annotated[
        float, "What the share of broken neighbours counts beside the cross-entropy.", Within(0, 1e6)
    ] = 0.1

    @property
    def most(self) -> float:
        """As asked for."""
        return self.share

    def build(self, encoder: EncoderNetwork) -> SelectorNetwork:
        """One linear layer for the probability."""
        return LeiNetwork(encoder, self)


class LeiNetwork(SelectorNetwork):
    """Encoder, linear layer, sigmoid."""

    baseline: Tensor
    seen: Tensor

    def __init__(self, encoder: EncoderNetwork, made: Lei) -> None:
        super().__init__()
        self.encoder, self.made = encoder, made
        self.logit = nn.Linear(encoder.size, 1)
        self.sparse = Multiplier()
        self.register_buffer("baseline", torch.tensor(0.0))
        self.register_buffer("seen", torch.tensor(0.0))

    def gates(self, states: Tensor, lengths: Tensor) -> Gates:
        """A linear map."""
        return Bernoulli(self.logit(states)[..., 0])

    def loss(self, gates: Gates, drawn: Tensor, mask: Tensor, task: Tensor, labels: Tensor) -> Tensor:
        """(loss − baseline) log P(draw), and both penalties in expectation."""
        assert isinstance(gates, Bernoulli)
        rewarded = (task.detach() - self.baseline.clone()) * (gates.log_chance(drawn) * mask).sum(-1)
        broken = transitions(gates.kept, mask) / (mask.sum(-1) - 1).clamp(min=1)
        charged: Tensor = self.sparse(shares(gates.kept, mask).mean() - self.made.share)
        if self.training:
            with torch.no_grad():
                keeps = KEEPS * self.seen
                self.baseline.mul_(keeps).add_((1 - keeps) * task.mean())
                self.seen.fill_(1.0)
        return rewarded.sum() + self.made.coherence * broken.sum() + len(task) * charged
