"""Decoders that write word by word: what attention is asked with at a step, and what is made of the context it gives.

A step has two halves, and between them stands attention: ``asking`` makes the query from the state and the last word,
``writing`` makes the next state and the output from the context. So weights can be replaced at every step, and at one
step alone the second half is computed again and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.parameters import Checked, Within
from attentest.registry import Registry, classes_below

__all__ = [
    "DECODERS",
    "Bahdanau",
    "Decoder",
    "DecoderNetwork",
    "Luong",
    "Recurrent",
    "Transformer",
    "TransformerBase",
]

#: What a recurrent decoder's first state is made of.
STARTS = ("summary", "zeros")
#: What a decoder carries from step to step, or from the first half of a step to the second.
Carried = tuple[Tensor, ...]


class DecoderNetwork(nn.Module, ABC):
    """States of the text to read and embeddings of the words written so far, to outputs of the embeddings' size."""

    #: The size of its queries.
    query: int

    @abstractmethod
    def begin(self, summary: Float[Tensor, "sentence state"]) -> Carried:
        """The state before the first word, from the text as one state."""

    @abstractmethod
    def asking(
        self, state: Carried, word: Float[Tensor, "*row embedding"]
    ) -> tuple[Float[Tensor, "*row query"], Carried]:
        """The query of a step, and what its second half needs."""

    @abstractmethod
    def writing(self, carried: Carried, context: Float[Tensor, "*row state"]) -> Carried:
        """The next state; the context may have more axes, of alternatives, than what is carried."""

    @abstractmethod
    def said(
        self, carried: Carried, state: Carried, context: Float[Tensor, "*row state"]
    ) -> Float[Tensor, "*row embedding"]:
        """The output, from the state after writing: of one step, or of many at once."""


class Decoder(Checked, ABC):
    """A description of a decoder."""

    name: ClassVar[str]

    @property
    def sites(self) -> tuple[str, ...]:
        """Where it attends to the text, the last attention before the output first."""
        return ("word",)


class Recurrent(Decoder):
    """A decoder that goes on from state to state, above an encoder and an attention of one's choice."""

    start: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start not in STARTS:
            raise InputError(f"Decoder {self.name!r}: start={self.start!r} must be {' or '.join(STARTS)}.")

    @abstractmethod
    def build(self, embedding: int, states: int) -> DecoderNetwork:
        """The network, for words and states of these sizes."""


@dataclass(frozen=True)
class Bahdanau(Recurrent):
    """A GRU that asks with its last state and takes the context in (Bahdanau et al. 2015).

    The default. It looks at the text with the state it is in, takes what it saw into the next state together with
    the last word, and writes from state, sight and last word. It has one attention, so there is one thing to show.
    The text is read by `--encoder`; the weights are `--attention`'s.
    """

    name: ClassVar[str] = "bahdanau"
    hidden: Annotated[int, "Numbers in the state that asks and writes.", Within(1, 65_536)] = 256
    dropout: Annotated[
        float,
        "The share of what the output layer sees, and of what it gives, that is left out at random in training.",
        Within(0, 1, without=(1,)),
    ] = 0.3

    start: Annotated[
        str,
        "What its first state is made of: `summary`, the text as one state, or `zeros`, so that nothing but attention "
        "brings the text in.",
    ] = "summary"

    def build(self, embedding: int, states: int) -> DecoderNetwork:
        """One recurrent layer and an output layer of state, context and last word."""
        return BahdanauNetwork(embedding, states, self.hidden, self.dropout, empty=self.start == "zeros")


@dataclass(frozen=True)
class Luong(Recurrent):
    """An LSTM that asks with its new state; tanh(W [context; state]) is the output, if ``feeding`` also the next input.

    It steps on first, with an LSTM, and looks at the text with its new state; what it saw and the state together
    are the output. For their scores use `--attention "dot(scaled=False, mapped=False)"` ("dot") or `--attention
    "dot(scaled=False)"` ("general").
    """

    name: ClassVar[str] = "luong"
    hidden: Annotated[
        int,
        "Numbers in the state that asks and writes; those of the text's states where nothing maps between them "
        "(`mapped=False`).",
        Within(1, 65_536),
    ] = 256
    dropout: Annotated[
        float,
        "The share of what the output layer sees, and of what it gives, that is left out at random in training.",
        Within(0, 1, without=(1,)),
    ] = 0.3
    feeding: Annotated[
        bool,
        'Whether the last output is read with the next word ("input feeding"), so that a step knows where the last '
        "ones looked.",
    ] = True
    start: Annotated[
        str,
        "What its first state is made of: `summary`, the text as one state, or `zeros`, so that nothing but attention "
        "brings the text in.",
    ] = "summary"

    def build(self, embedding: int, states: int) -> DecoderNetwork:
        """One recurrent layer and an output layer of context and state."""
        empty = self.start == "zeros"
        return LuongNetwork(embedding, states, self.hidden, self.dropout, self.feeding, empty=empty)


