"""What lies above a site, computed again under other weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.huggingface.attending import Pass
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.recomputing import NUMBERS, in_parts
from attentest.models.huggingface.site import Seen, Site, overwritten

if TYPE_CHECKING:
    from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["Above"]

#: Slots (rows of one slot, where one row is enough) that one pass over alternatives may hold.
SLOTS = {"cpu": 4096, "cuda": 262_144}
#: Weights of one row, over heads and slots, that may be held for each of them.
CELLS = 256
#: Numbers that are kept for each weight of a row that others are put into.
PUT = 6


@dataclass(eq=False)
class Above:
    """Notes what a reading leaves below a site, and computes the rest for any number of alternatives."""

    subject: Pretrained
    site: Site
    layout: Layout
    #: What the last layer below the site gives, by stack, and what else each of these layers gives.
    hidden: dict[str, Tensor] = field(default_factory=dict)
    extras: dict[int, Any] = field(default_factory=dict)
    #: What other attentions of the site's layer give.
    others: dict[int, Tensor] = field(default_factory=dict)
    #: Given embeddings, where the reading was given any.
    embeddings: Tensor | None = None
    batch: Batch | None = None
    seen: Seen | None = None
    #: For one row: its weights, what they weigh, and which slots it may see.
    row: Float[Tensor, "batch head 1 slot"] | None = None
    values: Float[Tensor, "batch head slot value"] | None = None
    allowed: Bool[Tensor, "batch 1 slot"] | None = None

    @property
    def layer(self) -> int:
        """The site's layer."""
        return self.subject.places.places[self.site.place].layer

    @property
    def is_narrow(self) -> bool:
        """Whether the output depends on one row of the site's layer, and on nothing else that the site changes."""
        stacks = self.subject.places.stacks
        own = [number for number, stack in enumerate(stacks) if stack == stacks[self.layer]]
        last = self.layer == len(stacks) - 1 and self.layer != own[0]
        kind = self.subject.places.places[self.site.place].kind
        return self.subject.narrow and last and (kind == "cross" or self.site.rows == self.subject.rows != "all")

    def on_layer(self, layer: int, given: Tensor, output: Any) -> None:
        """Keep what layers below the site give."""
        if layer < self.layer:
            several = isinstance(output, tuple)
            self.hidden[self.subject.places.stacks[layer]] = (output[0] if several else output).detach()
            self.extras[layer] = output[1:] if several else None

    def on_output(self, place: int, output: Tensor) -> None:
        """Keep what other attentions of the site's layer give."""
        if self.subject.places.places[place].layer == self.layer and place != self.site.place:
            self.others[place] = output.detach()

    def note(self, weights: Tensor, values: Tensor, allowed: Tensor, seen: Seen) -> None:
        """Keep what was read at the site and, for one row, its weights and what they weigh."""
        self.seen = Seen(*(part.detach() for part in seen[:-1]), values=values[:0])
        if self.is_narrow and not self.subject.training:
            self.keep_row(weights, values, allowed)

    def keep_row(self, weights: Tensor, values: Tensor, allowed: Tensor) -> None:
        """Keep one row's weights, what they weigh, and what it may see."""
        self.row = self._row(weights.detach().transpose(1, 2)).transpose(1, 2)
        self.values = values.detach()
        self.allowed = self._row(allowed.expand(len(weights), weights.shape[2], -1))

    def _row(self, values: Shaped[Tensor, "batch query *rest"]) -> Shaped[Tensor, "batch one *rest"]:
        """The site's row of values that have one for every query."""
        chosen = self.site.chosen_rows(self.layout, values.shape[1])
        place = chosen.byte().argmax(-1)
        return values[torch.arange(len(values), device=values.device), place][:, None]

    def __call__(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """The logits under every alternative, some at a time, with no more kept for a gradient than may be."""
        texts, count = weights.shape[:2]
        if not texts or not count:
            return weights.new_zeros(texts, count, self.subject.classes)
        if self.is_narrow:

            def one_row(_: Tensor, some: Float[Tensor, "some batch token"]) -> Float[Tensor, "some batch class"]:
                return self._narrow(some.transpose(0, 1)).transpose(0, 1)

            each = {name: room // texts for name, room in self.rooms.items()}
            return in_parts(one_row, weights.transpose(0, 1), **each).transpose(0, 1)

        def whole(copies: Int[Tensor, " some"], some: Float[Tensor, "some token"]) -> Float[Tensor, "some class"]:
            return self._wide(some, torch.bincount(copies // count, minlength=texts))

        logits: Tensor = in_parts(whole, weights.flatten(0, 1), **self.rooms).unflatten(0, (texts, count))
        return logits

    @cached_property
    def rooms(self) -> dict[str, int]:
        """How many copies of texts one pass may hold, and how many may be kept for a gradient."""
        subject, kind, width = self.subject, self.subject.device.type, max(1, self.layout.ids.shape[1])
        slots, budget = (most.get(kind, most["cpu"]) for most in (SLOTS, NUMBERS))
        weights = subject.places.places[self.site.place].heads * width
        rows, size = (1, max(1.0, weights / CELLS)) if self.is_narrow else (width, width)
        last = len(subject.places.stacks) - 1
        held, kept = (rows * (PUT * weights + subject.numbers_per_piece(width, first)) for first in (last, self.layer))
        return {"room": min(int(slots / size), budget // held), "kept": budget // kept}

    def _wide(self, weights: Float[Tensor, "copy token"], times: Int[Tensor, " batch"]) -> Float[Tensor, "copy class"]:
        """Every text as often as said, one copy beside the other, each under weights of its own."""
        assert self.seen is not None
        subject, layout = self.subject, self.layout.repeated(times)
        mass, total = (part.repeat_interleave(times, dim=0) for part in (self.seen.mass, self.seen.total))
        new = weights * total[:, None]

        def put(own: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            return overwritten(self.site, layout, mass, new, own, allowed), values

        embeddings = None
        if self.embeddings is not None and self.batch is not None:
            embeddings = subject.assembled(self.embeddings, self.batch, self.layout).repeat_interleave(times, dim=0)
        hidden = {stack: value.repeat_interleave(times, dim=0) for stack, value in self.hidden.items()}
        this = Pass(edits={self.site.place: put}, instead=self._instead(hidden, times), embeddings=embeddings)
        return subject.passed(this, layout)

    def _narrow(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """One row alone is overwritten, and the model runs on texts of one slot."""
        assert self.seen is not None
        assert self.row is not None
        assert self.values is not None
        assert self.allowed is not None
        times = weights.shape[1]
        mass, own, allowed = (part.repeat_interleave(times, dim=0) for part in (self.seen.mass, self.row, self.allowed))
        new = (weights * self.seen.total[:, None, None]).flatten(0, 1)
        one = Site(self.site.place, self.site.head, "first")
        put = overwritten(one, self.layout.repeated(times), mass, new, own, allowed).unflatten(0, (-1, times))
        output = torch.einsum("bkhs,bhsd->bkhd", put[..., 0, :], self.values)
        return self._from_row(output)

    def own_row(self) -> Float[Tensor, "batch class"]:
        """The logits under the row's own weights."""
        assert self.row is not None
        assert self.values is not None
        return self._from_row((self.row @ self.values).transpose(1, 2))[:, 0]

    def _from_row(
        self, output: Float[Tensor, "batch alternative head value"]
    ) -> Float[Tensor, "batch alternative class"]:
        """The rest of the layer and of the model, on texts of one slot, for what the attention gives the row."""
        times, places = output.shape[1], self.subject.places
        given = {place: self._row(value).repeat_interleave(times, dim=0) for place, value in self.others.items()}
        given[self.site.place] = output.flatten(0, 1)[:, None]
        stack = places.stacks[self.layer]
        hidden = {
            name: (self._row(value) if name == stack else value[:, :1]).repeat_interleave(times, dim=0)
            for name, value in self.hidden.items()
        }
        first = self.layout.ids[:, :1].repeat_interleave(times, dim=0)
        real, none = torch.ones_like(first, dtype=torch.bool), torch.zeros_like(first)
        layout = Layout(first, none, real, none - 1, none, self.layout.width)
        this = Pass(given=given, instead=self._instead(hidden, times))
        logits: Tensor = self.subject.passed(this, layout).unflatten(0, (-1, times))
        return logits

    def _instead(self, hidden: dict[str, Tensor], times: int | Tensor) -> dict[int, Any]:
        """What layers below the site give: all of a stack the same, because only the last one is heard."""
        stacks, count = self.subject.places.stacks, len(self.layout.ids)

        def repeated(value: Any) -> Any:
            several = isinstance(value, Tensor) and value.ndim > 1 and value.shape[0] == count
            return value.detach().repeat_interleave(times, dim=0) if several else value

        return {
            layer: hidden[stacks[layer]] if more is None else (hidden[stacks[layer]], *map(repeated, more))
            for layer, more in self.extras.items()
        }
