"""Importance: how much of what mattered do the top words of attention hold?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, numbers, reasons
from attentest.errors import InputError
from attentest.explainers.erasure import DRAW, Known, check_erasure, erased
from attentest.explainers.exchanged_states import exchanged_states
from attentest.explainers.perturbation.drops import output_of
from attentest.explainers.perturbation.one_by_one import learn_each
from attentest.measures.capture import deciding, held_share
from attentest.measures.chance import uniforms
from attentest.parameters import SHARE, Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure

__all__ = ["Importance"]

#: A prediction that no word moves by more than this, in log-odds and as a share of the largest logit, is not judged.
FLOOR = 1e-5
#: The way that exchanges states, not words.
STATES = "states"
#: Draws of other words over which the effect of taking words out once is averaged; every order has a draw of its own.
DRAWS = 8
#: Logits, and as many positions of texts, that the orders asked about at once may have.
LOGITS = 2_000_000


@dataclass(frozen=True)
class Importance(Challenge):
    """Shapley values of words by sampling, and how much of them an explainer's top words hold.

    Taking one word out says nothing where another says the same, and little of words that matter together. So words
    are put back into an empty text in random orders, each order also backwards, and what each adds to the log-odds of
    the predicted class, on average, is its Shapley value. Words decide that have at least `decides` of the
    largest value; as many of the explainer's top words are taken, and `held` says how much of all values, for and
    against, they hold: 0 is a blind choice, 1 the best. It does not depend on the temperature of the model.

    Of long texts the `players` likeliest words are put back one by one, the others together. `sampled` is what the
    values of half of the orders hold of those of the other half: what the best explanation could be seen to hold.
    `alone` is what single words do when they are taken out of the whole text, over what all values add up to: far
    below 1 where words are redundant. `one` is the least of `held`, of what goes when the explainer's top words are
    taken out together, and of what goes when their weight lies on the others: 1 where neither other words nor other
    weights would have done.
    """

    name: ClassVar[str] = "importance"
    question: ClassVar[str] = "How much of what mattered do attention's top words hold?"
    reference: ClassVar[str] = "Shapley 1953; Castro et al. 2009; Štrumbelj & Kononenko 2010"
    explainers: Annotated[tuple[str, ...], "The explainers whose top words are taken.", Several()] = ("attention",)
    erasures: Annotated[
        tuple[str, ...],
        "Ways in which words are taken out: `delete`, or the unknown word (`mask`), zeros (`zero`) or the mean "
        "embedding (`mean`) in their place, or a word that the corpus has after the same left neighbour (`draw`, "
        "another one in every order); `zero_attention` takes weights out; `states` exchanges states for those of "
        "unknown words, where a model's states can be.",
        Several(),
    ] = ("delete", "mask", "states")
    orders: Annotated[
        int, "Random orders in which words are put back; half of them are the others backwards.", Within(4, 4096)
    ] = 16
    players: Annotated[int, "Words of a text that are put back one by one, at most.", Within(2, 10_000)] = 24
    texts: Annotated[int, "Texts that are drawn to be judged; 0: all.", Within(0, 10**9)] = 200
    decides: Annotated[float, "A word decides if it mattered this share of what the most important one did.", SHARE] = (
        0.1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for mode in self.erasures:
            if mode not in (STATES, DRAW):
                check_erasure(mode)
        if self.orders % 4:
            raise InputError(f"importance: orders={self.orders} must be a multiple of 4.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """For every explainer and way of taking words out, what is held; beside it what limits it."""
        return tuple(self._measures())

    def _measures(self) -> Iterator[Measure]:
        for mode in self.erasures:
            suffix, said = (f".{mode}", f" ({mode})") if len(self.erasures) > 1 else ("", "")
            for name in self.explainers:
                where, called = {"explainer": name, "erasure": mode}, name_in_words(name, self.explainers)
                words = f"{called}: how much of what mattered its top words hold{said}"
                yield Measure(f"{name}.held{suffix}", "held", "mean", words, where)
                if mode != STATES:
                    words = f"{called}: how far its top words are the one reason{said}"
                    yield Measure(f"{name}.one{suffix}", "one", "mean", words, where)
            first = {"explainer": self.explainers[0], "erasure": mode}
            for column, words in (
                ("sampled", "what the best explanation can be seen to hold"),
                ("deciding", "number of words that decide"),
                ("alone", "what single words do, over what all do together"),
            ):
                yield Measure(f"{column}{suffix}", column, "mean", f"{words}{said}", first)

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text, explainer and way of taking words out."""
        drawn = self._drawn(examination)
        asked = examination if bool(drawn.all()) else examination.some(drawn.nonzero()[:, 0])
        return pa.concat_tables([self._under(examination, asked, drawn, mode) for mode in self.erasures])

    def _under(self, examination: Examination, asked: Examination, drawn: Tensor, mode: str) -> pa.Table:
        """All texts, of which ``asked`` holds those that are drawn."""
        return pa.concat_tables(
            [
                _table(examination, drawn, {"explainer": name, "erasure": mode}, found)
                for name, found in self._found(asked, mode).items()
            ]
        )

    def _found(self, asked: Examination, mode: str) -> dict[str, dict[str, Tensor]]:
        """What is found of every text, by explainer; nothing where no text is asked about."""
        if not len(asked.batch):
            return {name: {} for name in self.explainers}
        values = _Values.of(asked, mode, self.orders, self.players)
        mass = values.mean.abs()
        top = deciding(mass, self.decides)
        still = mass.amax(-1) <= FLOOR * asked.logits.abs().amax(-1).clamp(min=1.0)
        first, second = (half.abs() for half in values.halves)
        sampled = held_share(first, second, asked.mask, deciding(second, self.decides))
        beside = {"still": still, "sampled": sampled, "deciding": top, "alone": values.alone}
        found = {}
        for name in self.explainers:
            scores = asked.scores(name)
            held = held_share(scores, mass, asked.mask, top)
            found[name] = {"held": held, "one": self._one(asked, mode, scores, top, held), **beside}
        return found

    def _one(
        self, examination: Examination, mode: str, scores: Tensor, top: Tensor, held: Tensor
    ) -> Float[Tensor, " batch"]:
        """The least of what the top items hold, what goes with them, and what goes when their weight lies elsewhere."""
        mask = examination.mask
        rank = scores.double().masked_fill(~mask, -torch.inf).argsort(dim=-1, descending=True, stable=True).argsort(-1)
        rest = (rank >= top[:, None]) & mask
        nothing, without = _worth(examination, mode, torch.stack([torch.zeros_like(rest), rest], dim=1)).unbind(1)
        elsewhere = _worth(examination, "zero_attention", rest[:, None])[:, 0]
        whole = output_of(examination.logits, examination.reading.predicted, "margin") - nothing
        elsewhere = elsewhere.where(elsewhere.isfinite(), nothing)  # there is no weight elsewhere
        gone = [1 - ((left - nothing) / whole).clamp(0.0, 1.0) for left in (without, elsewhere)]
        return torch.stack([held, *gone]).amin(0).where(whole > 0, torch.nan)

    def values(self, examination: Examination, mode: str) -> Float[Tensor, "batch token"]:
        """The Shapley values of all texts."""
        return _Values.of(examination, mode, self.orders, self.players).mean

    def _drawn(self, examination: Examination) -> Bool[Tensor, " batch"]:
        """Which texts are judged: so many of all, by chance that is the text's own."""
        total = examination.texts or len(examination.batch)
        if not self.texts or total <= self.texts:
            return torch.ones_like(examination.batch.labels, dtype=torch.bool)
        chance = uniforms(examination.batch.keys, 1, 1, examination.seed, "importance/texts")[:, 0, 0]
        return chance < self.texts / total


