"""Layer-wise relevance propagation: the output is handed back, layer by layer, to the words it was made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import InputError
from attentest.explainers.budget import in_slices, positions
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.slopes import differentiable, target_of
from attentest.models.capabilities import Replayable, required
from attentest.models.networks.held import holding
from attentest.models.networks.signals import Absorber, Relevance
from attentest.models.subject import Reading, Subject
from attentest.parameters import Within

__all__ = ["INSTEAD", "LRP", "Replaying", "joined", "texts_at_once"]

#: What serves where a model cannot be replayed.
INSTEAD = "Use gradient_x_input or integrated_gradients."
#: What keeps a part of the relevance from the words.
KEEPERS = ("symbols", "bias", "epsilon")


class Replaying(Explainer, ABC):
    """A method that follows the network layer by layer."""

    needs: ClassVar[tuple[type, ...]] = (Replayable,)

    @abstractmethod
    def replayed(
        self,
        subject: Subject,
        batch: Batch,
        embeddings: Float[Tensor, "batch position embedding"],
        target: Int[Tensor, " batch"],
        *,
        again: bool = False,
    ) -> Mapping[str, Tensor]:
        """The ``scores`` at these embeddings, which ask for gradients, and what else is handed out.

        ``again``: they have slopes at the embeddings themselves.
        """


@dataclass(frozen=True)
class LRP(Replaying):
    """The ε-rule through sums, everything to the signal and nothing to gates and attention weights.

    The output is handed back through the network, layer by layer, until it lies on the words: at every sum, each
    summand gets the share it had in the sum. Gates and attention weights get nothing, the values that they let
    through get everything. What is handed out is the target's logit minus the other classes' (for two classes, the
    margin). Biases, the start and end symbols and the small ε keep a part of it; the certificate says how much each
    of them kept, and that nothing else is missing. Positive scores speak for the class, negative ones against it.

    The other classes' logits are weighted by their probabilities among them.
    """

    name: ClassVar[str] = "lrp"
    summary: ClassVar[str] = "layer-wise relevance: the output propagated back through the network in proportion"
    reference: ClassVar[str] = "Bach et al. 2015; Arras et al. 2017 and 2019, for LSTMs"
    cost: ClassVar[str] = "one forward and one backward pass, step by step"
    certifies: ClassVar[tuple[str, ...]] = ("conservation_gap", "absorbed_bias", "absorbed_epsilon", "absorbed_symbols")
    checked: ClassVar[str] = "conservation: the shares of words, symbols, biases and ε add up to the output"
    signed: ClassVar[bool] = True
    epsilon: Annotated[
        float,
        "A little that is added to every sum, so that sums near zero do not hand out huge shares; it keeps what "
        "falls to it.",
        Within(0, 1e6, without=(0,)),
    ] = 0.001
    bias: Annotated[
        str,
        "`absorbs`: a bias keeps its share, as in the papers. `omitted`: its share goes to the inputs too; scores "
        "grow large where inputs cancel out.",
    ] = "absorbs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bias not in ("absorbs", "omitted"):
            raise InputError(f"lrp: bias={self.bias!r} must be 'absorbs' (it keeps its share) or 'omitted'.")

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Relevance of every real token; the certificate has the shares of all that is not a token."""
        wanted = target_of(reading, target)
        parts = in_slices(
            lambda part: self._explain(subject, batch[part], reading.logits[part], wanted[part]),
            len(batch),
            texts_at_once(subject, batch),
        )
        return joined(parts)

    def _explain(self, subject: Subject, batch: Batch, logits: Tensor, target: Tensor) -> Attribution:
        found = self.replayed(subject, batch, subject.embed(batch).detach().requires_grad_(), target)
        scores, output, kept = found["scores"], found["output"], [found[name] for name in KEEPERS]
        read = contrast(logits.double(), logits.double(), target)
        certificate = {name: found[name] / output for name in KEEPERS}
        certificate["conservation_gap"] = (sum(kept, scores.sum(-1)) - read).abs()
        return Attribution(scores, certificate)

    def replayed(
        self, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor, *, again: bool = False
    ) -> Mapping[str, Tensor]:
        """With the output and the relevance of all that is no word."""
        with differentiable(subject), holding(again=again) as held:
            given = embeddings.double()
            bias, stabiliser = (given.new_ones(len(batch)).requires_grad_() for _ in range(2))
            absorber = Absorber(self.epsilon, self.bias == "absorbs", bias, stabiliser)
            replaying = required(Replayable, subject, self.name, INSTEAD)
            signal = replaying.replay(batch, Relevance(given, absorber, held))
            output = contrast(signal.replayed, signal.value, target)
            gradients = torch.autograd.grad(
                output.sum(), (given, bias, stabiliser), create_graph=again, materialize_grads=True
            )
            relevance = (gradients[0] * held(given)).sum(-1)
            scores = torch.where(batch.mask, relevance, 0.0)
            symbols = relevance.sum(-1) - scores.sum(-1)
        kept = dict(zip(KEEPERS, (symbols, *gradients[1:]), strict=True))
        return {"scores": scores, "output": held(output)} | kept


def contrast(
    logits: Float[Tensor, "batch class"], at: Float[Tensor, "batch class"], target: Int[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    """The target's logit less the mean of its rivals', weighted by their probabilities at given logits: linear."""
    rivals = at.scatter(-1, target[:, None], -torch.inf).softmax(-1)
    return logits.gather(-1, target[:, None])[:, 0] - (rivals * logits).sum(-1)


def texts_at_once(subject: Subject, batch: Batch) -> int:
    """How many texts one replay should hold; it keeps what it computed at every step."""
    return positions(subject.device) // 4 // batch.mask.shape[1]


def joined(parts: list[Attribution]) -> Attribution:
    """The attributions of a batch's slices as one."""
    certificate = {name: torch.cat([part.certificate[name] for part in parts]) for name in parts[0].certificate}
    return Attribution(torch.cat([part.scores for part in parts]), certificate)
