"""The masker: gates learnt for a model that stays as it is, and what stands for a word left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.data.batches import Batch, Encoded
from attentest.errors import NotApplicable
from attentest.models.network import Network
from attentest.models.networks.selecting import Drawn, selected
from attentest.models.parts.selectors.gates import Gates, HardConcrete
from attentest.models.parts.selectors.selector import Multiplier, shares
from attentest.models.subject import Reading, Subject
from attentest.training.adversarial import Recorded, floored_kl
from attentest.training.loop import readings

__all__ = ["LEARNT", "Masker", "Masking"]

#: Numbers between a word and its gate.
HIDDEN = 64
#: What stands for a word left out is learnt with the gates.
LEARNT = "learnt"
#: What the score that chooses the epoch loses for divergence beyond the margin.
EXCESS = 10.0


class Masker(Network):
    """A gate for every word, from its embedding and its state in the model, which does not learn."""

    def __init__(self, subject: Network, state: int, seed: int, absent: str = LEARNT) -> None:
        nn.Module.__init__(self)
        # In a tuple, where torch does not look for parts: the model is neither trained, moved nor saved with this one.
        self._subject = (subject,)
        self.classes, self.words = subject.classes, subject.words
        nothing = subject.baseline("zero" if absent == LEARNT else absent).detach().clone()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.hidden = nn.Linear(len(nothing) + state, HIDDEN)
            self.gate = nn.Linear(HIDDEN, 1)
        nn.init.constant_(self.gate.bias, 2.0)  # it begins by keeping nearly every word
        self.absent = nn.Parameter(nothing, requires_grad=absent == LEARNT)
        self.constraint = Multiplier(start=5.0, step=0.5, damping=0.0, least=0.0)

    @property
    def subject(self) -> Network:
        """The model that is explained."""
        return self._subject[0]

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.subject.device

    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """The model's."""
        return self.subject.embed(batch)

    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """The model's."""
        return self.subject.baseline(kind)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """None of its own."""
        return ()

    def gates(self, embeddings: Float[Tensor, "batch position embedding"], reading: Reading) -> Gates:
        """From what the model makes of each word."""
        seen = torch.cat([embeddings, reading.states], dim=-1).detach()
        return HardConcrete(self.gate(self.hidden(seen).tanh())[..., 0])

    def kept(self, batch: Batch, reading: Reading) -> Float[Tensor, "batch token"]:
        """How probable it is that each word is kept, whose texts the model has read."""
        with torch.no_grad():
            return self.gates(self.subject.embed(batch), reading).kept * batch.mask

    def forward(self, batch: Batch) -> Reading:
        """The model's reading of words that fade into the learnt embedding as their drawn gates close."""
        with torch.no_grad():
            embeddings, whole = self.subject.embed(batch), self.subject.read(batch)
        gates = self.gates(embeddings, whole)
        drawn = gates.drawn() * batch.mask
        said = self._masked(batch, embeddings, drawn)
        return Drawn(said.logits, said.weights, said.mask, said.states, said.embeddings, said, gates, drawn)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """The model's reading of the words that are kept, the learnt embedding in the place of all others."""
        embedded = self.subject.embed(batch) if embeddings is None else embeddings
        whole = self.subject.read(batch, embeddings=embeddings)
        kept = selected(self.gates(embedded, whole).kept, batch.mask)
        return self._masked(batch, embedded, kept.to(embedded.dtype))

    def _masked(self, batch: Batch, embeddings: Tensor, gates: Float[Tensor, "batch token"]) -> Reading:
        weight = torch.where(batch.mask, gates, 1.0)[..., None]
        return self.subject.read(batch, embeddings=weight * embeddings + (1 - weight) * self.absent)

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Not to be had: it masks words, and deletes none."""
        raise NotApplicable("A masker masks words: ask the model itself what deleting one does.")


@dataclass(frozen=True)
class Masking:
    """What a masker minimises: the expected share of words kept, while the prediction stays within a margin."""

    masker: Masker
    base: Recorded
    margin: float

    def __call__(self, reading: Reading, batch: Batch) -> Float[Tensor, ""]:
        """Texts · (share + λ (KL − margin))."""
        assert isinstance(reading, Drawn)
        excess = self._divergence(reading, batch).mean() - self.margin
        share = shares(reading.gates.kept, batch.mask).mean()
        loss: Tensor = len(batch) * (share + self.masker.constraint(excess.to(share.dtype)))
        return loss

    def _divergence(self, reading: Reading, batch: Batch) -> Float[Tensor, " batch"]:
        return floored_kl(self.base.probabilities[batch.rows], reading.logits.double().softmax(-1))

    @torch.no_grad()
    def score(self, model: Subject, encoded: Encoded) -> float:
        """What chooses the epoch: few words, and no divergence beyond the margin."""
        found: list[tuple[Tensor, Tensor]] = []
        for batch, reading in readings(self.masker, encoded):
            kept = selected(self.masker.kept(batch, self.masker.subject.read(batch)), batch.mask)
            found.append((shares(kept.double(), batch.mask), self._divergence(reading, batch)))
        share, divergence = (torch.cat(values).mean().item() for values in zip(*found, strict=True))
        return -share - EXCESS * max(0.0, divergence - self.margin)