def _table(
    examination: Examination, drawn: Bool[Tensor, " batch"], about: Mapping[str, str], found: Mapping[str, Tensor]
) -> pa.Table:
    """One row per text, with what was found of those that are drawn."""

    def of_all(column: str) -> Float[Tensor, " batch"]:
        whole = torch.full(drawn.shape, torch.nan, dtype=torch.double, device=drawn.device)
        return whole.masked_scatter(drawn, found[column].double()) if column in found else whole

    held, one = of_all("held"), of_all("one")
    why = reasons(
        (examination.single, "fewer than two tokens"),
        ((~drawn).cpu().numpy(), "not drawn"),
        ((of_all("still") == 1).cpu().numpy(), "no word moves the prediction"),
        (held.isnan().cpu().numpy(), "all words matter alike"),
    )
    judged = why.is_null().to_numpy(zero_copy_only=False)
    columns = {
        "row": pa.array(examination.rows),
        **{name: pa.array([value] * len(why), pa.string()) for name, value in about.items()},
        "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
        "held": numbers(held, judged),
        "one": numbers(one, judged & one.isfinite().cpu().numpy()),
        **{name: numbers(of_all(name), judged) for name in ("sampled", "deciding", "alone")},
        "not_judged": why,
    }
    return pa.table(columns)


