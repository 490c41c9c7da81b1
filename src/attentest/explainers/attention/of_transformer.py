"""What explainers of transformers share: attention of every layer, seen on the way and never all kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import NotApplicable
from attentest.explainers.budget import in_slices
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.slopes import target_of
from attentest.models.capabilities import required
from attentest.models.huggingface.attending import Pass
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.site import Site
from attentest.models.subject import Reading, Subject

__all__ = ["OfTransformer", "mixed_with_itself", "of_words", "row_of", "see_every"]

#: Weights of one layer that are looked at together.
CELLS = 20_000_000


class OfTransformer(Explainer):
    """An explainer of Transformers models, some texts at a time."""

    needs: ClassVar[tuple[type, ...]] = (Pretrained,)
    #: Whether it follows one stack of layers, so that an encoder–decoder is refused.
    one_stack: ClassVar[bool] = True

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """As many texts at a time as memory allows."""
        model, wanted = required(Pretrained, subject, self.name), target_of(reading, target)
        if self.one_stack and model.start is not None:
            raise NotApplicable(f"{self.name} follows one stack of layers, and this model has two. Use attention.")
        longest = int(model.pieces.lengths(batch).max()) if len(batch) else 1
        heads = max(place.heads for place in model.places.places)

        def part(rows: slice) -> Attribution:
            return self.explain_some(model, batch[rows], model.pieces.layout(batch[rows]), wanted[rows])

        found = in_slices(part, len(batch), max(1, CELLS // (heads * longest**2)))
        names = found[0].certificate if found else {}
        certificate = {name: torch.cat([each.certificate[name] for each in found]) for name in names}
        return Attribution(torch.cat([each.scores for each in found]), certificate)

    @abstractmethod
    def explain_some(
        self, model: Pretrained, batch: Batch, layout: Layout, target: Int[Tensor, " batch"]
    ) -> Attribution:
        """The scores of a few texts, whose pieces are in the layout, for these classes."""


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
