"""Any PyTorch model as a subject: by three functions, or by the name of the module that attends.

Both read the words of a batch by the model's own table of words; the start and end symbols of a batch are not shown to
it. Before a subject made here is audited it passes a self-test on the texts of the audit: own weights put back give
the output, and other weights are heard.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import END, Vocabulary
from attentest.errors import InputError
from attentest.models.capabilities import Attends
from attentest.models.finite import refuse_weights
from attentest.models.network import Network
from attentest.models.shared_work.deletion import encoded_without_each
from attentest.models.subject import BASELINES, AffineReading, DecodedReading, Reading

__all__ = ["OwnModel", "read_again", "self_tested", "subject_of_functions"]

TOLERANCE = 1e-5
#: So many texts, so many at a time, are read before a model is refused because no other weights change what it says.
MOST_READ, TOGETHER = 256, 16
Attend = Callable[[Float[Tensor, "batch word state"], Bool[Tensor, "batch word"]], Float[Tensor, "batch word"]]


class OwnModel(Network):
    """What models of the user's share: a table of words, and embeddings that can be given."""

    #: What attends, in messages.
    called: str

    def __init__(self, words: Mapping[str, int], classes: int, embedding: nn.Embedding, unknown: int, pad: int) -> None:
        nn.Module.__init__(self)
        self.known, self.classes, self.words = dict(words), classes, len(words)
        self.table, self.unknown, self.pad = embedding, unknown, pad
        self.register_buffer("index", torch.zeros(END + 1, dtype=torch.long), persistent=False)

    def over(self, vocabulary: Vocabulary) -> OwnModel:
        """The same model, to read batches of this vocabulary."""
        found = [self.known.get(word, self.unknown) for word in vocabulary.words]
        found[: END + 1] = [self.pad, self.unknown, self.pad, self.pad]
        self.index = torch.tensor(found, device=self.device)
        return self

    @property
    def device(self) -> torch.device:
        """Where the embeddings are."""
        return self.table.weight.device

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Not told apart."""
        return ()

    def ids(self, batch: Batch) -> Int[Tensor, "batch word"]:
        """The model's own numbers of the words, without start and end."""
        return self.index[batch.text.tokens[:, 1:-1]].where(batch.mask[:, 1:-1], self.pad)

    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """The words' embeddings; start and end have zeros."""
        made: Tensor = nn.functional.pad(self.table(self.ids(batch)), (0, 0, 1, 1))
        return made

    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """Zeros, the mean over the words, or the unknown word's embedding."""
        table = self.table.weight.detach()
        found = {"zero": torch.zeros_like(table[0]), "mean": table.mean(0), "mask": table[self.unknown]}
        if kind not in found:
            raise InputError(f"baseline {kind!r} must be one of {', '.join(BASELINES)}.")
        return found[kind]

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Every shortened text read anew."""
        return encoded_without_each(self, batch)

    @abstractmethod
    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """As of any subject."""


class _Functions(OwnModel, Attends):
    """A model given as three functions."""

    called = "the three functions"

    def __init__(
        self,
        encode: Callable[[Tensor, Tensor], Tensor],
        attend: Attend,
        decode: Callable[[Tensor], Tensor],
        module: nn.Module | None,
        **about: Any,
    ) -> None:
        super().__init__(**about)
        self.encode, self.weigh, self.decode, self.module = encode, attend, decode, module
        self.affine = False

    def logits(self, context: Float[Tensor, "*batch state"]) -> Float[Tensor, "*batch class"]:
        """What ``decode`` says of contexts, as one logit for each class."""
        made = self.decode(context.flatten(0, -2))
        made = as_logits(made, self.classes)
        logits: Tensor = made.unflatten(0, context.shape[:-1])
        return logits

    def attend(self, batch: Batch, states: Float[Tensor, "batch token state"], queries: Batch) -> Tensor:
        """What ``attend`` gives other states; there is no query."""
        mask = batch.mask[:, 1:-1]
        return nn.functional.pad(self.weigh(states[:, 1:-1], mask).reshape(mask.shape), (1, 1))

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """Encode, attend, decode."""
        embedded = self.embed(batch) if embeddings is None else embeddings
        mask = batch.mask[:, 1:-1]
        inner = self.encode(embedded[:, 1:-1], mask)
        weights = nn.functional.pad(self.weigh(inner, mask).reshape(mask.shape), (1, 1))
        states = nn.functional.pad(inner, (0, 0, 1, 1))
        if detach_attention:
            weights = weights.detach()
        logits = self.logits((weights[:, None] @ states)[:, 0])
        if self.affine:
            return AffineReading(logits, weights, batch.mask, states, embedded, self.logits(states))
        return DecodedReading(logits, weights, batch.mask, states, embedded, self.logits)


def subject_of_functions(
    encode: Callable[[Tensor, Tensor], Tensor],
    attend: Attend,
    decode: Callable[[Tensor], Tensor],
    *,
    embedding: nn.Embedding,
    words: Mapping[str, int],
    classes: int,
    unknown: str = "<unk>",
    pad: str = "<pad>",
    module: nn.Module | None = None,
) -> OwnModel:
    """A subject from three functions of a model, its embedding and its table of words.

    ``encode(embedded, mask)`` gives the states that attention weighs, [batch, word, state]; ``attend(states, mask)``
    their weights, [batch, word], zero outside the mask; ``decode(context)`` the logits of Σ α_t h_t. A decoder that is
    affine is noticed, and the exact results then apply. ``module`` is the model itself, to move it between devices.
    """
    about = declared(embedding, words, classes, unknown, pad)
    subject = _Functions(encode, attend, decode, module, **about).eval()
    batch = sample(subject).to(subject.device)
    with torch.no_grad():
        states = subject.read(batch).states
        a, b = torch.randn(2, 8, states.shape[-1], generator=torch.Generator().manual_seed(0)).to(states)
        none = torch.zeros_like(a)
        bent = subject.logits(a) + subject.logits(b) - subject.logits(a + b) - subject.logits(none)
        subject.affine = bool(bent.abs().max() <= TOLERANCE * max(1.0, float(subject.logits(a).abs().max())))
        read_again(subject, batch)
    return subject


def as_logits(made: Tensor, classes: int) -> Float[Tensor, "batch class"]:
    """One logit for each class; a model with one sigmoid gives (0, z)."""
    if classes == 2 and made.ndim in (1, 2) and (made.ndim == 1 or made.shape[-1] == 1):
        z = made.reshape(-1)
        return torch.stack([torch.zeros_like(z), z], dim=-1)
    if made.ndim != 2 or made.shape[-1] != classes:
        raise InputError(
            f"The model gives outputs of shape {tuple(made.shape)}, not one logit for {classes} classes: it must give "
            "logits [batch, class]."
        )
    return made


def declared(embedding: nn.Embedding, words: Mapping[str, int], classes: int, unknown: str, pad: str) -> dict[str, Any]:
    """What every model of the user's needs to be known of it."""
    if unknown not in words:
        raise InputError(f"words has no {unknown!r}: name the word that stands for unknown ones (unknown=).")
    if classes < 2:
        raise InputError(f"classes={classes} must be at least 2: a model with one sigmoid has two classes.")
    if pad not in words and embedding.padding_idx is None:
        raise InputError(f"words has no {pad!r}: name the word that fills up short texts (pad=).")
    filler = words.get(pad, embedding.padding_idx)
    return {
        "words": words,
        "classes": classes,
        "embedding": embedding,
        "unknown": words[unknown],
        "pad": int(filler if filler is not None else 0),
    }


