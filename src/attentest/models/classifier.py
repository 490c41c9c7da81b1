"""The classifier with attention: embedding → encoder → attention → head."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.data.vocabulary import END, PAD, UNKNOWN
from attentest.errors import InputError
from attentest.models.attention import ATTENTIONS, Additive, Attention, Uniform
from attentest.models.encoders import ENCODERS, BiLSTM, Encoder
from attentest.models.heads import HEADS, Head, HeadNetwork, OneSigmoid, Softmax
from attentest.models.signals import AnySignal
from attentest.models.subject import BASELINES, AffineReading, DecodedReading, Reading, Subject
from attentest.registry import text_of

__all__ = ["Architecture", "Classifier"]

#: Networks draw their first weights from torch's global generator, so only one thread may build at a time.
_BUILDING = threading.Lock()


@dataclass(frozen=True)
class Architecture:
    """Every choice that makes a classifier, apart from its vocabulary and its classes."""

    encoder: Encoder = field(default_factory=BiLSTM)
    attention: Attention = field(default_factory=Additive)
    #: None: one sigmoid for two classes, a softmax for more.
    head: Head | None = None
    embedding: int = 300

    def to_record(self) -> dict[str, Any]:
        """As plain values for run.json."""
        head = None if self.head is None else text_of(self.head)
        return {
            "encoder": text_of(self.encoder),
            "attention": text_of(self.attention),
            "head": head,
            "embedding": self.embedding,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Architecture:
        """From the plain values of run.json."""
        head = record.get("head")
        return cls(
            ENCODERS.parse(record["encoder"]),
            ATTENTIONS.parse(record["attention"]),
            None if head is None else HEADS.parse(head),
            int(record["embedding"]),
        )


class Classifier(nn.Module, Subject):
    """A text classifier with one attention, readable and rereadable."""

    def __init__(
        self,
        architecture: Architecture,
        words: int,
        classes: int,
        generator: torch.Generator,
        vectors: Float[Tensor, "word embedding"] | None = None,
    ) -> None:
        nn.Module.__init__(self)
        self.architecture, self.classes = architecture, classes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            self.embedding = nn.Embedding(words, architecture.embedding, padding_idx=PAD)
            self.encoder = architecture.encoder.build(architecture.embedding)
            self.attention = architecture.attention.build(self.encoder.size)
            self.head = self._head(classes)
        self._drawn: dict[tuple[Any, ...], nn.Module] = {}
        if vectors is not None:
            with torch.no_grad():
                self.embedding.weight.copy_(vectors)

    def _head(self, classes: int) -> HeadNetwork:
        head = self.architecture.head or (OneSigmoid() if classes == 2 else Softmax())
        return head.build(self.encoder.size, classes)

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
        table = self.embedding.weight.detach()
        if kind == "zero":
            return torch.zeros_like(table[0])
        if kind == "mean":
            return table[END + 1 :].mean(0)
        if kind == "mask":
            return table[UNKNOWN]
        raise InputError(f"baseline {kind!r} must be one of {', '.join(BASELINES)}.")

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """Encode, attend over real tokens, decode."""
        embedded = self.embed(batch) if embeddings is None else embeddings
        states = self.encoder(embedded, batch.text.lengths)
        weights = self.attention(states, batch.mask)
        if detach_attention:
            weights = weights.detach()
        return self._reading(embedded, states, weights, batch)

    def _reading(self, embeddings: Tensor, states: Tensor, weights: Tensor, batch: Batch) -> Reading:
        logits = self.head((weights[..., None, :] @ states)[..., 0, :])
        if self.head.affine:
            return AffineReading(logits, weights, batch.mask, states, embeddings, self.head(states))
        return DecodedReading(logits, weights, batch.mask, states, embeddings, self.head)

    def forward(self, batch: Batch) -> Reading:
        """The same as reading, with everything in the graph: objectives choose what they need."""
        return self.read(batch)

    def replay(self, batch: Batch, embeddings: AnySignal) -> AnySignal:
        """Encoder, attention, context and head, in double precision: the products are of large and small numbers."""
        states = copy.deepcopy(self.encoder).double().replay(embeddings, batch.text.lengths)
        weights = copy.deepcopy(self.attention).double().replay(states, batch.mask)
        context = states.gated(weights, lambda a, h: (a[:, None] @ h)[:, 0]).settled()
        return copy.deepcopy(self.head).double().replay(context)

    @property
    def parts(self) -> tuple[str, ...]:
        """Head, attention unless it is uniform, encoder, embedding."""
        learnt = () if isinstance(self.architecture.attention, Uniform) else ("attention",)
        return ("head", *learnt, "encoder", "embedding")

    def randomised(self, parts: tuple[str, ...], seed: int) -> Classifier:
        """Another classifier that shares every part but these; a part's new weights depend on seed and part alone."""
        for part in parts:
            if part not in self.parts:
                raise InputError(f"Part {part!r} cannot be randomised: it must be one of {', '.join(self.parts)}.")
        twin = copy.copy(self)
        twin._modules = {**self._modules, **{part: self._redrawn(part, seed) for part in parts}}
        return twin

    def _redrawn(self, part: str, seed: int) -> nn.Module:
        """A part as before training, kept, so that there is one however many batches ask for it."""
        made, like = self.architecture, self.embedding.weight
        key = (part, seed, like.device, like.dtype)
        with _BUILDING:
            if key not in self._drawn:
                digest = hashlib.blake2b(f"{seed}/randomised/{part}".encode(), digest_size=7).digest()
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(int.from_bytes(digest, "big"))
                    build: dict[str, Callable[[], nn.Module]] = {
                        "head": lambda: self._head(self.classes),
                        "attention": lambda: made.attention.build(self.encoder.size),
                        "encoder": lambda: made.encoder.build(made.embedding),
                        "embedding": lambda: nn.Embedding(*like.shape, padding_idx=PAD),
                    }
                    network = build[part]()
                self._drawn[key] = network.to(like.device, like.dtype).train(self.training)
            return self._drawn[key]

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Logits without each token, the encoder sharing what deletion leaves unchanged."""
        keys, identity = self.attention.keys, torch.eye(self.encoder.size).to(self.embedding.weight)
        nothing = self.head(torch.zeros_like(identity[0]))
        values = self.head(identity) - nothing if self.head.affine else identity
        onto = torch.cat([keys.weight.T, values], dim=1)
        plus = onto.new_zeros(onto.shape[1])
        plus[: keys.out_features] = 0.0 if keys.bias is None else keys.bias
        out = self.encoder.without_each(self.embed(batch), batch.text.lengths, onto, plus)
        keyed, valued = out.split([keys.out_features, values.shape[1]], dim=-1)
        others = ~torch.eye(out.shape[1], dtype=torch.bool, device=self.device)
        weights = self.attention.weigh(keyed, batch.mask[:, None, :] & others)
        pooled = (weights[..., None, :] @ valued)[..., 0, :]
        logits: Tensor = pooled + nothing if self.head.affine else self.head(pooled)
        return logits
