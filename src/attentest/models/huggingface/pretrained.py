"""A model of the Transformers library as a subject.

Reading runs the model once. Rereading runs only what lies above the site: every layer below it gives what it gave,
and where the site is in the last layer and the output depends on one row alone, only that row is computed.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch, Encoded
from attentest.errors import InputError
from attentest.models.capabilities import Layered
from attentest.models.copies import copies
from attentest.models.huggingface.attending import Edit, Pass, under_way
from attentest.models.huggingface.partial_forward.above_site import AboveSite
from attentest.models.huggingface.partial_forward.edits import holding, keeping, replacing
from attentest.models.huggingface.partial_forward.erased_texts import logits_of_many
from attentest.models.huggingface.pieces import Layout, Pieces
from attentest.models.huggingface.places import Places
from attentest.models.huggingface.recomputing import NUMBERS
from attentest.models.huggingface.site import Seen, look, parse_site, site_names
from attentest.models.network import Network
from attentest.models.replaced import AttentionPlace, Replacement
from attentest.models.subject import BASELINES, Reading

__all__ = ["Pretrained", "PretrainedReading"]

#: Vectors of the model's size that a layer keeps of every piece for the way back, and that one of BERT's kind keeps.
KEPT, OF_BERT = 20, 12


@dataclass(frozen=True)
class PretrainedReading(Reading):
    """A reading at a site; without gradients ``embeddings`` are left out (their last axis is empty)."""

    #: What the site's words get of all; the rest is on special tokens, prompt and second text, and is held.
    total: Float[Tensor, " batch"]
    #: The weights head by head, whatever heads the site has.
    heads: Float[Tensor, "batch head token"]
    above: Callable[[Float[Tensor, "batch alternative token"]], Float[Tensor, "batch alternative class"]]
    #: The same for other states of words, where that is known.
    restated: (
        Callable[[Float[Tensor, "batch alternative token state"]], Float[Tensor, "batch alternative class"]] | None
    ) = None

    @property
    def on_words(self) -> Float[Tensor, " batch"]:
        """What the site's words get of all."""
        return self.total

    @property
    def token_logits(self) -> None:
        """There are none: a transformer is not affine in its attention."""
        return None

    def reread(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """The site and what lies above it, computed anew."""
        return self.above(weights)

    def with_states(self, states: Float[Tensor, "batch alternative token state"]) -> Tensor | None:
        """What lies above the site, when its rows find these."""
        return None if self.restated is None else self.restated(states)


class Pretrained(Network, Layered):
    """A Transformers model over words: sequence classification, or the next token of a language model."""

    #: What such a subject is, where one is asked for.
    called: ClassVar[str] = "checkpoints of the Transformers library (--model, --fine-tune)"
    pieces: Pieces
    answers: Tensor | None

    def __init__(
        self,
        model: Any,
        pieces: Pieces,
        places: Places,
        classes: int,
        rows: str,
        *,
        answers: Int[Tensor, " class"] | None = None,
        start: int | None = None,
    ) -> None:
        nn.Module.__init__(self)
        self.model, self.pieces, self.places, self.rows = model, pieces, places, rows
        self.classes, self.words = classes, len(pieces.counts)
        #: The pieces that stand for the classes of a language model; None: the model has an output for each class.
        self.register_buffer("answers", answers, persistent=False)
        #: What an encoder–decoder's decoder begins with.
        self.start = start
        self.site = parse_site("", places, rows)
        #: Whether a rereading may compute one row alone; the self-test says so.
        self.narrow = False
        #: Whether layers may be computed in few operations where logits alone are asked for; found out likewise.
        self.quick = False
        self._takes = set(inspect.signature(model.forward).parameters)

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        device: torch.device = next(self.model.parameters()).device
        return device

    def numbers_per_piece(self, longest: int, first: int = 0) -> int:
        """About how many numbers a pass with gradients, from a layer on, keeps for one piece of texts of so many."""
        layers = len(self.places.stacks) - first
        heads = sum(place.heads for place in self.places.places if place.layer >= first)
        spoken = self.model.get_output_embeddings()
        outputs = 0 if spoken is None else int(spoken.weight.shape[0])
        hidden: int = self.model.config.get_text_config().hidden_size
        kept = OF_BERT if self.places.quick else KEPT
        return kept * layers * hidden + 3 * (heads * longest + outputs)

    @property
    def sites(self) -> tuple[str, ...]:
        """Layers, and each of their heads; the last layer first."""
        return site_names(self.places)

    def at(self, site: str) -> Pretrained:
        """The same model, read and overwritten at this site."""
        twin = copy.copy(self)
        twin.site = parse_site(site, self.places, self.rows)
        return twin

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """None is spared: queries and keys make weights, and are decayed like all others."""
        return ()

    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """Every word's pieces' embeddings side by side, zeros where it has fewer; start and end have none."""
        there = self.pieces.there(batch.text.tokens)
        found = self.table(self.pieces.table[batch.text.tokens])
        embedded: Tensor = (found * there[..., None]).flatten(2)
        return embedded

    @property
    def table(self) -> Any:
        """The embeddings of the pieces."""
        of = self.model.get_encoder() if self.start is not None else self.model
        return of.get_input_embeddings()

    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """Zeros, the mean of the words' pieces, or the unknown (or mask) piece, in the place of every piece."""
        table = self.table
        if kind == "zero":
            one = torch.zeros_like(table.weight[0])
        elif kind == "mean":
            used = self.pieces.table[self.pieces.there(torch.arange(self.words, device=self.device)[:, None])[:, 0]]
            one = table(used).mean(0)
        elif kind == "mask":
            one = table(self.pieces.table[1, 0])
        else:
            raise InputError(f"baseline {kind!r} must be one of {', '.join(BASELINES)}.")
        return one.detach().repeat(self.pieces.most)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """One pass, the site looked at on the way; detached, the attention of every layer is held fixed.

        Outside of training there are gradients at embeddings, states and attention, and none at the model's weights.
        """
        layout = self.pieces.layout(batch)
        graph = torch.is_grad_enabled()
        embedded = self.embed(batch) if embeddings is None and graph else embeddings
        found: dict[str, Seen] = {}
        above = AboveSite(self, self.site, layout)

        def looked(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            seen = found["seen"] = look(self.site, layout, batch.mask, weights, values)
            above.note(weights, values, allowed, seen)
            return weights, seen.values

        this = Pass(
            edits={self.site.place: looked},
            embeddings=None if embedded is None else self.assembled(embedded, batch, layout),
            detach=detach_attention,
            on_layer=above.below.keep,
            on_output=above.on_output,
            held=not self.training,
        )
        logits = self.passed(this, layout)
        seen = found["seen"]
        if embedded is None:
            embedded = logits.new_zeros(*batch.mask.shape, 0)
        above.embeddings = embedded.detach() if embeddings is not None else None
        above.batch = batch
        shares = seen.total.detach(), seen.heads.detach()
        return PretrainedReading(
            logits, seen.weights, batch.mask, seen.states, embedded, *shares, above, above.with_states
        )

    def forward(self, batch: Batch) -> Reading:
        """In training logits and attention are read, with their graph, on a GPU in bfloat16 where that is safe.

        Attention is looked at and left as it is, so that what is asked of it changes no other number.
        """
        if not self.training:
            return self.read(batch)
        layout, found = self.pieces.layout(batch), list[Seen]()

        def looked(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            found.append(look(self.site, layout, batch.mask, weights.float(), values.float()))
            return weights, values

        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            logits = self.passed(Pass(edits={self.site.place: looked}), layout).float()
        (seen,) = found
        none = logits.new_zeros(*batch.mask.shape, 0)
        return PretrainedReading(logits, seen.weights, batch.mask, seen.states, none, seen.total, seen.heads, _unread)

    def logits(
        self, batch: Batch, edits: Mapping[int, Edit] | None = None, below: Mapping[int, Any] | None = None
    ) -> Float[Tensor, "batch class"]:
        """The logits alone, with any attention edited on the way (by its number among ``places``).

        ``below`` holds what some layers gave for the same batch: they are not computed again.
        """
        return self.passed(Pass(edits=edits or {}, instead=below or {}), self.pieces.layout(batch))

    def under_own_attention(
        self, batch: Batch, rows: Int[Tensor, " point"], embeddings: Float[Tensor, "point position embedding"]
    ) -> Float[Tensor, "point class"]:
        """The logits of texts at other embeddings, the attention of every layer held at what it is for the text."""
        texts, which = rows.unique(return_inverse=True)
        kept, points = dict[int, Tensor](), copies(batch, rows)
        layout, places = self.pieces.layout(points), range(len(self.places.places))
        with torch.no_grad():
            own = self.pieces.layout(copies(batch, texts))
            self.passed(Pass(edits={place: keeping(kept, place) for place in places}), own)
        edits = {place: holding(kept[place], which) for place in places}
        return self.passed(Pass(edits=edits, embeddings=self.assembled(embeddings, points, layout)), layout)

    @property
    def attention_places(self) -> tuple[AttentionPlace, ...]:
        """As ``places`` has them; a decoder begins with one word here, which has nothing else to attend to."""
        every = self.places.places
        return tuple(AttentionPlace(p.kind or "self", p.number, one_key=p.kind == "decoder") for p in every)

    def with_layers_replaced(
        self, batch: Batch, places: Sequence[int], replacement: Replacement
    ) -> Float[Tensor, "batch class"]:
        """One pass, these attentions replaced on the way."""
        return self.logits(batch, {place: replacing(replacement, place, batch.keys) for place in places})

    def logits_of_many(
        self, batch: Batch, words: Float[Tensor, "word embedding"], index: Int[Tensor, "batch position"]
    ) -> Float[Tensor, "batch class"]:
        """The logits of every text, with the embedding ``words[index]`` at each position."""
        return logits_of_many(self, batch, words, index)

    def piece_counts(self, encoded: Encoded) -> np.ndarray:
        """How many pieces each text has."""
        return self.pieces.sizes(encoded)

    def pieces_that_fit(self, longest: int) -> int:
        """As many as a pass with gradients has room for."""
        return NUMBERS.get(self.device.type, NUMBERS["cpu"]) // self.numbers_per_piece(longest)

    def layers(self, batch: Batch, edits: Mapping[int, Edit] | None = None) -> dict[int, Any]:
        """What every layer gives for a batch."""
        found: dict[int, Any] = {}

        def keep(layer: int, given: Tensor, output: Any) -> None:
            found[layer] = output

        self.passed(Pass(edits=edits or {}, on_layer=keep), self.pieces.layout(batch))
        return found

    def assembled(
        self, embeddings: Float[Tensor, "batch position embedding"], batch: Batch, layout: Layout
    ) -> Float[Tensor, "batch slot piece"]:
        """Words' embeddings, with those of the frame and of the second text, at the slots of the layout."""
        table, frame, rows = self.table, self.pieces.frame, len(batch)
        first = embeddings.unflatten(2, (self.pieces.most, -1)).flatten(1, 2)

        def fixed(ids: Iterable[int]) -> Tensor:
            made: Tensor = table(torch.tensor(list(ids), dtype=torch.long, device=first.device))
            return made.expand(rows, -1, -1)

        parts = [fixed(frame.before), first, fixed(frame.between)]
        if batch.second is not None:
            parts.append(table(self.pieces.table[batch.second.tokens]).flatten(1, 2))
        every = torch.cat([*parts, fixed(frame.after)], dim=1)
        return every.gather(1, layout.order[..., None].expand(-1, -1, every.shape[-1]))

    def passed(self, this: Pass, layout: Layout) -> Float[Tensor, "batch class"]:
        """One pass of the model over a layout."""
        inputs: dict[str, Any] = {"input_ids": layout.ids, "attention_mask": layout.mask.long()}
        if "token_type_ids" in self._takes and any(self.pieces.frame.types):
            inputs["token_type_ids"] = layout.types
        if "use_cache" in self._takes:
            inputs["use_cache"] = False
        if self.start is not None:
            inputs["decoder_input_ids"] = layout.ids.new_full((len(layout.ids), 1), self.start)
        with under_way(this):
            out = self.model(**inputs).logits
        return self._answered(out, layout)

    def _answered(self, out: Tensor, layout: Layout) -> Float[Tensor, "batch class"]:
        if out.ndim == 2:
            return out
        last = layout.lengths - 1 if self.start is None else torch.zeros_like(layout.lengths)
        row = out[torch.arange(len(out), device=out.device), last]
        return row if self.answers is None else row[:, self.answers]

    @torch.no_grad()
    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """The logits without each word, every shortened text read anew."""
        width = batch.mask.shape[1]
        row, place = batch.mask.nonzero(as_tuple=True)
        every, which = batch.text.without_each(), row * width + place
        beside = batch[row]
        texts = Batch(every[which], beside.labels, beside.rows, beside.keys, beside.second)
        out = torch.zeros(*batch.mask.shape, self.classes, dtype=self.model.dtype, device=self.device)
        return out.index_put((row, place), logits_of_many(self, texts)) if len(texts) else out


def _unread(weights: Float[Tensor, "batch alternative token"]) -> Tensor:
    raise InputError("In training nothing is read again: put the model into evaluation first (eval()).")
