"""The Transformer as a translator: layers of self-attention read the text, others write and attend to it in each.

As in the recurrent translator, the rows of a batch are steps of writing. It attends to the text in many places: a site
is one head of one layer, "cross LAYER.HEAD". Rereading a step replaces the weights of that head at that step alone, and
what stands above is computed again at that step; the steps before it stay as they were.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch, Sequences, step_keys
from attentest.data.vocabulary import PAD
from attentest.errors import InputError
from attentest.models.capabilities import GeneratesInLayers
from attentest.models.networks.beam import State, Weigh, Written, beam_search
from attentest.models.networks.embedded import EmbeddedNetwork
from attentest.models.networks.transformer_weights import at_every_head, by_head, replacing, rows_replaced
from attentest.models.networks.translator import sentences_of
from attentest.models.parts.attention import AttentionNetwork, ScaledDot
from attentest.models.parts.decoders import Transformer
from attentest.models.parts.transformer_layers import (
    KINDS,
    DecoderLayer,
    EncoderLayer,
    LayerCourse,
    Remembered,
    Reweigh,
    positions,
)
from attentest.models.replaced import AttentionPlace, Replacement
from attentest.models.shared_work.deletion import encoded_without_each
from attentest.models.subject import DecodedReading, Reading

__all__ = ["TransformerTranslator"]


class TransformerTranslator(EmbeddedNetwork, GeneratesInLayers):
    """Layers that read, and layers that write; each of them is a part."""

    target_embedding: nn.Embedding
    #: What all heads of all layers weigh the text with in the place of their own weights, where training had it so.
    attention: AttentionNetwork | None
    bias: nn.Parameter

    @property
    def order(self) -> tuple[str, ...]:
        """Layers that read, then layers that write; an attention apart only where they have none of their own."""
        reading, writing = ([f"{kind}_{i}" for i in range(1, self._form.layers + 1)] for kind in ("encoder", "decoder"))
        apart = () if isinstance(self.architecture.attention, ScaledDot) else ("attention",)
        return ("embedding", *reading, "target_embedding", *writing, *apart)

    def _set_up(self) -> None:
        self.site = self._form.sites[0]
        self.bias = nn.Parameter(torch.zeros(self.classes))
        if "attention" not in self._modules:
            self.attention = None

    def _take(self, vectors: Float[Tensor, "word embedding"]) -> None:
        self.embedding.weight.copy_(vectors).mul_(self._form.hidden**-0.5)

    def _new(self, part: str) -> nn.Module:
        if part not in ("embedding", "target_embedding"):
            return self._new_above(part)
        # Multiplied again where they are read: so they learn as fast as Vaswani et al.'s.
        table = nn.Embedding(self.words if part == "embedding" else self.classes, self._form.hidden, padding_idx=PAD)
        with torch.no_grad():
            table.weight.mul_(self._form.hidden**-0.5)
        return table

    def _new_above(self, part: str) -> nn.Module:
        form = self._form
        if part == "attention":
            return self.architecture.attention.build(form.hidden)
        kind, _, number = part.partition("_")
        build = EncoderLayer if kind == "encoder" else DecoderLayer
        last = int(number) == form.layers
        layer = build(form.hidden, form.heads, form.feedforward, form.dropout, int(number), kind, last=last)
        if isinstance(layer, DecoderLayer) and not isinstance(self.architecture.attention, ScaledDot):
            for unused in (layer.cross.query, layer.cross.key):
                unused.requires_grad_(False)
        return layer

    @property
    def _form(self) -> Transformer:
        form = self.architecture.decoder
        assert isinstance(form, Transformer)
        return form

    @property
    def _reads(self) -> list[EncoderLayer]:
        return [getattr(self, f"encoder_{i}") for i in range(1, self._form.layers + 1)]

    @property
    def _writes(self) -> list[DecoderLayer]:
        return [getattr(self, f"decoder_{i}") for i in range(1, self._form.layers + 1)]

    @property
    def sites(self) -> tuple[str, ...]:
        """Every head of every layer's attention to the text, the last layer first."""
        return self._form.sites

    def at(self, site: str) -> TransformerTranslator:
        """The same network, read and reread at this head."""
        super().at(site)
        twin = copy.copy(self)
        twin.site = site or self.sites[0]
        return twin

    @property
    def _place(self) -> tuple[int, int]:
        """Layer and head of the site, counted from 0."""
        layer, head = self.site.removeprefix("cross ").split(".")
        return int(layer) - 1, int(head) - 1

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Those that make the weights over the text."""
        for layer in self._writes:
            yield from (*layer.cross.query.parameters(), *layer.cross.key.parameters())

    @property
    def parts(self) -> tuple[str, ...]:
        """Layers that write, layers that read, embeddings."""
        numbers = range(self._form.layers, 0, -1)
        reading, writing = [f"encoder_{i}" for i in numbers], [f"decoder_{i}" for i in numbers]
        return (*writing, *reading, "embedding", "target_embedding")

    def head(self, outputs: Float[Tensor, "*row hidden"]) -> Float[Tensor, "*row word"]:
        """Logits of the target's words, by their own embeddings (Press & Wolf 2017)."""
        return nn.functional.linear(outputs, self.target_embedding.weight, self.bias)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
        reweigh: Reweigh | None = None,
    ) -> Reading:
        """Read every text once, write its target, and take out the steps that the rows are.

        ``reweigh`` may give other weights to any attention (transformer_layers.py).
        """
        # A gradient is asked for row by row, and steps of one text must not share what it is taken at.
        apart = embeddings is not None or (torch.is_grad_enabled() and not self.training)
        text, words, keys, of, step = sentences_of(batch, apart=apart)
        embedded = self.embedding(text.tokens) if embeddings is None else embeddings
        layer, head = self._place
        detached = (layer, head) if detach_attention else None
        number = torch.arange(words.tokens.shape[1] - 1, device=keys.device)
        random_keys = step_keys(keys[:, None].expand(-1, len(number)), number.expand(len(keys), -1))
        memory = self._remembered(self._encoded(embedded, text, reweigh))
        courses = self._written(memory, text, words, self._weighing(random_keys, reweigh, detached))
        site = self._writes[layer].cross
        states = site.contributed(memory[layer].values[:, head], head)
        weights = courses[layer].weights[of, head, step]
        if not apart:
            states, embedded = states[of], embedded[of]
        again = self._weighing(random_keys[of, step][:, None], reweigh, detached)

        def decode(context: Tensor) -> Tensor:
            return self._decoded(context, courses, memory, text, of, step, again)

        logits = decode(weights[:, None] @ states)[:, 0] if apart else self.head(courses[-1].after[of, step])
        return DecodedReading(logits, weights, batch.mask, states, embedded, decode)

    def _encoded(self, embedded: Tensor, text: Sequences, reweigh: Reweigh | None = None) -> Tensor:
        """The text as its layers read it, start and end symbols included."""
        real = torch.arange(embedded.shape[1], device=embedded.device) < text.lengths[:, None]
        states = self._placed(embedded, 0)
        for layer in self._reads:
            states = layer(states, real, reweigh)
        return states

    def _placed(self, embedded: Float[Tensor, "row position hidden"], begin: int) -> Tensor:
        """Embeddings, and where they stand."""
        placed = embedded * math.sqrt(self._form.hidden) + positions(begin, begin + embedded.shape[1], embedded)
        return nn.functional.dropout(placed, self._form.dropout, self.training)

    def _remembered(self, states: Tensor) -> list[Remembered]:
        """What each layer that writes finds in the text."""
        return [layer.cross.remembered(states) for layer in self._writes]

    def _written(
        self, memory: Sequence[Remembered], text: Sequences, words: Sequences, reweigh: Reweigh | None
    ) -> list[LayerCourse]:
        """Write the given words, all steps at once."""
        states, courses = self._placed(self.target_embedding(words.tokens[:, :-1]), 0), []
        for layer, remembered in zip(self._writes, memory, strict=True):
            courses.append(layer(states, remembered, text.mask, reweigh))
            states = courses[-1].after
        return courses

    def _decoded(
        self,
        context: Float[Tensor, "row alternative hidden"],
        courses: Sequence[LayerCourse],
        memory: Sequence[Remembered],
        text: Sequences,
        of: Int[Tensor, " row"],
        step: Int[Tensor, " row"],
        reweigh: Reweigh | None,
    ) -> Float[Tensor, "row alternative word"]:
        """The logits when the site's head found this; the layers above go on from it at these steps."""
        number, head = self._place
        layer, course = self._writes[number], courses[number]
        others = course.contexts[of, :, step].clone()
        others[:, head] = 0
        states = course.before[of, step][:, None] + layer.cross.joined(others[:, :, None]) + context
        states = layer.finished(states)
        seen = torch.arange(course.before.shape[1], device=of.device) < step[:, None]
        for above, past, read in zip(
            self._writes[number + 1 :], courses[number + 1 :], memory[number + 1 :], strict=True
        ):
            states, _ = above.step(states, past.own.of(of), seen, read.of(of), text.mask[of], reweigh)
        return self.head(states)

    def _weighing(
        self,
        random_keys: Int[Tensor, "row query"],
        given: Reweigh | None = None,
        detached: tuple[int, int] | None = None,
    ) -> Reweigh | None:
        """What stands in the place of the weights: of attention that learns nothing, then what is given.

        ``random_keys`` are those of the steps. ``detached``: the layer and head whose weights let no gradient through.
        """
        if self.attention is None and detached is None:
            return given

        def reweigh(weights: Tensor, mask: Tensor, layer: int, kind: str) -> Tensor:
            if kind == "cross" and self.attention is not None:
                keys = by_head(random_keys, layer, weights.shape[1])[..., None]
                weights = self.attention.weigh(weights[..., None], mask, keys)
            if given is not None:
                weights = given(weights, mask, layer, kind)
            if detached is not None and kind == "cross" and layer == detached[0] + 1:
                cut = (torch.arange(weights.shape[1], device=weights.device) == detached[1])[:, None, None]
                weights = torch.where(cut, weights.detach(), weights)
            return weights

        return reweigh

    @torch.no_grad()
    def translate(
        self,
        text: Sequences,
        keys: Int[Tensor, " sentence"],
        *,
        beam: int = 5,
        weigh: Weigh | None = None,
    ) -> Written:
        """The best translations by beam search; ``weigh`` puts other weights in every layer and head over the text."""

        def writing(own: Tensor, step: int) -> Reweigh | None:
            return None if weigh is None else at_every_head(weigh, own, step)

        return self._searched(text, keys, beam, None, writing)

    def _searched(
        self,
        text: Sequences,
        keys: Int[Tensor, " sentence"],
        beam: int,
        reading: Reweigh | None,
        writing: Callable[[Int[Tensor, " row"], int], Reweigh | None],
    ) -> Written:
        """The best translations, with other weights while the text is read, and at each step of writing."""
        if beam < 1:
            raise InputError(f"beam={beam} must be at least 1.")
        # The candidates of a text stay beside each other, so what they read never moves.
        rows = torch.arange(len(keys), device=keys.device).repeat_interleave(beam)
        encoded = self._encoded(self.embedding(text.tokens), text, reading)
        memory = [part.of(rows) for part in self._remembered(encoded)]
        mask, own = text.mask[rows], keys[rows]

        def advance(state: State, last: Tensor, step: int) -> tuple[Tensor, State]:
            states = self._placed(self.target_embedding(last)[:, None], step)
            random_keys = step_keys(own, torch.full_like(own, step))[:, None]
            reweigh = self._weighing(random_keys, writing(own, step))
            seen, after = mask.new_ones(len(mask), step), []
            for number, layer in enumerate(self._writes):
                past = Remembered(*state[2 * number : 2 * number + 2])
                states, here = layer.step(states, past, seen, memory[number], mask, reweigh)
                after += [torch.cat([past.keys, here.keys], 2), torch.cat([past.values, here.values], 2)]
            return self.head(states[:, 0]), tuple(after)

        nothing = memory[0].keys[::beam, :, :0]
        begun = (nothing,) * (2 * len(memory))
        return beam_search(advance, begun, beam=beam, longest=2 * text.lengths + 10)

    @property
    def attention_places(self) -> tuple[AttentionPlace, ...]:
        """Of every kind, layer by layer."""
        return tuple(AttentionPlace(kind, layer) for kind in KINDS for layer in range(1, self._form.layers + 1))

    @torch.no_grad()
    def with_layers_replaced(
        self, batch: Batch, places: Sequence[int], replacement: Replacement
    ) -> Float[Tensor, "batch class"]:
        """Every text read and its target written once; at a step, the steps before it had such weights too."""
        _, _, keys, _, _ = sentences_of(batch)
        rows = rows_replaced(self.attention_places, [places], len(keys), keys.device)
        return self.read(batch, reweigh=replacing(replacement, rows, keys)).logits

    @torch.no_grad()
    def translate_with_layers_replaced(
        self,
        text: Sequences,
        keys: Int[Tensor, " sentence"],
        sets: Sequence[Sequence[int]],
        replacement: Replacement,
        *,
        beam: int = 1,
    ) -> list[Written]:
        """All sets side by side in one search; a word among those written sees no further than itself."""
        count, number = len(keys), torch.arange(len(keys) * len(sets), device=keys.device)
        repeated, each = text[number % count], keys[number % count]
        read, written = (rows_replaced(self.attention_places, sets, count * of, keys.device) for of in (1, beam))

        def writing(own: Tensor, step: int) -> Reweigh:
            return replacing(replacement, written, own, step)

        found = self._searched(repeated, each, beam, replacing(replacement, read, each), writing)
        parts = [slice(begin * count, (begin + 1) * count) for begin in range(len(sets))]
        return [Written(found.words[part], found.lengths[part], found.scores[part]) for part in parts]

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Logits without each token to read, every shortened text read and its target written again."""
        return encoded_without_each(self, batch)
