"""What people see of adversarial_training: lines, figures, columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from attentest.challenges.trained_models import TESTS, weights_of
from attentest.presentation.line import Line, Tone
from attentest.presentation.presentation import Caption, Column, Plot, Presentation, Results
from attentest.presentation.seeds import estimated, judged_rows, with_resamples
from attentest.presentation.text import signed
from attentest.presentation.thresholds import said, tone_of
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["PRESENTATION", "Reach", "unique_line"]


LN2 = math.log(2)

#: Less room than this between another seed's attention and a wholly different one, and there is nothing to measure.
ROOM = 0.05


def unique_line(
    adversarial_training: Findings,
    seed_variance: Findings | None,
    guide: Findings | None = None,
    wording: Wording = TEXTS,
) -> Line | None:
    """Could a model be trained to attend elsewhere and predict the same? Read against what another seed does."""
    short = "Could models attend elsewhere?"
    question = "Could a model be trained to attend elsewhere, with the same predictions? (trained adversary)"
    least = weights_of(adversarial_training)[0]
    reach = Reach.of(adversarial_training, seed_variance)
    if reach is None:
        tvd, jsd = (estimate(adversarial_training, f"{least}.{name}") for name in ("tvd", "jsd"))
        reading = (
            "Without other seeds (seed_variance) there is no yardstick: whether an adversary’s predictions stay as "
            "close as another seed’s is not known."
        )
        result = f"JSD {jsd.value:.3f} at TVD {tvd} (λ = {least})"
        return Line("unique", question, result, reading, "context", tvd, "states", short) if tvd.judged else None
    if reach.excess.high > 0:
        smaller = "a smaller λ, or " if float(least) > 0 else ""
        reading = (
            "Not even the adversary whose predictions stay closest is significantly closer than another seed "
            f"({reach.tvd + reach.excess.value:.3f} and {reach.tvd:.3f}): with {smaller}longer "
            "training there would be something to compare."
        )
        result = f"{signed(reach.excess)} TVD of the closest adversary beyond another seed’s"
        return Line("unique", question, result, reading, "unsettled", reach.excess, "states", short)
    words = {
        "supports": "No: adversaries whose predictions stay as close as another seed’s attend hardly farther away.",
        "against": "Yes: adversaries attend much farther away than another seed, and their predictions stay as close.",
        "mixed": "In part: adversaries attend farther away than another seed, and their predictions stay as close.",
    }
    tone: Tone = tone_of("free", reach.share)
    reading = said(words, "free", tone, reach.share, wording)
    if tone_of("free", reach.trained) != tone:
        tone = "unsettled"
        reading = (
            "Adversaries go beyond another seed’s TVD between two λ: the farthest that was trained within it reaches a "
            f"JSD of {reach.point:.2f}. A λ between the two would tell."
        )
    if (
        tone == "against"
        and guide is not None
        and _is_rival(guide, adversarial_training, reach)
        and (over := estimate(guide, "over_adversary")).low > 0
    ):
        tone = "mixed"
        reading = (
            "In part: adversaries attend much farther away than another seed, and their predictions stay as close; but "
            f"the adversary’s weights serve a simple model worse ({signed(over)} accuracy): no equal alternative."
        )
    reading += (
        f" At a TVD of {reach.tvd:.3f}, as between seeds, the curve through the adversaries is at a JSD of "
        f"{reach.reached:.2f}; another seed has {reach.jsd:.2f}."
    )
    result = f"{reach.share} of the way from another seed’s attention to a completely different one"
    return Line("unique", question, result, reading, tone, reach.share, "states", short, scale="free")


@dataclass(frozen=True)
class Reach:
    """How far away trained adversaries attend while they predict as alike as another seed does."""

    #: From another seed's JSD (0) to the largest possible (1).
    share: Estimate
    #: The same for the adversaries that were trained, without the curve between them, and the JSD of the farthest.
    trained: Estimate
    point: float
    #: By how much the most alike adversary's TVD exceeds another seed's.
    excess: Estimate
    reached: float
    tvd: float
    jsd: float

    @classmethod
    def of(cls, adversarial_training: Findings, seed_variance: Findings | None) -> Reach | None:
        """Over the texts that all of them judged; None without seeds, or where those leave no room."""
        if seed_variance is None:
            return None
        tables = [judged_rows(adversarial_training.rows({"weight": w})) for w in weights_of(adversarial_training)]
        seeds = judged_rows(seed_variance.table)
        names = [("tvd", "jsd")] * len(tables) + [("prediction_tvd", "attention_jsd")]
        sample = _aligned([*tables, seeds], names)
        if not len(sample):
            return None
        drawn = with_resamples(sample)
        tvd, jsd, own_tvd, own_jsd = drawn[:, :-2:2], drawn[:, 1:-2:2], drawn[:, -2], drawn[:, -1]
        room = LN2 - own_jsd
        if room[0] < ROOM:
            return None
        reached = farthest(tvd, jsd, own_tvd)
        # Another seed is itself a model that attends otherwise, at just this TVD.
        point = np.where(tvd <= own_tvd[:, None], jsd, 0.0).max(1)
        judged, missing = len(sample), len(seed_variance.table) - len(sample)
        share, trained = (
            estimated(np.maximum(far - own_jsd, 0) / np.maximum(room, ROOM), judged, missing)
            for far in (reached, point)
        )
        excess = estimated(tvd.min(1) - own_tvd, judged, missing)
        of_all = float(reached[0]), float(own_tvd[0]), float(own_jsd[0])
        return cls(share, trained, float(point[0]), excess, *of_all)


def farthest(tvd: np.ndarray, jsd: np.ndarray, within: np.ndarray) -> np.ndarray:
    """The largest JSD on the curve through the adversaries, by λ, where its TVD is within bounds; 0 where it never is.

    Between two adversaries the curve is straight: giving some texts to the one and the rest to the other reaches it.
    """
    reached: np.ndarray = np.where(tvd <= within[:, None], jsd, 0.0).max(1)
    for a, b in zip(range(tvd.shape[1] - 1), range(1, tvd.shape[1]), strict=True):
        crosses = (tvd[:, a] <= within) != (tvd[:, b] <= within)
        gap = tvd[:, b] - tvd[:, a]
        place = np.divide(within - tvd[:, a], gap, out=np.zeros_like(gap), where=crosses)
        reached = np.maximum(reached, np.where(crosses, jsd[:, a] + place * (jsd[:, b] - jsd[:, a]), 0.0))
    return reached


def _aligned(tables: list[pa.Table], names: list[tuple[str, str]]) -> np.ndarray:
    """Columns of several tables side by side, for the texts that all of them have."""
    ids = [np.array(table["id"].to_pylist(), dtype=str) for table in tables]
    common = reduce(np.intersect1d, ids)
    places = [np.argsort(each)[np.searchsorted(np.sort(each), common)] for each in ids]
    columns = [
        table[name].cast(pa.float64()).to_numpy()[place]
        for table, place, pair in zip(tables, places, names, strict=True)
        for name in pair
    ]
    return np.stack(columns, axis=1)


def _is_rival(guide: Findings, adversarial_training: Findings, reach: Reach) -> bool:
    """Whether the adversary that guides the simple model is one that predicts as alike as another seed does."""
    weight = f"{guide.parameters['weight']:g}"
    known = weight in weights_of(adversarial_training)
    return known and estimate(adversarial_training, f"{weight}.tvd").value <= reach.tvd


def _unique(adversarial_training: Findings, results: Results) -> Line | None:
    found = results.found
    return unique_line(adversarial_training, found.get("seed_variance"), found.get("guide"), results.wording)


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.adversarial_training.figures import imitation_curve

    beside = ("seed_variance", "trained_uniform", "adversary")
    return (
        Plot(
            "curve",
            "tvd",
            lambda found, results: imitation_curve(found, **{name: results.found.get(name) for name in beside}),
            Caption(
                "Could a model attend elsewhere and predict the same?",
                "Each adversary was trained to predict as the model does but attend elsewhere; λ weighs the second "
                "aim. Other "
                "seeds of the model are the yardstick: models in the grey corner attend farther away than they do "
                "while their "
                "predictions stay as close. Adversaries inside it are alternatives to this attention. A curve that "
                "passes above the "
                "corner means that no other attention gives these predictions. Bars are 95 % intervals over "
                "{w.units}. Weights found for single {w.units} belong to "
                "no trained model; they are shown for comparison.",
            ),
            section="tests",
        ),
    )


PRESENTATION = Presentation(
    "adversarial_training",
    place=270,
    rows=(
        "One row per text and λ, in the order of the parameter `weights`. Lists hold one entry for each of "
        "the adversary's seeds."
    ),
    columns=(
        Column("weight", "string", "λ, such as `0.01`"),
        Column("label", "int32", "the gold class"),
        Column(
            "tvd",
            "double",
            "total variation distance of the adversary's prediction from the model's, mean over its seeds",
        ),
        Column(
            "jsd",
            "double",
            "Jensen–Shannon divergence (nats) of its weights from the model's, mean over its seeds",
        ),
        Column("tvd_by_seed", "list of double", "the former for each seed"),
        Column("jsd_by_seed", "list of double", "the latter for each seed"),
        Column("correct", "bool", "whether the model is right"),
        Column("correct_adversary", "double", "the share of the adversary's seeds that are"),
        Column("predicted_by_seed", "list of int32", "what each of them predicts"),
        Column("max_attention", "double", "the model's largest weight"),
    ),
    lines=(_unique,),
    sections=(TESTS,),
    figures=_figures,
)
