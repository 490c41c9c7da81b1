"""Faithfulness: does the prediction change without the tokens an explainer puts first, and hold with them alone?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.challenges.limits import Between, enumerated_limits, ranked, searched_orders
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.erasure import Known, check_erasure, erased
from attentest.measures.chance import uniforms
from attentest.parameters import SHARE, Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure, Statistic

__all__ = ["MARKS", "Erased", "Faithfulness", "bin_sizes", "probability_left"]

#: The order that puts marked tokens first stands among the explainers by this name, where the corpus has marks.
MARKS = "marks"
#: An explainer outdoes the search when its mean probability lies further out by more than this.
OUTDONE = 0.01

EACH: tuple[tuple[str, Statistic, str], ...] = (
    ("normalised_comprehensiveness", "mean", "comprehensiveness between the least (0) and the most (1) found"),
    ("normalised_sufficiency", "mean", "sufficiency between the worst (0) and the best (1) found"),
    ("comprehensiveness", "mean", "drop of ŷ without the top tokens, mean over bins (AOPC)"),
    ("sufficiency", "mean", "drop of ŷ with the top tokens alone, mean over bins (AOPC)"),
    ("flipped", "fraction", "share of decisions that turn while the top tokens are removed"),
    ("until_flip", "share", "share of tokens removed until the decision turns (1: it never does)"),
)
BESIDE: tuple[tuple[str, Statistic, str], ...] = (
    (
        "random_normalised_comprehensiveness",
        "mean",
        "a random order: comprehensiveness between the least and the most found",
    ),
    ("random_normalised_sufficiency", "mean", "a random order: sufficiency between the worst and the best found"),
    ("random_comprehensiveness", "mean", "a random order: drop of ŷ without its top tokens"),
    ("most_comprehensiveness", "mean", "largest drop of ŷ found without as many tokens"),
    ("least_comprehensiveness", "mean", "smallest drop of ŷ found without as many tokens"),
    ("random_sufficiency", "mean", "a random order: drop of ŷ with its top tokens alone"),
    ("most_sufficiency", "mean", "largest drop of ŷ found with as many tokens alone"),
    ("least_sufficiency", "mean", "smallest drop of ŷ found with as many tokens alone"),
    ("random_until_flip", "share", "a random order: share of tokens removed until the decision turns"),
    ("best_until_flip", "share", "soonest of all orders tried: share of tokens removed until the decision turns"),
)


@dataclass(frozen=True)
class Faithfulness(Challenge):
    """Comprehensiveness, sufficiency and decision flips of every explainer, beside chance and the limits found.

    The top tokens of every explainer are removed (comprehensiveness: the drop should be large) or kept alone
    (sufficiency: the drop should be small), for several shares of the text; the drop of the predicted class's
    probability, averaged over these shares, is the AOPC. A model that is sure of itself has small drops whatever
    the explainer, so each text's drop is placed between the smallest (0) and the largest (1) that erasing as many
    tokens, in nested sets, was found to do to that text: `normalised_comprehensiveness`, and
    `normalised_sufficiency` with 1 for the best. Up to six tokens these limits are exact, from all sets; for longer
    texts they are the furthest that any order reached, of the explainers', four found by a greedy search and the
    random ones, so the true limits may lie further out, and `search_beaten` tells how often an explainer outdid the
    search. Where that is more than half of the texts, read the numbers as relative to the methods listed. A random
    order stands beside every score, and so do the marked tokens (`marks`), where the corpus has any. Equal scores
    are put in a random order. Signed scores are ranked with their sign: what speaks against the predicted class
    comes last; attention and other scores without a sign cannot do that. An explainer made by erasing
    (`leave_one_out`, `deletion`, `occlusion`) is tested by what it is made of. The verdict therefore compares
    attention only with explainers that have no sign and are not made of erasing; the table ranks all, and marks the
    signed (±) and those made of erasing (e).

    Erased texts are unlike any the model was trained on. Give several `erasures` to see whether the ranking of
    explainers depends on the way of erasing: the report then says which conclusions turn.
    """

    name: ClassVar[str] = "faithfulness"
    question: ClassVar[str] = "Does the prediction change without the top words of attention, or of saliency?"
    reference: ClassVar[str] = "DeYoung et al. 2020 (ERASER); Edin et al. 2025 (Normalized AOPC)"
    explainers: Annotated[tuple[str, ...], "The explainers whose top tokens are erased.", Several()] = (
        "attention",
        "gradient",
        "gradient_norm",
        "gradient_x_input",
        "integrated_gradients(n_steps=8, tolerance=0.2)",
        "lrp",
        "occlusion",
        "leave_one_out",
    )
    erasures: Annotated[
        tuple[str, ...],
        "Ways of erasing: `delete` the tokens and encode again; put the unknown word (`mask`), zeros (`zero`) or "
        "the mean embedding (`mean`) in their place; or only take their attention away (`zero_attention`), which "
        "asks about states.",
        Several(),
    ] = ("delete",)
    bins: Annotated[
        tuple[float, ...], "Shares of the text that are erased, rounded up to tokens; ERASER's.", Several(), SHARE
    ] = (
        0.01,
        0.05,
        0.1,
        0.2,
        0.5,
    )
    flip_bins: Annotated[
        tuple[float, ...], "More shares at which it is looked whether the decision has turned.", Several(0), SHARE
    ] = (
        0.3,
        0.75,
        0.9,
    )
    draws: Annotated[int, "Random orders.", Within(1, 1000)] = 3
    candidates: Annotated[
        int,
        "Tokens that each guide of the search for limits names at every bin; more find wider limits, and take longer.",
        Within(1, 1000),
    ] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        for mode in self.erasures:
            check_erasure(mode)
        for name in ("bins", "flip_bins"):
            given = getattr(self, name)
            if list(given) != sorted(set(given)):
                raise InputError(f"faithfulness: {name}={given} must rise from above 0 to below 1.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The same numbers for every explainer, then what chance and the limits give."""
        return tuple(self._measures())

    def _measures(self) -> Iterator[Measure]:
        for mode in self.erasures:
            suffix, said = (f".{mode}", f" ({mode})") if len(self.erasures) > 1 else ("", "")
            for name in (*self.explainers, MARKS):
                where, called = {"explainer": name, "erasure": mode}, name_in_words(name, self.explainers)
                for column, statistic, words in EACH:
                    yield Measure(f"{name}.{column}{suffix}", column, statistic, f"{called}: {words}{said}", where)
            first = {"explainer": self.explainers[0], "erasure": mode}
            for column, statistic, words in BESIDE:
                yield Measure(f"{column}{suffix}", column, statistic, f"{words}{said}", first)
            words = f"share of instances where an explainer outdoes the search for limits by more than {OUTDONE}"
            yield Measure(f"search_beaten{suffix}", "search_beaten", "fraction", f"{words}{said}", first)

    def examine(self, examination: Examination) -> pa.Table:
        """One row per instance, explainer and way of erasing."""
        scores = {name: examination.scores(name) for name in self.explainers}
        if examination.rationale is not None:
            scores[MARKS] = (examination.rationale & examination.mask).double()
        return pa.concat_tables([self._under(examination, scores, mode) for mode in self.erasures])

    def _under(self, examination: Examination, scores: dict[str, Tensor], mode: str) -> pa.Table:
        """Explainers, searched orders and random ones under one way of erasing, all their sets in one call."""
        batch, mask, predicted = examination.batch, examination.mask, examination.reading.predicted
        looked = sorted({*self.bins, *self.flip_bins})
        sizes, looked_at = (bin_sizes(examination.lengths, shares) for shares in (self.bins, looked))
        known = examination.known(mode)
        chance = partial(probability_left, examination, mode, known=known)
        random, ties = (
            uniforms(batch.keys, draws, mask.shape[1], examination.seed, f"faithfulness/{stream}", mask)
            for draws, stream in ((self.draws, "random"), (1, "ties"))
        )
        given = torch.stack(list(scores.values()), dim=1)
        each = torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
        by_weight = -probability_left(examination, "zero_attention", mask[:, None] & ~each).nan_to_num(nan=1.0)
        by_all = -ranked(given, ties[:, 0], mask).double().mean(1) / examination.lengths.clamp(min=1)[:, None]
        searched = searched_orders(chance, (by_all, by_weight), mask, sizes, self.candidates)
        removing, keeping = (
            ranked(torch.cat([given, some, random], dim=1), ties[:, 0], mask)[:, :, None]
            for some in searched.split(2, dim=1)
        )
        kept = torch.cat([removing >= looked_at[:, None, :, None], keeping < sizes[:, None, :, None]], dim=2)
        kept &= mask[:, None, None]
        logits = erased(examination.subject, batch, examination.reading, kept.flatten(1, 2), mode, known)
        logits = logits.unflatten(1, kept.shape[1:3])

        chances, whole = _of_class(logits.softmax(-1), predicted), _of_class(examination.probabilities, predicted)
        curves = chances[:, :, [looked.index(share) for share in self.bins]], chances[:, :, len(looked) :]
        turned = logits[:, :, : len(looked)].argmax(-1) != predicted[:, None, None]
        share = looked_at.double() / examination.lengths.clamp(min=1)[:, None]
        exact = enumerated_limits(chance, mask, sizes)
        removed, left = (
            Between.of(whole, curve, self.draws, limits) for curve, limits in zip(curves, exact, strict=True)
        )
        until = torch.where(turned, share[:, None], 1.0).amin(-1)
        found = Erased(*curves, removed, left, turned.any(-1), until)
        beside = found.beside(self.draws)
        enumerated = ~exact.only[0].isnan()
        beaten = found.beaten(len(scores)) & ~enumerated
        tables = []
        for place, name in enumerate(scores):
            explainer = None if name == MARKS else EXPLAINERS.parse(name)
            signed = explainer is not None and explainer.has_sign()
            made = explainer is not None and explainer.erases_as(mode)
            why = _not_judged(examination, name, scores[name], chances)
            judged = why.is_null().to_numpy(zero_copy_only=False)
            columns = {
                "row": pa.array(examination.rows),
                "explainer": pa.array([name] * len(why), pa.string()),
                "erasure": pa.array([mode] * len(why), pa.string()),
                "signed": pa.array([signed] * len(why), pa.bool_()),
                "made_of_erasure": pa.array([made] * len(why), pa.bool_()),
                "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
                **found.columns(place, judged),
                **{column: numbers(values, judged) for column, values in beside.items()},
                "enumerated": flags(enumerated, judged),
                "search_beaten": flags(beaten, judged),
                "not_judged": why,
            }
            tables.append(pa.table(columns))
        return pa.concat_tables(tables)


