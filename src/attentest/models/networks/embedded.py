"""What networks made of word embeddings share: the table of embeddings, and parts that can be drawn anew."""

from __future__ import annotations

import copy
import hashlib
import threading
from abc import abstractmethod
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.data.vocabulary import END, PAD, UNKNOWN
from attentest.errors import InputError
from attentest.models.architecture import Architecture
from attentest.models.capabilities import Randomisable
from attentest.models.network import Network
from attentest.models.parts.heads import HeadNetwork, Joint, OneSigmoid, Softmax
from attentest.models.subject import BASELINES

__all__ = ["EmbeddedNetwork", "baseline_of"]

N = TypeVar("N", bound="EmbeddedNetwork")

#: Networks draw their first weights from torch's global generator, so only one thread may build at a time.
_BUILDING = threading.Lock()


class EmbeddedNetwork(Network, Randomisable):
    """Word embeddings, and parts above them."""

    embedding: nn.Embedding

    def __init__(
        self,
        architecture: Architecture,
        words: int,
        classes: int,
        generator: torch.Generator,
        vectors: Float[Tensor, "word embedding"] | None = None,
    ) -> None:
        nn.Module.__init__(self)
        self.architecture, self.words, self.classes = architecture, words, classes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            for part in self.order:
                setattr(self, part, self._new(part))
        self._drawn: dict[tuple[Any, ...], nn.Module] = {}
        self._set_up()
        if vectors is not None:
            with torch.no_grad():
                self._take(vectors)

    @property
    @abstractmethod
    def order(self) -> tuple[str, ...]:
        """All its parts, in the order in which their first weights are drawn."""

    def _set_up(self) -> None:
        """What else a network has, beside its parts."""

    def _take(self, vectors: Float[Tensor, "word embedding"]) -> None:
        """Begin with pretrained embeddings."""
        self.embedding.weight.copy_(vectors)

    def _new(self, part: str) -> nn.Module:
        """A part with new weights from torch's generator."""
        if part == "embedding":
            return nn.Embedding(self.words, self.architecture.embedding, padding_idx=PAD)
        return self._new_above(part)

    @abstractmethod
    def _new_above(self, part: str) -> nn.Module:
        """A part above the embeddings; those below it are there already."""

    def _new_head(self, size: int, query: int | None = None) -> HeadNetwork:
        usual = Joint() if query is not None else OneSigmoid() if self.classes == 2 else Softmax()
        return (self.architecture.head or usual).build(size, self.classes, query)

    @property
    def device(self) -> torch.device:
        """Where the embeddings are."""
        return self.embedding.weight.device

    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """Word embeddings, start and end symbols included."""
        embeddings: Tensor = self.embedding(batch.text.tokens)
        return embeddings

    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """Zeros, the mean over the words, or the unknown word's embedding."""
        return baseline_of(self.embedding, kind)

    def randomised(self: N, parts: tuple[str, ...], seed: int) -> N:
        """Another network that shares every part but these; a part's new weights depend on seed and part alone."""
        for part in parts:
            if part not in self.parts:
                raise InputError(f"Part {part!r} cannot be randomised: it must be one of {', '.join(self.parts)}.")
        twin = copy.copy(self)
        twin._modules = {**self._modules, **{part: self._redrawn(part, seed) for part in parts}}
        return twin

    def _redrawn(self, part: str, seed: int) -> nn.Module:
        """A part as before training, kept, so that there is one however many batches ask for it."""
        like = self.embedding.weight
        key = (part, seed, like.device, like.dtype)
        with _BUILDING:
            if key not in self._drawn:
                digest = hashlib.blake2b(f"{seed}/randomised/{part}".encode(), digest_size=7).digest()
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(int.from_bytes(digest, "big"))
                    network = self._new(part)
                self._drawn[key] = network.to(like.device, like.dtype).train(self.training)
            return self._drawn[key]


def baseline_of(embedding: nn.Embedding, kind: str) -> Float[Tensor, " embedding"]:
    """Zeros, the mean over the words of a table, or its unknown word."""
    table = embedding.weight.detach()
    if kind == "zero":
        return torch.zeros_like(table[0])
    if kind == "mean":
        return table[END + 1 :].mean(0)
    if kind == "mask":
        return table[UNKNOWN]
    raise InputError(f"baseline {kind!r} must be one of {', '.join(BASELINES)}.")
