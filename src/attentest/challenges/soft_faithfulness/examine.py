"""Soft faithfulness: erasing parts of every token's embedding in proportion to its score, instead of whole tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, numbers, reasons
from attentest.measures.chance import permutations, uniforms
from attentest.parameters import Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure

__all__ = ["SoftFaithfulness"]

#: A prediction that loses less than this when every token is zero leaves nothing to divide by.
NARROW = 1e-3


@dataclass(frozen=True)
class SoftFaithfulness(Challenge):
    """Every number of a token's embedding is zeroed with a chance: its score (removing), or the rest (keeping).

    As `faithfulness`, but no token is erased as a whole: every number of a token's embedding is zeroed with a
    chance, its score divided by the text's largest (to see what is lost), or else kept with that chance (to see
    what is enough). So texts keep their length, and how much a token matters counts, not only its rank. Both are
    divided by what zeroing every embedding does. Flat scores erase more than peaked ones, so the same scores
    shuffled over the tokens stand beside.
    """

    name: ClassVar[str] = "soft_faithfulness"
    question: ClassVar[str] = "Does the prediction drop as embeddings fade in proportion to an explainer's scores?"
    reference: ClassVar[str] = "Zhao & Aletras 2023"
    explainers: Annotated[
        tuple[str, ...], "The explainers whose scores are the chances; negative scores count as zero.", Several()
    ] = ("attention", "gradient", "gradient_x_input", "lrp", "leave_one_out")
    draws: Annotated[int, "How often the numbers to zero are drawn.", Within(1, 1000)] = 5

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Both numbers for every explainer, beside its own scores shuffled."""
        return tuple(
            Measure(f"{e}.{column}", column, "mean", f"{name_in_words(e, self.explainers)}: {words}", {"explainer": e})
            for e in self.explainers
            for column, words in (
                ("soft_comprehensiveness", "soft comprehensiveness (0 nothing lost, 1 as much as without any word)"),
                ("soft_sufficiency", "soft sufficiency (0 as much lost as without any word, 1 nothing)"),
                ("random_soft_comprehensiveness", "soft comprehensiveness of its scores, shuffled"),
                ("random_soft_sufficiency", "soft sufficiency of its scores, shuffled"),
            )
        )

    def examine(self, examination: Examination) -> pa.Table:
        """One row per instance and explainer."""
        mask, subject = examination.mask, examination.subject
        order = permutations(examination.batch.keys, 1, mask, examination.seed, "soft_faithfulness")[:, 0]
        shares = [_scaled(examination.scores(name), mask) for name in self.explainers]
        shares += [share.gather(-1, order) for share in shares]
        with torch.no_grad():
            embeddings = subject.embed(examination.batch)
            lost = torch.zeros(len(shares), 2, len(mask), dtype=torch.float64, device=mask.device)
            for draw in range(self.draws):
                noise = _noise(examination, embeddings.shape[-1], draw)
                for i, share in enumerate(shares):
                    # What is zeroed when removing is what is left when keeping.
                    zeroed = noise < examination.reading.spread(share)[..., None]
                    for j, left in enumerate((~zeroed, zeroed)):
                        lost[i, j] += _lost(examination, embeddings, left) / self.draws
            most = _lost(examination, embeddings, torch.zeros_like(embeddings, dtype=torch.bool))
        lost /= most
        count = len(self.explainers)
        return pa.concat_tables(
            [
                self._rows(examination, name, lost[i], lost[i + count], shares[i], most)
                for i, name in enumerate(self.explainers)
            ]
        )

    def _rows(
        self, examination: Examination, explainer: str, own: Tensor, shuffled: Tensor, share: Tensor, most: Tensor
    ) -> pa.Table:
        nothing = (share.sum(-1) == 0).cpu().numpy()
        sure = (most < NARROW).cpu().numpy()
        judged: np.ndarray = ~(examination.single | nothing | sure)
        return pa.table(
            {
                "row": examination.rows,
                "explainer": pa.array([explainer] * len(judged), pa.string()),
                "soft_comprehensiveness": numbers(own[0], judged),
                "soft_sufficiency": numbers(1 - own[1], judged),
                "random_soft_comprehensiveness": numbers(shuffled[0], judged),
                "random_soft_sufficiency": numbers(1 - shuffled[1], judged),
                "erased": numbers(share.sum(-1) / examination.lengths.clamp(min=1), judged),
                "lost_without_any": numbers(most),
                "not_judged": reasons(
                    (examination.single, "fewer than two tokens"),
                    (nothing, "no score above zero"),
                    (sure, "the prediction holds without any word"),
                ),
            }
        )


def _scaled(scores: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Float[Tensor, "batch token"]:
    """Scores between 0 and 1: divided by the text's largest, negative ones zero."""
    above = scores.clamp(min=0).where(mask, 0.0)
    return above / above.amax(-1, keepdim=True).clamp(min=1e-300)


def _noise(examination: Examination, size: int, draw: int) -> Float[Tensor, "batch token embedding"]:
    """A number in [0, 1) for every number of every real token's embedding."""
    mask = examination.batch.mask.repeat_interleave(size, dim=1)
    stream = f"soft_faithfulness/{draw}"
    drawn = uniforms(examination.batch.keys, 1, mask.shape[1], examination.seed, stream, mask)[:, 0]
    return drawn.view(*examination.batch.mask.shape, size)


def _lost(
    examination: Examination,
    embeddings: Float[Tensor, "batch token embedding"],
    left: Bool[Tensor, "batch token embedding"],
) -> Float[Tensor, " batch"]:
    """How much of the predicted class's probability is gone when only these numbers are left; never below zero."""
    given = embeddings * (left | ~examination.batch.mask[..., None])
    logits = examination.subject.read(examination.batch, embeddings=given).logits.double()
    place = examination.reading.predicted[:, None]
    before, after = (p.gather(-1, place)[:, 0] for p in (examination.probabilities, logits.softmax(-1)))
    return (before - after).clamp(min=0)
