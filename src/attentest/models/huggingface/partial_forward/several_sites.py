"""Other weights at several sites at once.

A site below changes what the attention above it would be. So every site's rows are held as they were read, and the
new weights are put into those: each site then shows what was asked for, whatever the others do, and what special
tokens, prompt and second text get stays what it was. Rows and heads of no site follow the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.huggingface.attending import Edit
from attentest.models.huggingface.partial_forward.from_layer import FromLayer
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.recomputing import in_parts
from attentest.models.huggingface.site import Site, look, overwritten

__all__ = ["BYTES", "SeveralSites"]

#: Bytes that may be kept for a gradient.
BYTES = {"cpu": 1 << 30, "cuda": 24 << 30}
#: Numbers that one layer keeps for a gradient: for each number of a state, and for each weight of a row.
PER_STATE, PER_WEIGHT = 20, 6


@dataclass(eq=False)
class _SiteRead:
    """What was read at one site."""

    site: Site
    #: Shares of what words get, what each gets, and what they get of all.
    own: Float[Tensor, "batch word"]
    mass: Float[Tensor, "batch word"]
    total: Float[Tensor, " batch"]
    #: The site's rows, or its only one, and the slots they may see.
    rows: Float[Tensor, "batch head row slot"]
    allowed: Bool[Tensor, "batch row slot"]

    def put(
        self, layout: Layout, texts: Int[Tensor, " copy"], new: Float[Tensor, "copy word"]
    ) -> Float[Tensor, "copy head row slot"]:
        """The rows of these texts under other weights."""
        mass = new * self.total[texts, None]
        return overwritten(self._among_held, layout, self.mass[texts], mass, self.rows[texts], self.allowed[texts])

    def seen(
        self, layout: Layout, texts: Int[Tensor, " copy"], new: Float[Tensor, "copy word"]
    ) -> Float[Tensor, "copy word"]:
        """The shares of words that are then read: with several heads or rows not quite what was asked for."""
        rows = self.put(layout, texts, new)
        chosen = self._among_held.chosen_rows(layout, rows.shape[2])
        share = chosen.to(rows.dtype) / chosen.sum(-1, keepdim=True).clamp(min=1)
        heads = self.site.heads(rows.shape[1]).to(rows.device)
        mass = layout.pooled((share[:, None, None] @ rows)[:, heads, 0]).mean(1).double()
        return mass / mass.sum(-1, keepdim=True).clamp(min=1e-300)

    @property
    def _among_held(self) -> Site:
        """The site, where the rows are those that are held."""
        return self.site if self.site.rows == "all" else Site(self.site.place, self.site.head, "first")


@dataclass(eq=False)
class SeveralSites:
    """A batch read at several sites, to be reread with other weights at all of them."""

    rest: FromLayer
    held: Sequence[_SiteRead]

    @classmethod
    @torch.no_grad()
    def of(cls, subject: Pretrained, batch: Batch, sites: Sequence[Site]) -> SeveralSites:
        """One pass, every site looked at on the way."""
        layout = subject.pieces.layout(batch)
        found: dict[int, _SiteRead] = {}

        def looking(place: int) -> Edit:
            here = [(number, site) for number, site in enumerate(sites) if site.place == place]

            def note(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
                for number, site in here:
                    found[number] = _looked(site, layout, batch, weights, values, allowed)
                return weights, values

            return note

        places = {site.place for site in sites}
        first = min(subject.places.places[place].layer for place in places)
        rest = FromLayer.of(subject, batch, first, {place: looking(place) for place in places})
        return cls(rest, [found[number] for number in range(len(sites))])

    @cached_property
    def own(self) -> Float[Tensor, "batch site word"]:
        """The model's weights at every site."""
        return torch.stack([held.own for held in self.held], dim=1)

    @property
    def on_words(self) -> Float[Tensor, "batch site"]:
        """What words get of all, at every site."""
        return torch.stack([held.total for held in self.held], dim=1)

    def room(self, alternatives: int) -> int:
        """How many texts, each under so many alternatives, may be kept for a gradient at once; one may in any case."""
        budget = BYTES.get(self.rest.subject.device.type, BYTES["cpu"])
        return max(1, budget // max(1, self.bytes_for(alternatives)))

    def bytes_for(self, texts: int) -> int:
        """About what a gradient through one pass over so many texts keeps in memory."""
        subject, width = self.rest.subject, self.rest.layout.ids.shape[1]
        above = [place for place in subject.places.places if place.layer >= self.rest.below.first]
        hidden: int = subject.model.config.get_text_config().hidden_size
        states = len({place.layer for place in above}) * hidden * PER_STATE
        weights = sum(place.heads for place in above) * width * PER_WEIGHT
        size: int = texts * width * (states + weights + 2 * self.rest.outputs) * subject.model.dtype.itemsize
        return size

    def __call__(
        self, weights: Float[Tensor, "text alternative site word"], texts: Int[Tensor, " text"]
    ) -> Float[Tensor, "text alternative class"]:
        """The logits of these texts under every alternative, with no more kept for a gradient than may be."""
        rows, flat = self._flat(weights, texts)

        def compute(some: Int[Tensor, " some"], new: Float[Tensor, "some site word"]) -> Float[Tensor, "some class"]:
            here = rows[some]
            layout = self.rest.layout[here]
            edits: dict[int, Edit] = {}
            for number, held in enumerate(self.held):
                edits[held.site.place] = _putting(held, layout, here, new[:, number], edits.get(held.site.place))
            return self.rest(here, edits)

        room = self.room(1)
        logits: Tensor = in_parts(compute, flat, room=room, kept=room).unflatten(0, (-1, weights.shape[1]))
        return logits

    def seen(
        self, weights: Float[Tensor, "text alternative site word"], texts: Int[Tensor, " text"]
    ) -> Float[Tensor, "text alternative site word"]:
        """The weights that are read at every site when these are put there."""
        rows, flat = self._flat(weights, texts)
        layout = self.rest.layout[rows]
        parts = [held.seen(layout, rows, flat[:, number]) for number, held in enumerate(self.held)]
        seen: Tensor = torch.stack(parts, dim=1).unflatten(0, (-1, weights.shape[1]))
        return seen

    def _flat(self, weights: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        return texts.repeat_interleave(weights.shape[1]), weights.flatten(0, 1)


def _looked(site: Site, layout: Layout, batch: Batch, weights: Tensor, values: Tensor, allowed: Tensor) -> _SiteRead:
    """What a site shows, with its rows: all of them, or the one it has."""
    seen = look(site, layout, batch.mask, weights, values)
    may_see = allowed.expand(len(weights), weights.shape[2], -1)
    if site.rows != "all":
        row = site.chosen_rows(layout, weights.shape[2]).byte().argmax(-1)
        each = torch.arange(len(row), device=row.device)
        weights, may_see = weights[each, :, row][:, :, None], may_see[each, row][:, None]
    return _SiteRead(site, seen.weights, seen.mass, seen.total, weights, may_see)


def _putting(held: _SiteRead, layout: Layout, rows: Tensor, new: Tensor, before: Edit | None) -> Edit:
    """An edit that puts other weights into a site's rows, after what another site of the same attention does."""
    put = held.put(layout, rows, new)

    def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        if before is not None:
            weights, values = before(weights, values, allowed)
        chosen = held.site.chosen_rows(layout, weights.shape[2])[:, None, :, None]
        heads = held.site.heads(weights.shape[1]).to(weights.device)[None, :, None, None]
        return torch.where(chosen & heads, put, weights), values

    return edit