@dataclass(frozen=True)
class _Values:
    """Shapley values of items, those of either half of the orders, and what single items do beside them."""

    mean: Float[Tensor, "batch token"]
    halves: tuple[Float[Tensor, "batch token"], Float[Tensor, "batch token"]]
    alone: Float[Tensor, " batch"]

    @classmethod
    def of(cls, examination: Examination, mode: str, orders: int, players: int) -> _Values:
        """Of all texts."""
        mask = examination.mask
        width = mask.shape[1]
        if not bool(mask.any()):
            nothing = torch.zeros(mask.shape, dtype=torch.double, device=mask.device)
            return cls(nothing, (nothing, nothing), nothing[:, 0])
        single = mask[:, None] & ~torch.eye(width, dtype=torch.bool, device=mask.device)
        learn_each(examination.known(mode), examination.subject, examination.batch, examination.reading, mode)
        whole = output_of(examination.logits, examination.reading.predicted, "margin")
        effect = (whole[:, None] - _worth(examination, mode, single)).nan_to_num().where(mask, 0.0)
        group = _players(examination, mode, effect, mask, players)
        gains = _gains(examination, mode, group, mask, orders)
        # Forwards and backwards of one order stand together: a half has both of each of its orders.
        first, second = gains[:, : orders // 2].mean(1), gains[:, orders // 2 :].mean(1)
        mean = (first + second) / 2
        if mode == DRAW:
            mean = _beyond_noise(mean, gains)
        alone = effect.abs().sum(-1) / mean.abs().sum(-1)
        return cls(mean, (first, second), alone)


def _beyond_noise(mean: Float[Tensor, "batch token"], gains: Float[Tensor, "batch order token"]) -> Tensor:
    """Means over orders, shrunk by their error: words that do nothing must not add up to much by what was drawn.

    The positive part of James & Stein's (1961) estimator, each item by itself.
    """
    pairs = gains.unflatten(1, (-1, 2)).mean(2)
    error = pairs.var(1) / pairs.shape[1]
    kept: Tensor = mean * (1 - error / mean.square().clamp(min=1e-300)).clamp(min=0.0)
    return kept


def _worth(
    examination: Examination,
    mode: str,
    keep: Bool[Tensor, "batch set token"],
    known: Known | None = None,
    draw: int | None = None,
) -> Float[Tensor, "batch set"]:
    """The log-odds of the predicted class when only these items are left; of an empty text, with unknown words.

    Where others are drawn in their place: of one draw, or the mean over several.
    """
    if mode == DRAW and draw is None:
        draws = [_worth(examination, mode, keep, draw=each) for each in range(DRAWS)]
        return torch.stack(draws).mean(0)
    about = examination.subject, examination.batch, examination.reading
    if mode == STATES:
        logits = exchanged_states(*about, keep, examination.nothing)
        return output_of(logits, examination.reading.predicted, "margin")
    filled = None if draw is None else examination.filled(draw)
    known = examination.known(mode if draw is None else f"{mode} {draw}") if known is None else known
    logits = erased(*about, keep, mode, known, filled)
    empty = ~keep.any(-1)
    if bool((empty & logits.isnan().any(-1)).any()):
        nothing = erased(*about, torch.zeros_like(keep[:, :1]), "mask", examination.known("mask"))
        logits = torch.where(empty[..., None], nothing, logits)
    return output_of(logits, examination.reading.predicted, "margin")


def _players(
    examination: Examination, mode: str, effect: Tensor, mask: Tensor, players: int
) -> Int[Tensor, "batch token"]:
    """The number of the player that each item is, or −1; the last player is all that are none by themselves."""
    width = mask.shape[1]
    if int(mask.sum(-1).max()) <= players:
        return torch.where(mask, mask.cumsum(-1) - 1, -1)
    only = mask[:, None] & torch.eye(width, dtype=torch.bool, device=mask.device)
    said = _worth(examination, mode, only)
    none = _worth(examination, mode, torch.zeros_like(only[:, :1]))
    weights = examination.weights.where(mask, 0.0)
    ranks = [
        score.masked_fill(~mask, -torch.inf).argsort(dim=-1, descending=True, stable=True).argsort(-1)
        for score in (weights, effect.abs(), (said - none).abs())
    ]
    best = torch.stack(ranks).amin(0).masked_fill(~mask, width).double()
    place = best.argsort(dim=-1, stable=True).argsort(-1)
    crowded = mask.sum(-1, keepdim=True) > players
    return torch.where(mask, torch.where(crowded, place.clamp(max=players), mask.cumsum(-1) - 1), -1)


def _gains(
    examination: Examination, mode: str, group: Int[Tensor, "batch token"], mask: Tensor, orders: int
) -> Float[Tensor, "batch order token"]:
    """What each item adds when it is put back, in every order; what a group adds is shared among its items."""
    count = int(group.max()) + 1
    real = torch.arange(count, device=group.device) <= group.amax(-1, keepdim=True)
    chance = uniforms(examination.batch.keys, orders // 2, count, examination.seed, "importance/orders")
    ways = []
    for sign in (1.0, -1.0):
        rank = (sign * chance).masked_fill(~real[:, None], torch.inf).argsort(-1).argsort(-1)
        ways.append(rank)
    rank = torch.stack(ways, dim=2).flatten(1, 2)
    of_item = rank.gather(-1, group.clamp(min=0)[:, None].expand(-1, orders, -1))
    step = torch.arange(count + 1, device=group.device)[None, None, :, None]
    # A few orders at a time, since their texts begin and end alike, and none of their sets kept: there may be many
    # classes. Where others are drawn, one at a time: each has words of its own.
    at_once = 1 if mode == DRAW else max(1, LOGITS // (mask.numel() * (count + 1) * examination.logits.shape[-1]))
    known, worths = examination.known(mode), []
    for number, some in enumerate(of_item.split(at_once, dim=1)):
        sets = (some[:, :, None] < step) & mask[:, None, None]
        worth = _worth(examination, mode, sets.flatten(1, 2), known.apart(), draw=number if mode == DRAW else None)
        worths.append(worth.unflatten(1, sets.shape[1:3]))
    worth = torch.cat(worths, dim=1)
    gain = worth.diff(dim=-1).gather(-1, of_item)
    sizes = torch.zeros_like(real, dtype=torch.double).scatter_add(-1, group.clamp(min=0), mask.double())
    shared = sizes.gather(-1, group.clamp(min=0)).clamp(min=1.0)
    each: Tensor = (gain / shared[:, None]).where(mask[:, None], 0.0).nan_to_num()
    return each
