"""Exchange: do the marked words decide?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, numbers, prediction_of, reasons
from attentest.data.batches import Batch
from attentest.measures.chance import another, uniforms
from attentest.measures.divergence import total_variation
from attentest.measures.packing import ordinals, positions
from attentest.models.subject import Subject
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["Exchange", "exchanged"]


@dataclass(frozen=True)
class Exchange(Challenge):
    """The marked words of a text are exchanged for those of a text that the model decides otherwise.

    Other texts are drawn; of those that the model gives another class, the marked words, in their order and from the
    first again where they are fewer, take the places of the text's own. Where marked words decide, the prediction
    follows them to the other text's class. Beside it, the words that are not marked are exchanged in the same way and
    the marked ones stay. What attention shows has no part in it, so this says whether a model that was trained to
    hide words still uses them. Needs marks: of the corpus, or by `mark` (`--mark`).

    Of a translator, a word of another text's translation is drawn, and the words to read that are linked to it take the
    place of those that are linked to the word to be written: does the model write the other word?
    """

    name: ClassVar[str] = "exchange"
    question: ClassVar[str] = "Do the marked words decide?"
    reference: ClassVar[str] = "after Pruthi et al. 2020, section 4"
    draws: Annotated[int, "Other texts that are drawn for every text.", Within(1, 1000)] = 8

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How far predictions move, and how often they follow."""
        moved, follows = "change of ŷ (TVD)", "share of exchanges that the decision follows"
        return (
            Measure("moved", "moved", "mean", f"{moved} with the marked words of a text decided otherwise"),
            Measure("followed", "followed", "share", f"{follows}, marked words"),
            Measure("rest_moved", "rest_moved", "mean", f"{moved} with the other words of a text decided otherwise"),
            Measure("rest_followed", "rest_followed", "share", f"{follows}, other words"),
        )

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs marks."""
        return None if has_rationale else "no word is marked. Use a corpus that marks words, or mark some (--mark)"

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text."""
        batch, marks_of, donors = examination.batch, examination.marks_of, examination.donors
        texts = examination.texts or len(batch)
        marked = torch.zeros_like(batch.mask) if marks_of is None else marks_of(batch) & batch.mask
        before = prediction_of(examination.reading)
        chance = uniforms(batch.keys, self.draws, 1, examination.seed, "exchange/texts")[..., 0]
        sums = torch.zeros(4, len(batch), dtype=torch.double, device=before.device)
        tries = torch.zeros_like(before[:, 0])
        for draw in range(self.draws if donors is not None and marks_of is not None and texts > 1 else 0):
            assert donors is not None
            assert marks_of is not None
            others = _drawn(batch, donors, texts, chance[:, draw], examination.seed, draw)
            wanted = examination.subject.read(others).predicted
            theirs = marks_of(others) & others.mask
            there = (wanted != examination.reading.predicted) & _of_both_kinds(theirs, others.mask)
            tries += there
            for kind, (own, their) in enumerate(((marked, theirs), (batch.mask & ~marked, others.mask & ~theirs))):
                words = exchanged(batch, own, others, their)
                after = prediction_of(examination.subject.read(batch.with_text(replace(batch.text, tokens=words))))
                sums[2 * kind] += there * total_variation(before, after)
                sums[2 * kind + 1] += there * (after.argmax(-1) == wanted)
        why = reasons(
            (~marked.any(-1).cpu().numpy(), "no marked token"),
            (~_of_both_kinds(marked, batch.mask).cpu().numpy(), "every token marked"),
            ((tries == 0).cpu().numpy(), "no other text was decided otherwise"),
        )
        judged = why.is_null().to_numpy(zero_copy_only=False)
        names = ("moved", "followed", "rest_moved", "rest_followed")
        means = sums / tries.clamp(min=1)
        return pa.table(
            {
                "row": pa.array(examination.rows),
                "marked": pa.array(marked.sum(-1).cpu().numpy(), pa.int32()),
                "tries": pa.array(tries.cpu().numpy().astype("int32"), pa.int32()),
                **{name: numbers(values, judged) for name, values in zip(names, means, strict=True)},
                "not_judged": why,
            }
        )


def _drawn(
    batch: Batch,
    donors: Callable[[np.ndarray], Batch],
    texts: int,
    chance: Float[Tensor, " row"],
    seed: int,
    draw: int,
) -> Batch:
    """Another text for every row; where texts are written, one of the words of its target, and not its end."""
    target = batch.target
    own = batch.rows if target is None else target.sentences[target.of]
    others = donors(another(chance, torch.full_like(own, texts), own).cpu().numpy()).to(batch.rows.device)
    if others.target is None:
        return others
    steps = torch.bincount(others.target.of, minlength=len(batch))
    which = uniforms(batch.keys, 1, 1, seed, f"exchange/steps/{draw}")[:, 0, 0]
    return others[steps.cumsum(0) - steps + (which * (steps - 1)).long()]


def _of_both_kinds(marked: Bool[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Bool[Tensor, " batch"]:
    """Whether a text has marked words, and others."""
    return marked.any(-1) & (mask & ~marked).any(-1)


def exchanged(
    batch: Batch, own: Bool[Tensor, "batch token"], others: Batch, their: Bool[Tensor, "other place"]
) -> Int[Tensor, "batch token"]:
    """The texts with the k-th of their own words become the k-th of the others', counted on from the first again."""
    count = their.sum(-1, keepdim=True).clamp(min=1)
    place = positions(their).gather(-1, (ordinals(own) % count).clamp(max=their.shape[1] - 1))
    return torch.where(own, others.text.tokens.gather(-1, place), batch.text.tokens)
