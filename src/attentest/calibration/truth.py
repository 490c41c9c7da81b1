"""The truth about an attention: how much of what mattered do the words hold that it weighs most?

Per text, 0 is what a blind choice of as many units would hold, and 1 the best choice. Below 0 attention points away
from what mattered. Three truths, each for one use of the verdict:

- **words** (*say which words mattered*): units of the text, exchanged by the world;
- **states** (*check where the model looks*): what attention weighs, each state exchanged for that of another text;
- **one** (*give it as the one reason*): the least of three: the truth about words, what goes when these words are drawn
  anew, and what goes when their weight lies on the others. So neither other words nor other weights would have done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.calibration.intervention import Interviewer, log_odds
from attentest.calibration.shapley import Drawn, UnitValues, Worth, all_sets_values, sampled_values
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.text import Text
from attentest.measures.capture import deciding, held_share
from attentest.models.subject import Reading, Subject

__all__ = ["Item", "Truth", "held_by_top", "items_of", "mass_of", "truth_of", "weight_of", "word_values"]

#: A unit decides if it mattered at least this share of what the most important one did.
DECIDES = 0.1
#: What is less than this share of all numbers is rounding.
ROUNDING = 1e-9
#: What log-odds in single precision may differ by when nothing that counts is exchanged.
SINGLE = 1e-4
#: Fillers that together mattered more than this share are looked at one by one.
REST = 0.02
#: Of so few groups all sets are tried.
FEW = 6
#: Random orders in which units are put back.
ORDERS = 64
#: Texts whose states are exchanged for those of a text.
OTHERS = 16


@dataclass(frozen=True)
class Truth:
    """The three truths of every text; not a number where nothing the text says moves the model."""

    words: np.ndarray
    states: np.ndarray
    one: np.ndarray

    def means(self) -> dict[str, float]:
        """Each over the texts that could be judged."""
        return {name: float(np.nanmean(values)) for name, values in vars(self).items()}


def word_values(
    asked: Interviewer, *, orders: int = ORDERS, random: np.random.Generator
) -> tuple[UnitValues, list[list[int]]]:
    """What the units of a text did to the log-odds of the predicted class; fillers that did nothing count as one."""
    units = asked.text.units
    deciding = [[number] for number, unit in enumerate(units) if unit.decides]
    rest = [number for number, unit in enumerate(units) if not unit.decides and len(unit.options) > 1]
    predicted = asked.logits(asked.own[None]).argmax(-1)

    def worth(choices: np.ndarray) -> np.ndarray:
        logits = asked.logits(choices)
        return log_odds(logits, predicted.expand(len(choices))).numpy()

    groups = [*deciding, rest] if rest else deciding
    if len(groups) <= FEW:
        found = all_sets_values(worth, asked.own, asked.drawn, groups, draws=orders // 2, random=random)
    else:
        found = sampled_values(worth, asked.own, asked.drawn, groups, orders=orders, random=random)
    if rest and found.mass[-1] > REST * found.mass.sum():
        groups = [*deciding, *([number] for number in rest)]
        found = sampled_values(worth, asked.own, asked.drawn, groups, orders=orders, random=random)
    return found, groups


def truth_of(
    subject: Subject, texts: Sequence[Text], vocabulary: Vocabulary, *, orders: int = ORDERS, seed: int = 0
) -> Truth:
    """The truths of these texts."""
    found = [
        _truth(Interviewer(subject, vocabulary, text), orders, np.random.default_rng((seed, number)))
        for number, text in enumerate(texts)
    ]
    words, states, one = (np.array(values) for values in zip(*found, strict=True))
    return Truth(words, states, one)


def _truth(asked: Interviewer, orders: int, random: np.random.Generator) -> tuple[float, float, float]:
    reading = asked.read(asked.own[None])
    weights = reading.weights[0].double().cpu().numpy()
    values, groups = word_values(asked, orders=orders, random=random)
    items = items_of(asked.text)
    weighed = weight_of(items, weights[1:-1])
    words, count = held_by_top(weighed, mass_of(items, values, groups))
    top = [items[number] for number in np.argsort(-weighed, kind="stable")[:count]]
    one = _the_one(asked, reading, words, top, random) if top else float("nan")
    return words, _states_held(asked, reading, weights, orders, random), one


@dataclass(frozen=True)
class Item:
    """What attention may show: a unit, or one word of a unit whose words stand apart, with its share of the unit."""

    unit: int
    places: tuple[int, ...]
    share: float


def items_of(text: Text) -> list[Item]:
    """What attention may show of a text."""
    items = []
    for number, unit in enumerate(text.units):
        parts = [(place,) for place in unit.places] if unit.apart else [unit.places]
        items += [Item(number, places, 1 / len(parts)) for places in parts]
    return items


def mass_of(items: Sequence[Item], values: UnitValues, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """How much each item mattered; those that were only drawn together with others mattered too little to count."""
    by_unit = {group[0]: share for group, share in zip(groups, values.mass, strict=True) if len(group) == 1}
    return np.array([item.share * by_unit.get(item.unit, 0.0) for item in items])


def weight_of(items: Sequence[Item], scores: np.ndarray) -> np.ndarray:
    """The score of each item: the highest of its words', for it is found where one of them is."""
    return np.array([scores[list(item.places)].max() for item in items])


