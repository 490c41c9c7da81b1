"""Single weight: does removing the largest weight change the prediction more than removing another one?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa
import torch
from jaxtyping import Int
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.errors import InputError
from attentest.measures.chance import uniforms
from attentest.measures.divergence import jensen_shannon
from attentest.measures.flip_sets import turns
from attentest.measures.packing import ordinals, positions
from attentest.measures.rounding import DOUBLE
from attentest.store.findings import Measure

__all__ = ["SingleWeight"]

#: Where the other weight is drawn from: all but the largest, or, as in the released code, all but the text's first.
DRAWS = ("other", "released")


@dataclass(frozen=True)
class SingleWeight(Challenge):
    """ΔJS = JS(ŷ, ŷ without i*) − JS(ŷ, ŷ without r) of the largest weight i* and a random other one r, and flips.

    The largest weight of a text is zeroed and the others are scaled up to sum to one; then the same with another
    weight, drawn at random. If weights say what matters, the prediction changes more without the largest (ΔJS above
    zero), and more so the larger the difference of the two weights; and decisions flip without the largest where
    they do not flip without the other. The four cells of that square are the measures `both_flip`,
    `only_top_flips`, `only_other_flips` and `neither_flips`. The encodings stay as they are, so a state is removed,
    not a word: its traces in other states remain. And a larger weight weighs more by itself: that ΔJS is mostly
    above zero says little, that it is near zero for a large difference says much. Not part of an audit unless asked
    for.
    """

    name: ClassVar[str] = "single_weight"
    question: ClassVar[str] = "Does the prediction change more without its largest weight than without another one?"
    reference: ClassVar[str] = "Serrano & Smith 2019, section 4"
    draw: Annotated[
        str,
        "`other`: any weight but the largest, each as likely. `released`: as the code released with the paper "
        "draws, any but the text's first, and so at times the largest itself.",
    ] = "other"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.draw not in DRAWS:
            raise InputError(f"single_weight: draw={self.draw!r} must be one of {', '.join(DRAWS)}.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How much more, and the four cells of the square of decision flips."""
        return (
            Measure(
                "delta_js", "delta_js", "mean", "ΔJS: change of ŷ without the top weight minus without another one"
            ),
            Measure("js_top", "js_top", "mean", "change of ŷ (JSD) without the top weight"),
            Measure("js_other", "js_other", "mean", "change of ŷ (JSD) without the other weight"),
            Measure("other_matters_more", "other_matters_more", "fraction", "share where the other one changes ŷ more"),
            Measure("top_flips", "top_flips", "fraction", "share of decisions that flip without the top weight"),
            Measure("other_flips", "other_flips", "fraction", "share of decisions that flip without the other weight"),
            Measure("both_flip", "both_flip", "fraction", "share that flips without either of them"),
            Measure("only_top_flips", "only_top_flips", "fraction", "share that flips only without the top weight"),
            Measure("only_other_flips", "only_other_flips", "fraction", "share that flips only without the other one"),
            Measure("neither_flips", "neither_flips", "fraction", "share that flips in neither case"),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """Two rereadings of every text."""
        weights, mask = examination.weights, examination.mask
        top = weights.masked_fill(~mask, -1.0).argmax(-1)
        pair = torch.stack([top, self._other(examination, top)], dim=1)
        left = weights[:, None].repeat(1, 2, 1).scatter(-1, pair[..., None], 0.0)
        total = left.sum(-1, keepdim=True)
        logits = examination.reading.reread(left / total.clamp(min=1e-300)).double()
        change = jensen_shannon(logits.softmax(-1), examination.probabilities[:, None])
        by_top, by_other = turns(logits, examination.logits.argmax(-1, keepdim=True)).unbind(1)
        nothing = (total[..., 0] <= 0).any(-1).cpu().numpy()
        judged = ~(examination.single | nothing)
        place, weight = (of.gather(1, pair) for of in (ordinals(mask), weights))
        more = change[:, 0] - change[:, 1]
        return pa.table(
            {
                "row": examination.rows,
                "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
                "top": pa.array(place[:, 0].cpu().numpy(), pa.int32(), mask=~judged),
                "top_weight": numbers(weight[:, 0], judged),
                "other": pa.array(place[:, 1].cpu().numpy(), pa.int32(), mask=~judged),
                "other_weight": numbers(weight[:, 1], judged),
                "weight_difference": numbers(weight[:, 0] - weight[:, 1], judged),
                "js_top": numbers(change[:, 0], judged),
                "js_other": numbers(change[:, 1], judged),
                "delta_js": numbers(more, judged),
                "other_matters_more": flags(more < -DOUBLE, judged),
                "top_flips": flags(by_top, judged),
                "other_flips": flags(by_other, judged),
                "both_flip": flags(by_top & by_other, judged),
                "only_top_flips": flags(by_top & ~by_other, judged),
                "only_other_flips": flags(~by_top & by_other, judged),
                "neither_flips": flags(~by_top & ~by_other, judged),
                "not_judged": reasons(
                    (examination.single, "fewer than two tokens"), (nothing, "no weight left on any token")
                ),
            }
        )

    def _other(self, examination: Examination, top: Int[Tensor, " batch"]) -> Int[Tensor, " batch"]:
        """One of the other T − 1 items, each as likely.

        The released code sorts the weights, draws a rank from the second on, and then takes it for a position. So it
        draws every item but the text's first, also the largest itself.
        """
        mask = examination.mask
        chance = uniforms(examination.batch.keys, 1, 1, examination.seed, "single_weight")[:, 0, 0]
        drawn = (chance * (examination.lengths - 1).clamp(min=1)).long()
        first = ordinals(mask).gather(1, top[:, None])[:, 0] if self.draw == "other" else torch.zeros_like(drawn)
        place = (drawn + (drawn >= first)).clamp(max=mask.shape[1] - 1)
        return positions(mask).gather(1, place[:, None])[:, 0]
