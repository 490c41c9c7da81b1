"""Made-up findings of removed weights and of models trained beside the audited one, by the schema of the challenges.

What the other models do is drawn about the audited one's attention and prediction; the choices say how far away, so
that each pattern of the four tests can be made up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attentest.challenges.adversarial_training.examine import AdversarialTraining
from attentest.challenges.flip_sets.examine import FlipSets
from attentest.challenges.guide.examine import GUIDES, Guide
from attentest.challenges.seed_variance.examine import SeedVariance
from attentest.challenges.single_weight.examine import SingleWeight
from attentest.challenges.trained_uniform.examine import TrainedUniform

Row = dict[str, Any]
LN2 = float(np.log(2))
WEIGHTS = (0.0, 0.001, 0.01, 0.1, 1.0)
SEEDS = 7
MEASURES = {
    "single_weight": SingleWeight().measures,
    "flip_sets": FlipSets(draws=2).measures,
    "trained_uniform": TrainedUniform().measures,
    "seed_variance": SeedVariance(SEEDS + 1).measures,
    "guide": Guide().measures,
    "adversarial_training": AdversarialTraining(WEIGHTS).measures,
}
#: Columns that are there even if no row was judged.
NUMBERS = {
    "single_weight": (
        *("weight_difference", "delta_js", "js_top", "js_other", "other_matters_more", "top_flips", "other_flips"),
        *("both_flip", "only_top_flips", "only_other_flips", "neither_flips"),
    ),
    "flip_sets": ("flip_fraction", "until_flip", "never", "mass", "times_smallest", "times_smallest_counted", "proved"),
    "trained_uniform": ("change", "attention_jsd", "correct", "correct_uniform", "lost", "predicted_uniform"),
    "seed_variance": (
        *("attention_jsd", "prediction_tvd", "top_changed", "correct", "correct_others"),
        *("attention_jsd_by_seed", "prediction_tvd_by_seed", "predicted_by_seed"),
    ),
    "guide": (
        *("gained", "over_own", "over_adversary", "correct"),
        *(f"{what}_{whose}" for what in ("correct", "predicted") for whose in GUIDES),
    ),
    "adversarial_training": (
        *("tvd", "jsd", "correct", "correct_adversary", "tvd_by_seed", "jsd_by_seed", "predicted_by_seed"),
    ),
}


@dataclass(frozen=True)
class Others:
    """What the other models do: accuracies, and mean distances from the audited model."""

    uniform: float = 0.58
    seeds: float = 0.63
    #: How far the accuracies of single seeds lie apart.
    spread: float = 0.002
    top_changed: float = 0.3
    seeds_tvd: float = 0.08
    seeds_jsd: float = 0.12
    guides: dict[str, float] = field(
        default_factory=lambda: {"uniform": 0.52, "own": 0.54, "model": 0.6, "adversary": 0.53}
    )
    #: For every λ.
    tvd: tuple[float, ...] = (0.03, 0.05, 0.09, 0.2, 0.35)
    jsd: tuple[float, ...] = (0.1, 0.2, 0.33, 0.5, 0.62)


def trained(text: Row, classes: int, others: Others, seed: int) -> dict[str, list[Row]]:
    """The rows of one text in every findings file of other models."""
    number = int(text["id"][-5:])
    random = np.random.default_rng([seed, number])
    base = {name: text[name] for name in ("id", "predicted", "label")} | {"not_judged": None}
    top = {"max_attention": text["max_attention"]}
    weights = [f"{weight:g}" for weight in WEIGHTS]
    if len(text["tokens"]) == 1:
        alone = base | {"not_judged": "only one token"}
        rows = {name: [alone] for name in ("trained_uniform", "guide")} | {"seed_variance": [alone | top]}
        return rows | {"adversarial_training": [alone | top | {"weight": weight} for weight in weights]}

    def guess(accuracy: float) -> int:
        right = random.random() < accuracy
        return base["label"] if right else int((base["label"] + 1 + random.integers(classes - 1)) % classes)

    def near(mean: float, most: float, size: int) -> list[float]:
        share = min(max(mean / most, 0.01), 0.99)
        return (most * random.beta(6 * share, 6 * (1 - share), size)).tolist()

    own = base["predicted"] == base["label"]
    even = guess(others.uniform)
    uniform = {"correct": own, "correct_uniform": even == base["label"], "predicted_uniform": even}
    uniform |= {"change": near(0.12, 1, 1)[0], "attention_jsd": near(0.2, LN2, 1)[0]}
    uniform |= {"lost": float(own) - float(even == base["label"])}
    by_seed = [guess(others.seeds + others.spread * (k - SEEDS / 2)) for k in range(SEEDS)]
    jsd, tvd = near(others.seeds_jsd, LN2, SEEDS), near(others.seeds_tvd, 1, SEEDS)
    seeds = {
        "attention_jsd": np.mean(jsd),
        "prediction_tvd": np.mean(tvd),
        "correct": own,
        "predicted_by_seed": by_seed,
    }
    seeds |= {"attention_jsd_by_seed": jsd, "prediction_tvd_by_seed": tvd}
    seeds |= {"correct_others": np.mean([p == base["label"] for p in by_seed])}
    seeds |= {"top_changed": random.binomial(SEEDS, others.top_changed) / SEEDS}
    guided = {name: guess(others.guides[name]) for name in GUIDES}
    right = {name: given == base["label"] for name, given in guided.items()}
    guide = {"correct": own} | {f"correct_{name}": value for name, value in right.items()}
    guide |= {f"predicted_{name}": given for name, given in guided.items()}
    guide |= {
        column: float(right["model"]) - float(right[name])
        for column, name in {"gained": "uniform", "over_own": "own", "over_adversary": "adversary"}.items()
    }
    adversaries = []
    for place, weight in enumerate(weights):
        far = {"tvd": near(others.tvd[place], 1, 1)[0], "jsd": near(others.jsd[place], LN2, 1)[0]}
        given = guess(others.seeds - others.tvd[place] / 2)
        row = base | top | far | {"weight": weight, "correct": own, "predicted_by_seed": [given]}
        row |= {"tvd_by_seed": [far["tvd"]], "jsd_by_seed": [far["jsd"]]}
        adversaries.append(row | {"correct_adversary": float(given == base["label"])})
    return {
        "trained_uniform": [base | uniform],
        "seed_variance": [base | top | seeds],
        "guide": [base | guide],
        "adversarial_training": adversaries,
    }


def removed(text: Row) -> dict[str, list[Row]]:
    """Weights of one text, really removed from a head that is affine in them: one, and then more and more of them."""
    random = np.random.default_rng(int(text["id"][-5:]))
    base = {name: text[name] for name in ("id", "predicted")} | {"not_judged": None}
    attention, logits = np.asarray(text["attention"]), np.asarray(text["token_logits"])
    length = len(attention)
    orders = ("attention", "gradient", "gradient_x_attention", "random_1", "random_2", "random", "smallest")
    if length == 1:
        alone = base | {"tokens": length, "not_judged": "only one token"}
        return {"single_weight": [alone], "flip_sets": [alone | {"order": order} for order in orders]}
    chance = random.random((2, length))
    own = logits[:, text["predicted"]] - np.delete(logits, text["predicted"], 1).max(1)
    scores = {"attention": attention, "gradient": own, "gradient_x_attention": attention * own}
    scores |= {f"random_{i + 1}": values for i, values in enumerate(chance)}
    found = {order: _until(attention, logits, text["predicted"], np.argsort(-s)) for order, s in scores.items()}
    found["smallest"] = min((n for n in found.values() if n), default=None)
    rows = {order: _flip_row(n, length, found["smallest"]) for order, n in found.items()}
    draws = [rows["random_1"], rows["random_2"]]
    means = {name: [d[name] for d in draws if d[name] is not None] for name in draws[0]}
    rows["random"] = {name: float(np.mean(v)) if v else None for name, v in means.items()}
    sets = [base | {"order": order, "tokens": length, "proved": True} | rows[order] for order in orders]
    return {"single_weight": [base | {"tokens": length} | _single(random, attention, logits)], "flip_sets": sets}


def _until(attention: np.ndarray, logits: np.ndarray, decided: int, order: np.ndarray) -> int | None:
    """How many items go before the decision flips, or None."""
    kept = attention.copy()
    for count, item in enumerate(order[:-1].tolist(), start=1):
        kept[item] = 0
        if (kept @ logits).argmax() != decided:
            return count
    return None


def _flip_row(count: int | None, length: int, smallest: int | None) -> Row:
    return {
        "removed": None if count is None else float(count),
        "flip_fraction": None if count is None else count / length,
        "until_flip": 1.0 if count is None else count / length,
        "never": float(count is None),
        "mass": None if count is None else 0.3,
        "times_smallest": None if count is None or smallest is None else count / smallest,
        "times_smallest_counted": None if smallest is None else (count or length) / smallest,
    }


def _single(random: np.random.Generator, attention: np.ndarray, logits: np.ndarray) -> Row:
    top = int(attention.argmax())
    other = int(random.choice([i for i in range(len(attention)) if i != top]))
    before = _softmax(attention @ logits)
    js, flips = [], []
    for item in (top, other):
        kept = np.where(np.arange(len(attention)) == item, 0, attention)
        after = _softmax(kept @ logits / kept.sum())
        middle = (before + after) / 2
        js.append(float(sum((p * np.log(p / middle)).sum() for p in (before, after)) / 2))
        flips.append(bool(after.argmax() != before.argmax()))
    return {
        "weight_difference": attention[top] - attention[other],
        **{"js_top": js[0], "js_other": js[1], "delta_js": js[0] - js[1], "other_matters_more": js[0] < js[1]},
        **{"top_flips": flips[0], "other_flips": flips[1], "both_flip": all(flips)},
        **{"only_top_flips": flips[0] and not flips[1], "only_other_flips": flips[1] and not flips[0]},
        "neither_flips": not any(flips),
    }


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum())