def held_by_top(weights: np.ndarray, mass: np.ndarray) -> tuple[float, int]:
    """How much of the mass the highest weights hold, as many as decide; and how many these are."""
    chosen, each = torch.from_numpy(weights)[None], torch.from_numpy(mass)[None]
    top = deciding(each, DECIDES)
    return float(held_share(chosen, each, torch.ones_like(each, dtype=torch.bool), top)), int(top)


def _the_one(
    asked: Interviewer, reading: Reading, words: float, top: list[Item], random: np.random.Generator, draws: int = 64
) -> float:
    """The least of: what these items hold, what goes with them, what goes when their weight lies on the others."""
    drawn = asked.drawn(draws, random)
    without = np.tile(asked.own, (draws, 1))
    units = [item.unit for item in top]
    without[:, units] = drawn[:, units]
    logits = asked.logits(np.concatenate([asked.own[None], drawn, without]))
    of = logits[:1].argmax(-1)
    said = log_odds(logits, of.expand(len(logits))).numpy()
    chance, without_words = said[1 : draws + 1].mean(), said[draws + 1 :].mean()
    elsewhere = log_odds(_weight_elsewhere(reading, top).cpu(), of).item()
    whole = said[0] - chance
    if whole <= 0:
        return float("nan")
    gone = [1 - np.clip((left - chance) / whole, 0.0, 1.0) for left in (without_words, elsewhere)]
    return float(min(words, *gone))


def _weight_elsewhere(reading: Reading, items: list[Item]) -> Tensor:
    """The logits when the weight of these items lies on all others, in proportion to theirs."""
    left = reading.mask.clone()
    left[0, [1 + place for item in items for place in item.places]] = False
    weights = reading.weights.where(left, 0.0)
    weights = torch.where(weights.sum(-1, keepdim=True) > 0, weights, left.to(weights))
    moved: Tensor = reading.reread((weights / weights.sum(-1, keepdim=True))[:, None])[:, 0]
    return moved


def _states_held(
    asked: Interviewer, reading: Reading, weights: np.ndarray, orders: int, random: np.random.Generator
) -> float:
    """How much of what states did attention's top states hold; each is exchanged for those of other texts."""
    adds_up = reading.token_logits is not None
    if _answered(reading, _says(reading)[:, 1:-1]) is None:
        return float("nan")
    others = asked.read(asked.drawn(OTHERS, random))
    each = torch.cat([_says(others), _says(reading)]).double()[:, 1:-1]
    own_weights = reading.weights[0, 1:-1].double()

    def worth(choices: np.ndarray) -> np.ndarray:
        mixed = each[torch.from_numpy(choices), torch.arange(each.shape[1])]
        logits = _answered(reading, mixed)
        assert logits is not None
        return log_odds(logits, reading.predicted.expand(len(logits))).cpu().numpy()

    size = each.shape[1]
    if adds_up and each.shape[-1] == 2:  # what states say adds up, in whatever order
        said = each @ torch.tensor([-1.0, 1.0], dtype=each.dtype)
        found = UnitValues((own_weights * (said[-1] - said[:-1].mean(0))).cpu().numpy(), np.zeros(size))
    else:
        found = _sampled(worth, size, orders, random)
    mass = found.mass
    rounding = ROUNDING * float(each.abs().max()) if adds_up else SINGLE
    if mass.max() <= max(ROUNDING, rounding):
        return float("nan")
    return held_by_top(weights[1:-1], mass)[0]


def _answered(reading: Reading, said: Float[Tensor, "row word said"]) -> Float[Tensor, "row class"] | None:
    """The logits when the words' states say, or are, this, under a text's weights; None where that is not known."""
    if reading.token_logits is not None:
        return (reading.weights[0, 1:-1, None].double() * said).sum(1)
    logits = reading.with_states(torch.nn.functional.pad(said, (0, 0, 1, 1))[None])
    return None if logits is None else logits[0]


def _says(reading: Reading) -> Tensor:
    """What states say: each its logits where they add up, and itself where they do not."""
    return reading.states if reading.token_logits is None else reading.token_logits


def _sampled(worth: Worth, size: int, orders: int, random: np.random.Generator) -> UnitValues:
    return sampled_values(
        worth,
        np.full(size, OTHERS),
        Drawn(np.full(size, OTHERS)),
        [[i] for i in range(size)],
        orders=orders,
        random=random,
    )