@dataclass(frozen=True)
class Erased:
    """What erasing did, for every order: the explainers', the two searched ones, the random ones."""

    #: The probability of the predicted class at every bin, without the top tokens and with them alone.
    without: Float[Tensor, "batch order bin"]
    only: Float[Tensor, "batch order bin"]
    comprehensive: Between
    sufficient: Between
    flipped: Bool[Tensor, "batch order"]
    until_flip: Float[Tensor, "batch order"]

    def columns(self, place: int, judged: np.ndarray) -> dict[str, pa.Array]:
        """Of one explainer."""
        drops = self.comprehensive.drops[:, place], self.sufficient.drops[:, place]
        until, flipped = self.until_flip[:, place], self.flipped[:, place]
        return {
            "normalised_comprehensiveness": numbers(self.comprehensive.share(drops[0]), judged),
            "normalised_sufficiency": numbers(1 - self.sufficient.share(drops[1]), judged),
            "comprehensiveness": numbers(drops[0], judged),
            "sufficiency": numbers(drops[1], judged),
            "without": _lists(self.without[:, place], judged),
            "only": _lists(self.only[:, place], judged),
            "flipped": flags(flipped, judged),
            "flip_fraction": numbers(until.where(flipped, torch.nan), judged),
            "until_flip": numbers(until, judged),
        }

    def beaten(self, explainers: int) -> Bool[Tensor, " batch"]:
        """Whether some explainer outdoes the searched and random orders, in what it removes or in what it keeps."""
        removed, kept = (
            (drops[:, :explainers], drops[:, explainers:])
            for drops in (self.comprehensive.drops, -self.sufficient.drops)
        )
        further = [ours.amax(-1) - theirs.amax(-1) for ours, theirs in (removed, kept)]
        return torch.maximum(*further) > OUTDONE

    def beside(self, draws: int) -> dict[str, Float[Tensor, " batch"]]:
        """What chance and the limits give."""
        removed, kept = self.comprehensive, self.sufficient
        return {
            "random_normalised_comprehensiveness": removed.share(removed.random),
            "random_normalised_sufficiency": 1 - kept.share(kept.random),
            "random_comprehensiveness": removed.random,
            "least_comprehensiveness": removed.least,
            "most_comprehensiveness": removed.most,
            "random_sufficiency": kept.random,
            "least_sufficiency": kept.least,
            "most_sufficiency": kept.most,
            "random_until_flip": self.until_flip[:, -draws:].mean(-1),
            "best_until_flip": self.until_flip.amin(-1),
        }


