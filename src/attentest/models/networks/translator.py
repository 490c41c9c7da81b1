"""The translator: embedding → encoder → attention asked by a decoder, word by word.

While it writes a given text, each step is a decision of its own about a pair: the text to read, and the words written
so far, whose state is the query. So the rows of its batches are steps, and all that is put to classifiers of pairs can
be put to it. Rereading a step replaces its weights alone; what came before stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch, Sequences, step_keys
from attentest.data.vocabulary import PAD
from attentest.errors import InputError
from attentest.models.capabilities import Attends, Generates
from attentest.models.networks.beam import Weigh, Written, beam_search
from attentest.models.networks.embedded import EmbeddedNetwork
from attentest.models.parts.attention import AttentionNetwork
from attentest.models.parts.decoders import Carried, DecoderNetwork, Recurrent
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.shared_work.deletion import encoded_without_each
from attentest.models.subject import DecodedReading, Reading

__all__ = ["Course", "Translator", "sentences_of"]


@dataclass(frozen=True)
class Course:
    """What happens while texts are written, step by step."""

    queries: Float[Tensor, "sentence step query"]
    weights: Float[Tensor, "sentence step token"]
    outputs: Float[Tensor, "sentence step embedding"]
    #: What stands between the halves of each step.
    carried: tuple[Float[Tensor, "sentence step _"], ...]


class Translator(EmbeddedNetwork, Attends, Generates):
    """A recurrent encoder and decoder with attention between them."""

    encoder: EncoderNetwork
    attention: AttentionNetwork
    decoder: DecoderNetwork
    target_embedding: nn.Embedding
    bias: nn.Parameter

    @property
    def order(self) -> tuple[str, ...]:
        """What reads, what writes, and what is between them."""
        return ("embedding", "encoder", "target_embedding", "decoder", "attention")

    def _set_up(self) -> None:
        self.bias = nn.Parameter(torch.zeros(self.classes))

    def _new_above(self, part: str) -> nn.Module:
        size = self.architecture.embedding
        if part == "encoder":
            return self.architecture.encoder.build(size)
        if part == "target_embedding":
            # The words' embeddings are also the output's weights, so they begin small.
            table = nn.Embedding(self.classes, size, padding_idx=PAD)
            with torch.no_grad():
                table.weight.mul_(size**-0.5)
            return table
        if part == "decoder":
            assert isinstance(self.architecture.decoder, Recurrent)
            return self.architecture.decoder.build(size, self.encoder.size)
        return self.architecture.attention.build(self.encoder.size, self.decoder.query)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Those of the attention."""
        return self.attention.parameters()

    def head(self, outputs: Float[Tensor, "*row embedding"]) -> Float[Tensor, "*row word"]:
        """Logits of the target's words, by their own embeddings (Press & Wolf 2017)."""
        return nn.functional.linear(outputs, self.target_embedding.weight, self.bias)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """Encode every text once, write its target, and take out the steps that the rows are."""
        # A gradient is asked for row by row, and steps of one text must not share what it is taken at.
        apart = embeddings is not None or (torch.is_grad_enabled() and not self.training)
        text, words, keys, of, step = sentences_of(batch, apart=apart)
        embedded = self._dropped(self.embedding(text.tokens)) if embeddings is None else embeddings
        states = self._dropped(self.encoder(embedded, text.lengths))
        course = self._written(states, text, words, keys, detach_attention)
        carried = tuple(values[of, step] for values in course.carried)

        def decode(context: Tensor) -> Tensor:
            return self.head(self.decoder.said(carried, self.decoder.writing(carried, context), context))

        rows, weights = states[of], course.weights[of, step]
        if not apart:
            embedded = embedded[of]
        # The rows' states are those of their own step: what earlier steps made of them has its own way to the output.
        logits = decode((weights[:, None] @ rows)[:, 0]) if apart else self.head(course.outputs[of, step])
        return DecodedReading(logits, weights, batch.mask, rows, embedded, decode)

    def attend(self, batch: Batch, states: Float[Tensor, "row token state"], queries: Batch) -> Tensor:
        """What its attention gives these states of the batch's texts when asked as at the steps of another batch."""
        if self.attention.asks_the_instance:
            return self.attention(states, batch.mask, queries.keys[:, None])  # type: ignore[no-any-return]
        text, words, keys, of, step = sentences_of(queries)
        course = self._written(self.encoder(self.embedding(text.tokens), text.lengths), text, words, keys)
        return self.attention(states, batch.mask, course.queries[of, step])  # type: ignore[no-any-return]

    def _dropped(self, values: Tensor) -> Tensor:
        """With dropout, in training."""
        decoder = self.architecture.decoder
        return nn.functional.dropout(values, getattr(decoder, "dropout", 0.0), self.training)

    def _written(
        self, states: Tensor, text: Sequences, words: Sequences, keys: Tensor, detach_attention: bool = False
    ) -> Course:
        """Write the given words, each step asking with what was written before."""
        given = self._dropped(self.target_embedding(words.tokens[:, :-1]))
        attended = self.attention.keys(states)
        state = self.decoder.begin(self.encoder.summary(states, text.lengths, text.mask))
        steps: list[tuple[Carried, Carried, Carried]] = []
        for number, word in enumerate(given.unbind(1)):
            query, carried = self.decoder.asking(state, word)
            weights = self._weights(attended, text.mask, query, keys, number)
            if detach_attention:
                weights = weights.detach()
            context = (weights[:, None] @ states)[:, 0]
            state = self.decoder.writing(carried, context)
            steps.append(((query, weights, context), carried, state))
        parts = [[torch.stack(values, 1) for values in zip(*part, strict=True)] for part in zip(*steps, strict=True)]
        (queries, weights, contexts), between, states_after = parts
        # All outputs at once: only what a step hands on is computed step by step.
        outputs = self.decoder.said(tuple(between), tuple(states_after), contexts)
        return Course(queries, weights, outputs, tuple(between))

    def _weights(self, attended: Tensor, mask: Tensor, query: Tensor, keys: Tensor, step: int) -> Tensor:
        if self.attention.asks_the_instance:
            query = step_keys(keys, torch.full_like(keys, step))[:, None]
        return self.attention.weigh(attended, mask, query)

    @torch.no_grad()
    def translate(
        self,
        text: Sequences,
        keys: Int[Tensor, " sentence"],
        *,
        beam: int = 5,
        weigh: Weigh | None = None,
    ) -> Written:
        """The best translations by beam search; ``weigh`` puts other weights in the place of its own at every step."""
        if beam < 1:
            raise InputError(f"beam={beam} must be at least 1.")
        states = self.encoder(self.embedding(text.tokens), text.lengths)
        read = states, self.attention.keys(states), text.mask, keys
        begun = self.decoder.begin(self.encoder.summary(states, text.lengths, text.mask))

        def advance(state: Carried, last: Tensor, step: int) -> tuple[Tensor, Carried]:
            states, attended, mask, own = state[: len(read)]
            query, carried = self.decoder.asking(state[len(read) :], self.target_embedding(last))
            weights = self._weights(attended, mask, query, own, step)
            if weigh is not None:
                weights = weigh(weights, mask, own, step).to(weights.dtype)
            context = (weights[:, None] @ states)[:, 0]
            after = self.decoder.writing(carried, context)
            return self.head(self.decoder.said(carried, after, context)), (*state[: len(read)], *after)

        return beam_search(advance, (*read, *begun), beam=beam, longest=2 * text.lengths + 10)

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Logits without each token to read, every shortened text encoded and its target written again."""
        return encoded_without_each(self, batch)

    @property
    def parts(self) -> tuple[str, ...]:
        """Decoder, attention unless it learns nothing, encoder, embeddings."""
        learnt = ("attention",) if any(p.requires_grad for p in self.attention.parameters()) else ()
        return ("decoder", *learnt, "encoder", "embedding", "target_embedding")


def sentences_of(
    batch: Batch, *, apart: bool = False
) -> tuple[Sequences, Sequences, Int[Tensor, " sentence"], Int[Tensor, " row"], Int[Tensor, " row"]]:
    """The texts to read and to write, each once, their keys, and where each row stands: which text, which step.

    ``apart``: every row by itself, as gradients need it.
    """
    target = batch.target
    if target is None:
        raise InputError("A translator needs texts to write: give it a corpus of translations.")
    if target.whole and not apart:
        return target.text, target.words, target.keys, target.of, target.step
    rows = torch.arange(len(batch), device=target.of.device)
    first, of = rows, rows
    if not apart:
        # Rows of one sentence, altered alike, are read once.
        about = torch.cat([batch.text.tokens, batch.mask.long(), batch.text.lengths[:, None], target.of[:, None]], 1)
        distinct, of = about.unique(dim=0, return_inverse=True)
        first = torch.full((len(distinct),), len(rows), device=rows.device).scatter_reduce(0, of, rows, "amin")
    longest = int(target.step.max()) + 2 if len(rows) else 2
    words = target.words[target.of[first]].narrowed(longest)
    return batch.text[first], words, target.keys[target.of[first]], of, target.step
