"""A site of a Transformers model: some heads and query rows of one attention, whose weights are those of words.

A word's weight is the mean, over the site's heads and rows, of what its pieces get, as a share of what all words get.
What the frame gets (special tokens, prompt, second text) is held. Under other weights every row's weight for a word is
scaled by the word's new weight over its own, and the row's words are then scaled together to what they had in that row.
So every row stays a distribution, own weights put back give back every number, and one row of one head is overwritten
literally. Over several heads or rows the mean is what was asked for only approximately: a row follows within what it
gives words at all. Where a row gives nothing to any word that is to get something, it takes the new weights as they
are, among words that it may see; where it may see none of them, it stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.errors import InputError
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.places import Places

__all__ = ["ROWS", "Seen", "Site", "look", "overwritten", "parse_site", "site_names"]

#: Which query rows a site has: the first slot's ([CLS]), the last real slot's, or all real ones.
ROWS = ("first", "last", "all")
#: A word that gets less gets nothing: what its pieces get of it cannot be told for rounding.
LEAST = 1e-30
#: A row that gives so little to all words that are to get something gives them nothing.
NONE = 1e-15
_NAME = re.compile(r"(?:(encoder|cross) )?layer (\d+)(?: head (\d+))?(?: row (\w+))?")


@dataclass(frozen=True)
class Site:
    """Which attention, which of its heads (None: all), which rows."""

    place: int
    head: int | None = None
    rows: str | int = "first"

    def heads(self, count: int) -> Bool[Tensor, " head"]:
        """The chosen heads."""
        chosen = torch.ones(count, dtype=torch.bool)
        return chosen if self.head is None else torch.arange(count) == self.head

    def chosen_rows(self, layout: Layout, queries: int) -> Bool[Tensor, "batch query"]:
        """The chosen query rows; a decoder's queries are not the slots, and it has few of them."""
        here = torch.arange(queries, device=layout.mask.device)
        real = (
            layout.mask if queries == layout.mask.shape[1] else torch.ones_like(layout.mask[:, :1]).expand(-1, queries)
        )
        if self.rows == "all":
            return real
        if self.rows == "last":
            last: Tensor = here == real.sum(-1, keepdim=True) - 1
            return last
        row = torch.tensor(0 if self.rows == "first" else int(self.rows), device=here.device)
        return (here == row).expand(len(real), -1)


class Seen(NamedTuple):
    """What was read at a site."""

    #: Shares of what words get, and what they get of all.
    weights: Float[Tensor, "batch word"]
    total: Float[Tensor, " batch"]
    #: What each word gets: its weight times the total.
    mass: Float[Tensor, "batch word"]
    #: The same shares head by head.
    heads: Float[Tensor, "batch head word"]
    #: What is weighed: each word's mean value, by its pieces' own shares, head beside head.
    states: Float[Tensor, "batch word state"]
    #: The values, made to depend on the states: a state that is shifted shifts all its pieces' values by as much.
    values: Float[Tensor, "batch head slot value"]


def look(
    site: Site,
    layout: Layout,
    words: Bool[Tensor, "batch word"],
    weights: Float[Tensor, "batch head query slot"],
    values: Float[Tensor, "batch head slot value"],
) -> Seen:
    """Read a site off the weights of its attention."""
    rows = site.chosen_rows(layout, weights.shape[2])
    share = rows.to(weights.dtype) / rows.sum(-1, keepdim=True).clamp(min=1)
    by_head = layout.pooled((share[:, None, None] @ weights)[:, :, 0])
    chosen = site.heads(weights.shape[1]).to(weights.device)
    mass = by_head[:, chosen].mean(1)
    total = mass.sum(-1)
    even = words.to(mass.dtype) / words.sum(-1, keepdim=True).clamp(min=1)
    own = torch.where(total[:, None] > LEAST, mass / total[:, None].clamp(min=LEAST), even)
    heads = by_head / by_head.sum(-1, keepdim=True).clamp(min=LEAST)
    pieces = _unit(layout, (share[:, None, None] @ weights)[:, chosen, 0].detach().mean(1), mass.detach())
    mean = layout.pooled(values[:, chosen].transpose(-1, -2) * pieces[:, None, None])
    states = mean.permute(0, 3, 1, 2).flatten(2)
    if states.requires_grad:
        moved = states.unflatten(2, (-1, values.shape[-1])).permute(0, 2, 3, 1)
        # Zero, to the last bit: it shifts a word's values as its state is shifted. States are made of these values, and
        # what comes back to the values that way is taken off again with the mean, so that it does not count twice.
        none = layout.spread(moved - mean, 0.0).transpose(-1, -2)
        values = values.index_add(1, chosen.nonzero()[:, 0], none)
    return Seen(own, total, mass, heads, states, values)