def sample(subject: OwnModel) -> Batch:
    """A few made-up texts of the model's words, of different lengths, to see how it is called and what it returns."""
    words = [word for word, number in subject.known.items() if number not in (subject.pad, subject.unknown)][:50]
    if len(words) < 2:
        raise InputError("words must hold at least two words beside those for padding and unknown ones.")
    texts = [[words[(7 * text + place) % len(words)] for place in range(size)] for text, size in enumerate((2, 5, 9))]
    split = Split.of([f"sample-{i}" for i in range(3)], texts, [0] * 3)
    vocabulary = Vocabulary.from_split(split)
    subject.over(vocabulary)
    return Encoded.of(split, vocabulary).batch(np.arange(3))


def read_again(subject: OwnModel, batch: Batch) -> Reading:
    """What the subject says of a batch; refused if its weights are no distribution or, put back, change its output."""
    refuse_weights(subject)
    reading = subject.read(batch)
    weights, mask = reading.weights, reading.mask
    if not (weights.isfinite().all() and reading.logits.isfinite().all()):
        raise InputError(
            f"{subject.called} gives weights or outputs that are not finite (NaN or infinite), so the model cannot be "
            "judged. Give another model, or mend this one."
        )
    gaps = (weights.sum(-1) - 1).abs().max(), weights.masked_fill(mask, 0.0).abs().max()
    if max(gaps) > 1e-3:
        raise InputError(
            f"The attention of {subject.called} is not one: its weights over the words sum to "
            f"{float(weights.sum(-1).max()):.3g}, and {float(gaps[1]):.2g} lies on padding. "
            "Give weights after the softmax."
        )
    again = reading.reread(weights[:, None].double())[:, 0]
    apart, scale = float((again - reading.logits).abs().max()), max(1.0, float(reading.logits.abs().max()))
    if not apart <= TOLERANCE * scale:
        raise InputError(
            f"Own attention weights put back by {subject.called} change the output by {apart:.2g} (at most "
            f"{TOLERANCE * scale:.2g} is rounding): the output is not made of Σ α_t h_t as described, so it cannot "
            "be audited."
        )
    return reading