@dataclass(frozen=True)
class Transformer(Decoder):
    """Layers of self-attention that attend to a text read by as many such layers (Vaswani et al. 2017).

    Layers of self-attention read the text, and as many layers write, each of them attending to it with several
    heads at once. There is no single attention to show, so an audit looks at one head: `--site "cross 4.1"` is the
    first head of the fourth layer. Without `--site` it is the first head of the last layer. Replaced weights are
    that head's, at one step; when `bleu` replaces weights, it does so in every layer and head. The text is read
    without a recurrent encoder: leave out `--encoder`, `--attention` (or use `uniform` or `random`, for all heads)
    and `--embedding`. Unless you say otherwise it is trained for up to 40 epochs on batches of 128 texts, at a
    learning rate that rises to 0.001 over 2,000 steps and then falls. The size is for small corpora, such as
    Multi30k.

    Parts are normalised before, not after, they are computed.
    """

    name: ClassVar[str] = "transformer"
    layers: Annotated[int, "Layers that read, and as many that write.", Within(1, 64)] = 4
    heads: Annotated[int, "Heads of every attention, side by side; `hidden` is a multiple of them.", Within(1, 256)] = 4
    hidden: Annotated[int, "Numbers in a state and in an embedding.", Within(1, 65_536)] = 256
    feedforward: Annotated[int, "Numbers in the middle of the network that ends every layer.", Within(1, 262_144)] = (
        1024
    )
    dropout: Annotated[
        float,
        "The share of embeddings, and of what every part of a layer adds, that is left out at random in training.",
        Within(0, 1, without=(1,)),
    ] = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % self.heads or self.hidden % 2:
            raise InputError(
                f"Decoder {self.name!r}: hidden={self.hidden} must be even, and a multiple of heads={self.heads}."
            )

    @property
    def sites(self) -> tuple[str, ...]:
        """Every head of every layer's attention to the text, "cross LAYER.HEAD", the last layer first."""
        numbers = range(1, self.heads + 1)
        return tuple(f"cross {layer}.{head}" for layer in range(self.layers, 0, -1) for head in numbers)


@dataclass(frozen=True)
class TransformerBase(Transformer):
    """The Transformer in the size that Vaswani et al. call base.

    Like `transformer`, for millions of sentences, not for thousands.
    """

    name: ClassVar[str] = "transformer_base"
    layers: int = 6
    heads: int = 8
    hidden: int = 512
    feedforward: int = 2048
    dropout: float = 0.1


DECODERS: Registry[Decoder] = Registry("decoder", partial(classes_below, "attentest.models.parts", Decoder))


class BahdanauNetwork(DecoderNetwork):
    """s' = GRU([word; context], s)."""

    def __init__(self, embedding: int, states: int, hidden: int, dropout: float, *, empty: bool = False) -> None:
        super().__init__()
        self.query, self.empty = hidden, empty
        self.first = nn.Linear(states, hidden)
        self.cell = nn.GRUCell(embedding + states, hidden)
        self.output = nn.Linear(hidden + states + embedding, embedding)
        self.dropout = nn.Dropout(dropout)

    def begin(self, summary: Tensor) -> Carried:
        """A layer of the summary, or nothing."""
        first = self.first(summary).tanh()
        return (torch.zeros_like(first) if self.empty else first,)

    def asking(self, state: Carried, word: Tensor) -> tuple[Tensor, Carried]:
        """The state before the word."""
        return state[0], (state[0], word)

    def writing(self, carried: Carried, context: Tensor) -> Carried:
        """A step of the GRU."""
        state, word = (_beside(values, context) for values in carried)
        return (_flat(self.cell, torch.cat([word, context], -1), state),)

    def said(self, carried: Carried, state: Carried, context: Tensor) -> Tensor:
        """A layer of all there is."""
        known = torch.cat([state[0], context, _beside(carried[1], context)], -1)
        said: Tensor = self.dropout(self.output(self.dropout(known)).tanh())
        return said


class LuongNetwork(DecoderNetwork):
    """h' = LSTM([word; last output], h); the output is tanh(W [context; h'])."""

    def __init__(
        self, embedding: int, states: int, hidden: int, dropout: float, feeding: bool, *, empty: bool = False
    ) -> None:
        super().__init__()
        self.query, self.empty = hidden, empty
        self.first = nn.Linear(states, 2 * hidden)
        self.cell = nn.LSTMCell(2 * embedding if feeding else embedding, hidden)
        self.output = nn.Linear(hidden + states, embedding)
        self.dropout = nn.Dropout(dropout)
        self.feeding, self.embedding = feeding, embedding

    def begin(self, summary: Tensor) -> Carried:
        """Layers of the summary, or nothing; nothing was written yet."""
        both = self.first(summary)
        hidden, cell = (torch.zeros_like(both) if self.empty else both).chunk(2, -1)
        return hidden.tanh(), cell, summary.new_zeros(*summary.shape[:-1], self.embedding)

    def asking(self, state: Carried, word: Tensor) -> tuple[Tensor, Carried]:
        """A step of the LSTM: its new state asks."""
        hidden, cell, written = state
        hidden, cell = self.cell(torch.cat([word, written], -1) if self.feeding else word, (hidden, cell))
        return hidden, (hidden, cell)

    def writing(self, carried: Carried, context: Tensor) -> Carried:
        """A layer of context and state."""
        hidden, cell = (_beside(values, context) for values in carried)
        return hidden, cell, self.dropout(self.output(self.dropout(torch.cat([context, hidden], -1))).tanh())

    def said(self, carried: Carried, state: Carried, context: Tensor) -> Tensor:
        """What was written, already there."""
        return state[2]


def _beside(values: Tensor, context: Tensor) -> Tensor:
    """What is carried, for every one of the alternatives that the context has."""
    for axis in range(values.ndim - 1, context.ndim - 1):
        values = values.unsqueeze(axis)
    return values.expand(*context.shape[:-1], values.shape[-1])


def _flat(cell: nn.GRUCell, inputs: Tensor, state: Tensor) -> Tensor:
    """A step of the cell for rows of any shape."""
    after: Tensor = cell(inputs.flatten(0, -2), state.flatten(0, -2))
    return after.view(*inputs.shape[:-1], -1)
