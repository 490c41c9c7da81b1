"""What lies above a site, computed again under other weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.huggingface.attending import Edit, Pass
from attentest.models.huggingface.partial_forward.edits import shifted
from attentest.models.huggingface.partial_forward.layers_below import LayersBelow
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.recomputing import NUMBERS, in_parts
from attentest.models.huggingface.site import Seen, Site, overwritten

if TYPE_CHECKING:
    from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["AboveSite"]

#: Slots (rows of one slot, where one row is enough) that one pass over alternatives may hold.
SLOTS = {"cpu": 4096, "cuda": 262_144}
#: Weights of one row, over heads and slots, that may be held for each of them.
CELLS = 256
#: Numbers that are kept for each weight of a row that others are put into.
PUT = 6


@dataclass(eq=False)
class AboveSite:
    """Notes what a reading leaves below a site, and computes the rest for any number of alternatives."""

    subject: Pretrained
    site: Site
    layout: Layout
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

    def __post_init__(self) -> None:
        self.below = LayersBelow(self.subject.places.stacks, self.layer, len(self.layout.ids))

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
            return self._wide(some, copies // count)

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

    def _wide(self, weights: Float[Tensor, "copy token"], rows: Int[Tensor, " copy"]) -> Float[Tensor, "copy class"]:
        """Copies of these texts, each under weights of its own."""
        assert self.seen is not None
        layout = self.layout[rows]
        mass, new = self.seen.mass[rows], weights * self.seen.total[rows, None]

        def put(own: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            return overwritten(self.site, layout, mass, new, own, allowed), values

        return self._edited(put, rows)

    def _edited(self, edit: Edit, rows: Int[Tensor, " copy"]) -> Float[Tensor, "copy class"]:
        """Copies of these texts, the site's attention edited."""
        embeddings = None
        if self.embeddings is not None and self.batch is not None:
            embeddings = self.subject.assembled(self.embeddings, self.batch, self.layout)[rows]
        this = Pass(edits={self.site.place: edit}, instead=self.below.of(rows), embeddings=embeddings, held=True)
        return self.subject.passed(this, self.layout[rows])

    def with_states(
        self, states: Float[Tensor, "batch alternative token state"]
    ) -> Float[Tensor, "batch alternative class"]:
        """The logits when the site's rows find other states of words there, under the same weights.

        All pieces of a word are shifted as its state is; rows and heads that are not the site's see what there was.
        """
        assert self.seen is not None
        own, count = self.seen.states, states.shape[1]
        if self.is_narrow:

            def one_row(_: Tensor, new: Float[Tensor, "some batch token state"]) -> Float[Tensor, "some batch class"]:
                return self._shifted_row((new.to(own) - own).transpose(0, 1)).transpose(0, 1)

            each = {name: room // max(1, len(own)) for name, room in self.rooms.items()}
            return in_parts(one_row, states.transpose(0, 1), **each).transpose(0, 1)

        def some(copies: Int[Tensor, " some"], new: Float[Tensor, "some token state"]) -> Float[Tensor, "some class"]:
            rows = copies // count
            shift = new.to(own) - own[rows]
            return self._edited(shifted(self.site, self.layout[rows], shift), rows)

        logits: Tensor = in_parts(some, states.flatten(0, 1), **self.rooms).unflatten(0, (-1, count))
        return logits

    def _shifted_row(self, shift: Float[Tensor, "batch alternative token state"]) -> Tensor:
        """One row alone finds its words shifted, and the model runs on texts of one slot."""
        assert self.row is not None
        assert self.values is not None
        heads = self.site.heads(self.row.shape[1]).to(shift.device)
        weights = self.layout.pooled(self.row)[:, heads, 0]
        by_head = shift.unflatten(-1, (weights.shape[1], -1))
        output = (self.row @ self.values).transpose(1, 2).repeat(1, shift.shape[1], 1, 1)
        output[:, :, heads] += torch.einsum("bhw,bkwhd->bkhd", weights, by_head)
        return self._from_row(output)

    def _narrow(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """One row alone is overwritten, and the model runs on texts of one slot."""
        assert self.seen is not None
        assert self.row is not None
        assert self.values is not None
        assert self.allowed is not None
        times = weights.shape[1]
        rows = self._rows(times)
        mass, own, allowed = (part[rows] for part in (self.seen.mass, self.row, self.allowed))
        new = (weights * self.seen.total[:, None, None]).flatten(0, 1)
        one = Site(self.site.place, self.site.head, "first")
        put = overwritten(one, self.layout[rows], mass, new, own, allowed).unflatten(0, (-1, times))
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
        times = output.shape[1]
        rows, stack = self._rows(times), self.subject.places.stacks[self.layer]
        given = {place: self._row(value)[rows] for place, value in self.others.items()}
        given[self.site.place] = output.flatten(0, 1)[:, None]
        hidden = {
            name: (self._row(value) if name == stack else value[:, :1])[rows]
            for name, value in self.below.hidden.items()
        }
        first = self.layout.ids[rows, :1]
        real, none = torch.ones_like(first, dtype=torch.bool), torch.zeros_like(first)
        layout = Layout(first, none, real, none - 1, none, self.layout.width)
        this = Pass(given=given, instead=self.below.of(rows, hidden), held=True)
        logits: Tensor = self.subject.passed(this, layout).unflatten(0, (-1, times))
        return logits

    def _rows(self, times: int) -> Int[Tensor, " copy"]:
        """Every text so many times, one beside the other."""
        return torch.arange(len(self.layout.ids), device=self.layout.ids.device).repeat_interleave(times)
