"""HardKuma: gates that are exactly zero or one and still have a gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import Tensor, nn

from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.selectors.gates import Gates, HardKumaraswamy, transitions
from attentest.models.parts.selectors.selector import Multiplier, Selector, SelectorNetwork, shares
from attentest.parameters import Within

__all__ = ["HardKuma", "HardKumaNetwork"]

#: The parameters of the distribution stay between these: beyond them it is a point, and its gradient gone.
LEAST, MOST = 1e-2, 100.0


@dataclass(frozen=True)
class HardKuma(Selector):
    """Stretched and cut Kumaraswamy gates, with constraints on how many and how scattered.

    A state of the selector gives a and b of a Kumaraswamy distribution, which is stretched to (−.1, 1.1) and cut to
    [0, 1]: a gate is 0 or 1 with a probability above zero, and every draw is differentiable. Training holds the
    expected share of words whose gate is not zero (L0) at `share`, and the expected share of neighbours of which one is
    read and the other is not (fused lasso) at `breaks`, by a Lagrange multiplier each.
    """

    name: ClassVar[str] = "hardkuma"
    reference: ClassVar[str] = "Bastings et al. 2019"
    share: Annotated[
        float, "The share of a text's words that is selected, at most, on average.", Within(0, 1, (0, 1))
    ] = 0.2
    breaks: Annotated[
        float, "The share of neighbours, of which one is selected and one is not; 1: any.", Within(0, 1, (0,))
    ] = 1.0

    @property
    def most(self) -> float:
        """As asked for."""
        return self.share

    def build(self, encoder: EncoderNetwork) -> SelectorNetwork:
        """One linear layer for a and b."""
        return HardKumaNetwork(encoder, self)


class HardKumaNetwork(SelectorNetwork):
    """Encoder, linear layer, softplus."""

    def __init__(self, encoder: EncoderNetwork, made: HardKuma) -> None:
        super().__init__()
        self.encoder, self.made = encoder, made
        self.shape = nn.Linear(encoder.size, 2)
        self.sparse, self.coherent = Multiplier(), Multiplier()

    def gates(self, states: Tensor, lengths: Tensor) -> Gates:
        """Softplus of a linear map."""
        a, b = nn.functional.softplus(self.shape(states)).clamp(LEAST, MOST).unbind(-1)
        return HardKumaraswamy(a, b)

    def loss(self, gates: Gates, drawn: Tensor, mask: Tensor, task: Tensor, labels: Tensor) -> Tensor:
        """Both constraints, in expectation."""
        added: Tensor = self.sparse(shares(gates.kept, mask).mean() - self.made.share)
        if self.made.breaks < 1:
            broken = transitions(gates.kept, mask) / (mask.sum(-1) - 1).clamp(min=1)
            added = added + self.coherent(broken.mean() - self.made.breaks)
        return len(task) * added