def bin_sizes(lengths: Int[Tensor, " batch"], shares: Sequence[float]) -> Int[Tensor, "batch bin"]:
    """How many tokens a bin holds: its share rounded up, and never all of them."""
    # Without the small step .1 of 30 tokens would be 4, because the computer's .1 is a little more.
    exact = lengths[:, None] * torch.tensor(shares, dtype=torch.float64, device=lengths.device)
    return torch.minimum((exact - 1e-9).ceil().long(), lengths[:, None] - 1).clamp(min=1)


def probability_left(
    examination: Examination, mode: str, keep: Bool[Tensor, "batch alternative token"], known: Known | None = None
) -> Float[Tensor, "batch alternative"]:
    """The probability of the predicted class when only these tokens are left."""
    logits = erased(examination.subject, examination.batch, examination.reading, keep, mode, known)
    return _of_class(logits.softmax(-1), examination.reading.predicted)


def _of_class(values: Float[Tensor, "*shape class"], which: Int[Tensor, " batch"]) -> Float[Tensor, "*shape"]:
    place = which.view(-1, *[1] * (values.ndim - 1)).expand(*values.shape[:-1], 1)
    return values.gather(-1, place)[..., 0]


def _lists(values: Float[Tensor, "batch bin"], judged: np.ndarray) -> pa.ListArray:
    """A column of lists, one number for each bin, null where not judged."""
    offsets = pa.array(np.arange(len(values) + 1, dtype=np.int32) * values.shape[1])
    return pa.ListArray.from_arrays(offsets, pa.array(values.flatten().cpu().numpy()), mask=pa.array(~judged))


def _not_judged(examination: Examination, name: str, scores: Tensor, chances: Tensor) -> pa.Array:
    mask = examination.mask
    unmarked = (scores.sum(-1) == 0).cpu().numpy() if name == MARKS else np.zeros(len(mask), bool)
    return reasons(
        (examination.single, "fewer than two tokens"),
        ((~scores.isfinite() & mask).any(-1).cpu().numpy(), "scores are not numbers"),
        (unmarked, "no marked token"),
        (chances.isnan().flatten(1).any(-1).cpu().numpy(), "no weight left on any token"),
    )
