"""What explainers of transformers share: attention of every layer, seen on the way and never all kept."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import NotApplicable
from attentest.explainers.budget import in_slices
from attentest.explainers.explainer import Attribution
from attentest.models.capabilities import required
from attentest.models.huggingface.attending import Pass
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.site import Site
from attentest.models.subject import Subject

__all__ = ["by_rows", "layered", "mixed_with_itself", "of_words", "see_every"]

#: Weights of one layer that are looked at together.
CELLS = 20_000_000


def layered(subject: Subject, name: str) -> Pretrained:
    """The subject as a transformer of one stack; any other is refused."""
    model = required(Pretrained, subject, name)
    if model.start is not None:
        raise NotApplicable(f"{name} follows one stack of layers, and this model has two. Use attention.")
    return model


def by_rows(subject: Pretrained, batch: Batch, work: Callable[[Batch, Layout, slice], Attribution]) -> Attribution:
    """The work on as many texts at a time as memory allows."""
    longest = int(subject.pieces.lengths(batch).max()) if len(batch) else 1
    heads = max(place.heads for place in subject.places.places)
    size = max(1, CELLS // (heads * longest**2))

    def part(rows: slice) -> Attribution:
        some = batch[rows]
        return work(some, subject.pieces.layout(some), rows)

    found = in_slices(part, len(batch), size)
    names = found[0].certificate if found else {}
    certificate = {name: torch.cat([each.certificate[name] for each in found]) for name in names}
    return Attribution(torch.cat([each.scores for each in found]), certificate)


def see_every(
    subject: Pretrained, layout: Layout, see: Callable[[int, Tensor], None], embeddings: Tensor | None = None
) -> Tensor:
    """One pass, every layer's weights [batch, head, query, key] shown as they are made; the logits."""

    def showing(place: int) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
        def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            see(place, weights)
            return weights, values

        return edit

    edits = {place: showing(place) for place in range(len(subject.places.places))}
    return subject.passed(Pass(edits=edits, embeddings=embeddings), layout)


def mixed_with_itself(weights: Float[Tensor, "batch head query key"]) -> Float[Tensor, "batch query key"]:
    """Half the mean of the heads, half the residual stream: ½A + ½I."""
    mean = weights.mean(1)
    return (mean + torch.eye(mean.shape[-1], device=mean.device, dtype=mean.dtype)) / 2


def of_words(subject: Pretrained, layout: Layout, matrix: Float[Tensor, "batch query slot"]) -> Attribution:
    """The site's row of a matrix over slots, summed over words.

    The certificate says what share of it lies on no word (special tokens), and on other texts (prompt, second text).
    """
    row = row_of(subject.site, layout, matrix)
    total = row.where(layout.mask, 0.0).sum(-1).clamp(min=1e-30)
    parts = {"on_no_word": layout.special, "on_other_text": layout.other}
    return Attribution(
        layout.pooled(row), {name: row.where(slots, 0.0).sum(-1) / total for name, slots in parts.items()}
    )


def row_of(site: Site, layout: Layout, matrix: Float[Tensor, "batch query slot"]) -> Float[Tensor, "batch slot"]:
    """The rows of the site, their mean where there are several."""
    rows = site.chosen_rows(layout, matrix.shape[1]).to(matrix.dtype)
    return ((rows / rows.sum(-1, keepdim=True).clamp(min=1))[:, None] @ matrix)[:, 0]
