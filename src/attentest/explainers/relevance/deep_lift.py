"""DeepLIFT: the difference from a text without words, handed back to the words that make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.budget import in_slices
from attentest.explainers.explainer import Attribution, margin
from attentest.explainers.gradient.slopes import (
    AttentionPath,
    Baselines,
    check_baselines,
    check_path,
    differentiable,
    target_of,
)
from attentest.explainers.relevance.lrp import INSTEAD, Replaying, joined, texts_at_once
from attentest.models.capabilities import Replayable, required
from attentest.models.networks.held import holding
from attentest.models.networks.signals import Difference, log_sum_exp
from attentest.models.subject import Reading, Subject

__all__ = ["DeepLift"]


@dataclass(frozen=True)
class DeepLift(Replaying):
    """The rescale rule; a product's difference is shared by Shapley's rule, so that nothing is lost in an LSTM.

    The text is compared with one whose words are replaced by the baseline, and the difference of the two outputs is
    handed back to the words. Every nonlinearity passes it on in the proportion Δoutput/Δinput. An LSTM and
    attention also multiply; there, each factor gets its difference times the mean of the other (its Shapley value),
    so that the scores add up to the difference exactly. Softmax is taken apart into exponentials, a sum and a
    logarithm. The start and end symbols stay as they are.
    """

    name: ClassVar[str] = "deep_lift"
    summary: ClassVar[str] = "DeepLIFT: each token's share of the difference from a text without words"
    reference: ClassVar[str] = "Shrikumar et al. 2017 (rescale rule); products as in the shap library"
    cost: ClassVar[str] = "three forward passes and one backward pass, step by step"
    certifies: ClassVar[tuple[str, ...]] = ("summation_gap",)
    checked: ClassVar[str] = "summation to delta: the scores add up to the difference of the margins"
    signed: ClassVar[bool] = True
    baselines: Baselines = "zero"
    path: AttentionPath = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_baselines(self.name, self.baselines)
        check_path(self.name, self.path)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Every real token's share of F(x) − F(baseline); the certificate has what does not add up."""
        wanted, weights = target_of(reading, target), reading.weights.detach()
        logits = reading.reread(weights[:, None])[:, 0] if self.path == "detached" else reading.logits

        def explained(part: slice) -> Attribution:
            return self._explain(subject, batch[part], logits[part], weights[part], wanted[part])

        return joined(in_slices(explained, len(batch), texts_at_once(subject, batch)))

    def _explain(self, subject: Subject, batch: Batch, logits: Tensor, weights: Tensor, target: Tensor) -> Attribution:
        found = self.replayed(subject, batch, subject.embed(batch).detach().requires_grad_(), target)
        with torch.no_grad():
            without = subject.read(batch, embeddings=found["absent"])
            absent_logits = without.reread(weights[:, None])[:, 0] if self.path == "detached" else without.logits
        delta = margin(logits.detach().double(), target) - margin(absent_logits.double(), target)
        scores = found["scores"]
        return Attribution(scores, {"delta": delta, "summation_gap": (scores.sum(-1) - delta).abs()})

    def replayed(
        self, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor, *, again: bool = False
    ) -> Mapping[str, Tensor]:
        """With the embeddings of the text without words."""
        nothing = subject.baseline(self.baselines).detach()
        with differentiable(subject), holding(again=again) as held:
            absent = torch.where(batch.mask[..., None], nothing, held(embeddings))
            difference = embeddings.double() - absent.double()
            replaying = required(Replayable, subject, self.name, INSTEAD)
            signal = replaying.replay(batch, Difference(absent.double(), difference, self.path == "detached", held))
            rivals = torch.ones_like(signal.reference, dtype=torch.bool).scatter(-1, target[:, None], False)
            wanted = signal.difference.gather(-1, target[:, None])[:, 0]
            output = wanted - log_sum_exp(signal, rivals)
            (multipliers,) = torch.autograd.grad(output.sum(), difference, create_graph=again, materialize_grads=True)
            scores = (multipliers * held(difference)).sum(-1) * batch.mask
        return {"scores": scores, "absent": absent}
