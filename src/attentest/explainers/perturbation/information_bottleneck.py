"""The information bottleneck: how much of each word the prediction needs, when noise may take the place of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.vocabulary import END
from attentest.explainers.budget import in_slices, positions
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.slopes import differentiable, target_of
from attentest.explainers.gradient.smooth_grad import noise
from attentest.models.copies import copies
from attentest.models.networks.embedded import EmbeddedNetwork
from attentest.models.subject import Reading, Subject
from attentest.parameters import POSITIVE, SEEDS, Within

__all__ = ["InformationBottleneck"]

#: Where every λ begins: σ(5) = .993, nearly all of every word (Schulz et al. 2020).
OPEN = 5.0


@dataclass(frozen=True)
class InformationBottleneck(Explainer):
    """How many nats of each word's embedding pass a bottleneck that was fitted to keep the prediction and little else.

    A word's embedding e becomes λe + (1 − λ)ε, with noise ε that has the mean and the variance of the embeddings of all
    words: what is taken away is replaced by what any word could have been there. The λ of every word, which begin near
    1, are fitted to one text at a time: they make the cross-entropy of the target class small, and, weighted by `beta`,
    the information that gets through. A word's score is that information, KL(λe + (1 − λ)ε ‖ ε), summed over the
    embedding. Schulz et al. look at a layer of a network of images, Jiang et al. at one of a transformer; here it is
    the input, so that scores are of words. Because λ is fitted against the prediction it explains, it may find what
    fools the model: the certificate gives the probability that the target class keeps.
    """

    name: ClassVar[str] = "information_bottleneck"
    summary: ClassVar[str] = "nats of the word that the prediction needs, where noise stands for the rest"
    reference: ClassVar[str] = "Schulz et al. 2020; Jiang et al. 2020"
    cost: ClassVar[str] = "steps × draws forward and backward passes"
    certifies: ClassVar[tuple[str, ...]] = ("probability_kept", "nats")
    checked: ClassVar[str] = "the target's mean probability behind the bottleneck, on noise that did not fit it"
    beta: Annotated[float, "What information costs, beside the cross-entropy.", POSITIVE] = 10.0
    steps: Annotated[int, "Steps of Adam.", Within(1, 10_000)] = 10
    rate: Annotated[float, "Adam's step size.", POSITIVE] = 1.0
    draws: Annotated[int, "Draws of noise in every step.", Within(1, 1000)] = 10
    seed: Annotated[int, "Another seed, other noise.", SEEDS] = 0

    def further_objection(self, subject: Subject) -> str | None:
        """The noise is that of the embeddings of all words."""
        if isinstance(subject, EmbeddedNetwork):
            return None
        return "this is for models trained here, with an embedding for every word"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """All texts side by side: no text's λ depends on another's."""
        assert isinstance(subject, EmbeddedNetwork)
        wanted, given = target_of(reading, target), subject.embed(batch).detach()
        words = subject.embedding.weight.detach()[END + 1 :]
        mean, deviation = words.mean(0), words.std(0, correction=0).clamp(min=1e-6)
        apart = ((given - mean) / deviation).square() * batch.mask[..., None]
        share = batch.mask / (batch.mask.sum(-1, keepdim=True).clamp(min=1) * given.shape[-1])
        logit = torch.full(batch.mask.shape, OPEN, dtype=given.dtype, device=given.device)
        adam = torch.optim.Adam([logit], lr=self.rate)
        for step in range(self.steps):
            with torch.enable_grad():
                leaf = logit.detach().requires_grad_()
                cost = self.beta * (information(leaf, apart) * share).sum()
                (slope,) = torch.autograd.grad(cost, leaf)
            logit.grad = slope + self._passed(subject, batch, wanted, given, logit, (mean, deviation), step)[1]
            adam.step()
        kept, _ = self._passed(subject, batch, wanted, given, logit, (mean, deviation), self.steps)
        scores = information(logit, apart) * batch.mask
        return Attribution(scores, {"probability_kept": kept, "nats": scores.sum(-1)})

    def _passed(
        self,
        subject: Subject,
        batch: Batch,
        wanted: Int[Tensor, " batch"],
        given: Float[Tensor, "batch position embedding"],
        logit: Float[Tensor, "batch position"],
        about: tuple[Tensor, Tensor],
        step: int,
    ) -> tuple[Float[Tensor, " batch"], Float[Tensor, "batch position"]]:
        """The target's mean probability over a step's noise, and the slope of its mean cross-entropy at the logits."""
        mean, deviation = about
        texts, width = torch.arange(len(batch), device=given.device), int(batch.text.lengths.max())

        def some(part: slice) -> tuple[Tensor, Tensor]:
            drawn = range(step * self.draws, (step + 1) * self.draws)[part]
            rows = texts.repeat(len(drawn))
            any_word = mean + deviation * torch.cat(
                [noise(batch.keys, batch.mask, given, self.seed, draw) for draw in drawn]
            )
            with differentiable(subject):
                leaf = logit.detach().requires_grad_()
                through = torch.where(batch.mask, leaf.sigmoid(), 1.0)[rows, :, None]
                mixed = through * given[rows] + (1 - through) * any_word
                logits = subject.read(copies(batch, rows), embeddings=mixed[:, :width]).logits
                said = logits.log_softmax(-1).gather(-1, wanted[rows, None])[:, 0].view(len(drawn), -1)
                (slope,) = torch.autograd.grad(-said.sum() / self.draws, leaf)
            return said.detach().exp().sum(0) / self.draws, slope

        size = positions(subject.device) // 2 // max(1, batch.mask.numel())
        kept, slopes = zip(*in_slices(some, self.draws, size), strict=True)
        return torch.stack(kept).sum(0), torch.stack(slopes).sum(0)


def information(
    logit: Float[Tensor, "batch position"], apart: Float[Tensor, "batch position embedding"]
) -> Float[Tensor, "batch position"]:
    """KL(N(λe + (1 − λ)μ, (1 − λ)²σ²) ‖ N(μ, σ²)) over the embedding, in nats, where apart is ((e − μ)/σ)²."""
    through, size = logit.sigmoid(), apart.shape[-1]
    rest = (1 - through).square() - 1 - 2 * torch.nn.functional.logsigmoid(-logit)
    return 0.5 * (size * rest + through.square() * apart.sum(-1))
