"""Standing: does what a state says come from its own word?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, numbers, reasons
from attentest.data.batches import Batch
from attentest.explainers.budget import in_slices, positions
from attentest.explainers.exchanged_states import what_states_say
from attentest.measures.chance import uniforms
from attentest.measures.rounding import SINGLE
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["Standing"]


@dataclass(frozen=True)
class Standing(Challenge):
    """The share of what a state says that its own word decides: keep the word, draw the others anew.

    The words of a text are drawn anew from the corpus, twice; then state *t* is read once more with its word from the
    first draw and all others from the second. Half of the squared difference between the first and the third reading
    is what the other words do to the state, half of that between the first two what all words do. The share of the
    own word is the rest, in sums over states, draws and texts: 1 where states know of no other word, 0 where they do
    not depend on their own (a first-order index after Sobol' 1993, as Jansen 1999 estimates it). What a state says
    are the logits that it adds where the head is affine, differences between classes alone, and the state itself where
    it is not. Attention has no part in it: peaked or flat, the share is the same.
    """

    name: ClassVar[str] = "standing"
    question: ClassVar[str] = "Does what a state says come from its own word?"
    reference: ClassVar[str] = "Sobol' 1993; Jansen 1999"
    draws: Annotated[int, "Pairs of draws of every text.", Within(1, 1000)] = 4
    words: Annotated[
        int, "Words of a text whose states are looked at, at most; drawn where there are more.", Within(1, 10_000)
    ] = 12
    texts: Annotated[int, "Texts that are drawn to be judged; 0: all.", Within(0, 10**9)] = 200

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Sums over texts, and the mean over them."""
        return (
            Measure("own", "own", "ratio", "share of what states say that their own words decide", against="total"),
            Measure("share", "share", "mean", "the same, text by text"),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text."""
        drawn = self._drawn(examination)
        total, others = (torch.zeros(len(drawn), dtype=torch.double, device=drawn.device) for _ in range(2))
        if bool(drawn.any()):
            rows = drawn.nonzero()[:, 0]
            total[rows], others[rows] = self._spread(examination, rows)
        floor = (SINGLE * examination.logits.abs().amax(-1).clamp(min=1.0)) ** 2
        still = total <= floor
        why = reasons(
            (examination.single, "fewer than two tokens"),
            ((~drawn).cpu().numpy(), "not drawn"),
            (still.cpu().numpy(), "no word changes a state"),
        )
        judged = why.is_null().to_numpy(zero_copy_only=False)
        return pa.table(
            {
                "row": pa.array(examination.rows),
                "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
                "own": numbers(total - others, judged),
                "total": numbers(total, judged),
                "share": numbers(1 - others / total.where(~still, 1.0), judged),
                "not_judged": why,
            }
        )

    def _spread(self, examination: Examination, rows: Int[Tensor, " row"]) -> tuple[Tensor, Tensor]:
        """The mean squares of what all words, and of what the other words, do to states; of these rows."""
        batch, mask = examination.batch[rows], examination.mask[rows]
        place, real = self._places(examination, rows, mask)
        total, others = (torch.zeros(len(rows), dtype=torch.double, device=rows.device) for _ in range(2))
        for draw in range(self.draws):
            first, second = (examination.filled(2 * draw + number)[rows] for number in (0, 1))
            one, two = (_says(examination, batch, words, place) for words in (first, second))
            kept = _kept_one(examination, rows, first, second, place)
            total += ((one - two).square().sum(-1) * real).sum(-1) / 2
            others += ((one - kept).square().sum(-1) * real).sum(-1) / 2
        count = (real.sum(-1) * self.draws).clamp(min=1)
        return total / count, others / count

    def _places(
        self, examination: Examination, rows: Tensor, mask: Bool[Tensor, "row token"]
    ) -> tuple[Int[Tensor, "row word"], Bool[Tensor, "row word"]]:
        """Which states are looked at, and which of these there are."""
        keys, width = examination.batch.keys[rows], mask.shape[1]
        chance = uniforms(keys, 1, width, examination.seed, "standing/words", mask)[:, 0].masked_fill(~mask, 2.0)
        found = chance.sort(-1)
        return found.indices[:, : self.words], found.values[:, : self.words] < 2.0

    def _drawn(self, examination: Examination) -> Bool[Tensor, " batch"]:
        """Which texts are judged: so many of all, by chance that is the text's own."""
        total = examination.texts or len(examination.batch)
        if not self.texts or total <= self.texts:
            return torch.ones_like(examination.batch.labels, dtype=torch.bool)
        chance = uniforms(examination.batch.keys, 1, 1, examination.seed, "standing/texts")[:, 0, 0]
        return chance < self.texts / total


def _says(examination: Examination, batch: Batch, words: Tensor, place: Tensor) -> Float[Tensor, "row word says"]:
    """What the states at these places say when the texts are made of these words."""
    reading = examination.subject.read(batch.with_text(replace(batch.text, tokens=words)))
    add_up = examination.reading.token_logits is not None
    said = what_states_say(reading, add_up=add_up)
    said = said.gather(1, place[..., None].expand(-1, -1, said.shape[-1]))
    return said - said.mean(-1, keepdim=True) if add_up else said


def _kept_one(
    examination: Examination, rows: Tensor, first: Tensor, second: Tensor, place: Int[Tensor, "row word"]
) -> Float[Tensor, "row word says"]:
    """What each state says with its own word of the first texts and all other words of the second."""
    count, places = place.shape
    text = torch.arange(count, device=place.device).repeat_interleave(places)
    at = place.flatten()
    groups = examination.reading.groups
    item = torch.arange(second.shape[1], device=at.device).expand_as(second) if groups is None else groups[rows]

    def some(part: slice) -> Tensor:
        of = text[part]
        words = torch.where(item[of] == at[part, None], first[of], second[of])
        return _says(examination, examination.batch[rows[of]], words, at[part, None])[:, 0]

    said = torch.cat(in_slices(some, len(text), max(1, positions(at.device) // second.shape[1])))
    return said.view(count, places, -1)