@torch.no_grad()
def self_tested(subject: OwnModel, encoded: Encoded) -> OwnModel:
    """The subject, if own weights put back give its output on the texts to audit, and other weights change it on some.

    Texts from all over the split are read, a few at a time, until other weights are heard.
    """
    rows = np.unique(np.linspace(0, len(encoded) - 1, min(len(encoded), MOST_READ)).astype(np.int64))
    moved = 0
    for part in np.array_split(rows, -(-len(rows) // TOGETHER)):
        reading = read_again(subject, encoded.batch(part).to(subject.device))
        weights, mask = reading.weights, reading.mask
        turned = weights.where(~mask, weights.amax(-1, keepdim=True) - weights + 1e-3).where(mask, 0.0)
        turned = turned / turned.sum(-1, keepdim=True)
        if float((reading.reread(turned[:, None].double())[:, 0] - reading.logits).abs().max()) > 0.0:
            return subject
        moved += int(((turned - weights).abs().amax(-1) > 1e-6).sum())
    if moved:
        raise InputError(
            f"Other attention weights given to {subject.called} leave the output as it is to the last bit, on all "
            f"{moved} texts tried: they are not what the output is made of. Name the module that makes the weights, "
            "and returns nothing else."
        )
    return subject


def call_of(module: nn.Module, call: Callable[[nn.Module, Tensor, Tensor], Tensor] | None) -> Callable[..., Tensor]:
    """How the model is called: as given, or with words and mask where it takes two, or with words alone."""
    if call is not None:
        return call
    takes = [p for p in inspect.signature(module.forward).parameters.values() if p.default is p.empty]
    needed = [p for p in takes if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(needed) > 2:
        raise InputError(
            f"{type(module).__name__}.forward takes {len(needed)} arguments: say how to call it, "
            "call=lambda model, words, mask: model(…)."
        )
    return (
        (lambda model, words, mask: model(words, mask))
        if len(needed) == 2
        else (lambda model, words, mask: model(words))
    )
