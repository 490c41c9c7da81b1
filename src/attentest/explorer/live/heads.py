"""Every attention of a model over one text: layer by layer, head by head, as shares of words."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attentest.errors import InputError, NotApplicable
from attentest.explainers.attention.of_transformer import row_of, see_every
from attentest.explainers.attention.rollout import Rollout
from attentest.explorer.live.models import Put
from attentest.models.capabilities import lacking, required
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.site import Site

__all__ = ["heads_of"]

Row = dict[str, Any]


def heads_of(put: Put, word: int | None = None) -> Row:
    """What words get in every head: in the row that the site has, or in that of one word."""
    subject, batch, mask = put.subject, put.batch, put.reading.mask[0]
    if lacking((Pretrained,), subject):
        layers = _by_site(put)
    else:
        layers = _of_transformer(required(Pretrained, subject, "heads"), put, word)
    return {
        "tokens": list(put.text.tokens),
        "layers": layers,
        "word": word,
        "rollout": _rollout(put, batch, mask) if word is None else None,
        "sites": list(put.loaded.model.sites),
    }


def _of_transformer(subject: Pretrained, put: Put, word: int | None) -> list[Row]:
    """One pass, every attention looked at on the way."""
    layout, mask, every = subject.pieces.layout(put.batch), put.reading.mask[0], subject.places.places
    rows = subject.site.rows if word is None else _slot(layout.owner[0], mask, word)
    found: dict[int, Tensor] = {}

    def see(place: int, weights: Tensor) -> None:
        if every[place].kind != "decoder":
            # Each row of each head by itself: heads go where rows of one matrix would.
            site = Site(place, None, rows)
            by_head = [row_of(site, layout, weights[:, head]) for head in range(weights.shape[1])]
            found[place] = torch.stack([layout.pooled(one)[0][mask] for one in by_head])

    see_every(subject, layout, see)
    return [
        {
            "name": every[place].name,
            "heads": [
                {
                    "site": f"{every[place].name} head {head + 1}",
                    "weights": (given / given.sum().clamp(min=1e-30)).tolist(),
                    "on_words": float(given.sum()),
                }
                for head, given in enumerate(weights.double())
            ],
        }
        for place, weights in found.items()
    ]


def _slot(owner: Tensor, mask: Tensor, word: int) -> int:
    """The first piece of a word."""
    places = mask.nonzero()[:, 0]
    if not 0 <= word < len(places):
        raise InputError(f"word={word} is outside of the {len(places)} words of the text, which begin at 0.")
    return int((owner == places[word]).nonzero()[0, 0])


def _by_site(put: Put) -> list[Row]:
    """Every site of a model that names its own, read one by one."""
    sites = [site for site in put.loaded.model.sites if put.loaded.model.at(site).read(put.batch).groups is None]
    if len(sites) < 2:
        raise NotApplicable("This model has one attention: there are no layers and heads to show.")
    layers: dict[str, list[Row]] = {}
    for site in sites:
        reading = put.loaded.model.at(site).read(put.batch)
        weights = [row[there].double().tolist() for row, there in zip(reading.weights, reading.mask, strict=True)]
        layers.setdefault(site.partition(".")[0], []).append(
            {"site": site, "weights": weights[0], "steps": weights if put.writes else None, "on_words": 1.0}
        )
    return [{"name": name, "heads": heads} for name, heads in layers.items()]


def _rollout(put: Put, batch: Any, mask: Tensor) -> list[float] | None:
    try:
        scores = Rollout().explain(put.subject, batch, put.reading).scores[0]
    except NotApplicable:
        return None
    return [float(value) for value in scores[mask].double()]