def _unit(layout: Layout, slots: Float[Tensor, "batch slot"], mass: Float[Tensor, "batch word"]) -> Tensor:
    """Each slot's share of its word: its own where the word gets anything, and even where it gets nothing."""
    count = layout.spread(layout.pooled(torch.ones_like(slots)), 1.0)
    got = layout.spread(mass, 1.0)
    return torch.where(got > LEAST, slots / got.clamp(min=LEAST), 1 / count).where(layout.owner >= 0, 0.0)


def overwritten(
    site: Site,
    layout: Layout,
    mass: Float[Tensor, "batch word"],
    new: Float[Tensor, "batch word"],
    weights: Float[Tensor, "batch head query slot"],
    allowed: Bool[Tensor, "#batch #query slot"],
) -> Float[Tensor, "batch head query slot"]:
    """The attention's weights when words get ``new`` mass in the place of their own, row by row."""
    word = (layout.owner >= 0)[:, None, None]
    all_mass = mass.sum(-1, keepdim=True).clamp(min=LEAST)
    own, new_share = mass / all_mass, (new / all_mass).to(weights.dtype)
    got, wanted = layout.spread(own, 1.0)[:, None, None], layout.spread(new_share, 0.0)[:, None, None]
    count = layout.spread(layout.pooled(torch.ones_like(layout.ids, dtype=weights.dtype)), 1.0)[:, None, None]
    as_given = allowed[:, None] * wanted / count
    held = weights.where(word, 0.0).sum(-1, keepdim=True)
    shares = weights / held.clamp(min=LEAST)
    scaled = torch.where(got > LEAST, shares * (wanted / got.clamp(min=LEAST)), as_given).where(word, 0.0)
    put = torch.where(scaled.sum(-1, keepdim=True) > NONE, scaled, as_given)
    total = put.sum(-1, keepdim=True)
    # One, where the new weights sum to one: weights that do not, such as none at all, are taken at their word.
    sums = new_share.sum(-1)[:, None, None, None]
    put = torch.where(total > NONE, put / total.where(total > NONE, 1.0) * held, weights) * sums
    rows = site.chosen_rows(layout, weights.shape[2])
    heads = site.heads(weights.shape[1]).to(weights.device)
    return torch.where(heads[None, :, None, None] & rows[:, None, :, None] & word, put, weights)


def site_names(places: Places) -> tuple[str, ...]:
    """The sites of a model, the last attention before the output first; those over a decoder's own words have none."""
    names: list[str] = []
    for place in sorted(places.places, key=lambda p: (p.kind == "cross", p.number), reverse=True):
        if place.kind != "decoder":
            names += [place.name, *(f"{place.name} head {head + 1}" for head in range(place.heads))]
    return tuple(names)


def parse_site(name: str, places: Places, usual: str) -> Site:
    """A site by its name: ``layer 6``, ``layer 6 head 3``, ``cross layer 2``; any of them with `` row all``."""
    known = site_names(places)
    if not name:
        name = known[0]
    match = _NAME.fullmatch(name)
    if match is None or name.partition(" row")[0] not in known:
        raise InputError(
            f"site={name!r} is none of this model's: it has {known[0]!r}, {known[1]!r}, … {known[-1]!r}, "
            "and any of them with ' row first', ' row last' or ' row all'."
        )
    kind, number, head, row = match.groups()
    place = next(i for i, p in enumerate(places.places) if p.kind == (kind or "") and p.number == int(number))
    rows: str | int = "all" if kind == "encoder" else "last" if kind == "cross" else usual
    if row is not None:
        if row not in ROWS and not row.isdigit():
            raise InputError(f"site={name!r}: the row must be first, last, all or a number from 0.")
        rows = int(row) if row.isdigit() else row
    return Site(place, None if head is None else int(head) - 1, rows)
