"""The verdict's lines on the four tests of Wiegreffe & Pinter (2019): needed, luck, carries, unique.

Each compares the audited model with others that were trained for the purpose, so each difference is read beside what
another seed alone would make of it, where ``seed_variance`` says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from attentest.report.four_tests import weights_of
from attentest.report.seeds import RIGHT, Seeds, estimated, judged_rows, with_resamples, with_seeds
from attentest.report.thresholds import FEWEST, THRESHOLDS, said, tone_of
from attentest.report.verdict import Line, Tone
from attentest.statistics.bootstrap import bootstrap_paired_difference
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["Reach", "carries_line", "luck_line", "needed_line", "unique_line"]

LN2 = math.log(2)
#: Less room than this between another seed's attention and a wholly different one, and there is nothing to measure.
ROOM = 0.05


def needed_line(trained_uniform: Findings, seeds: Seeds | None, wording: Wording = TEXTS) -> Line:
    """Is attention needed at all? What a model loses that is trained with uniform weights."""
    lost, own, even = (estimate(trained_uniform, m) for m in ("lost", "accuracy", "accuracy_uniform"))
    words = {
        "supports": "A control model trained with uniform weights predicts worse: the task needs attention.",
        "against": "A control model trained with uniform weights predicts as well: the task does not need attention, "
        "so there is nothing to explain.",
        "mixed": "A control model trained with uniform weights predicts a little worse.",
    }
    tone, doubt = _beyond_luck(tone_of("lost", lost), lost, seeds)
    usual = even.value if seeds is None else float(seeds.scores[:, RIGHT].mean())
    if tone == "against" and usual - even.value > THRESHOLDS["lost"].against:
        tone = "unsettled"
        doubt = (
            f"Other seeds of the model do better than this one ({usual:.3f} on average): the loss may be seed variance."
        )
    reading = (
        f"{doubt or said(words, 'lost', tone, lost, wording)} Accuracy {own.value:.3f} with attention, "
        f"{even.value:.3f} without. This is about the task, not about how this model uses its attention."
    )
    question = "Is attention needed at all? (trained with uniform weights)"
    return Line(
        "needed",
        question,
        f"{lost} of accuracy lost".replace("-", "−"),
        reading,
        tone,
        lost,
        "states",
        "Is attention needed?",
        scale="lost",
    )


def luck_line(seed_variance: Findings, seeds: Seeds, wording: Wording = TEXTS) -> Line:
    """How much of attention is luck? How often another seed puts another word first."""
    changed = with_seeds(seed_variance, "top_changed")
    words = {
        "supports": f"Other seeds put the same {wording.item} first: this attention varies little.",
        "against": f"Another seed would more often than not put another {wording.item} first: the attention shown is "
        "specific to this seed.",
        "mixed": f"Another seed would often put another {wording.item} first.",
        "unsettled": "The interval crosses a threshold: more seeds would tell.",
    }
    tone = tone_of("luck", changed)
    spread = f" ({seeds.each_jsd.min():.2f} to {seeds.each_jsd.max():.2f} by seed)" if seeds.others > 1 else ""
    reading = (
        f"{said(words, 'luck', tone, changed, wording)} From seed to seed attention moves by a JSD of "
        f"{seeds.jsd.value:.2f}{spread}, predictions by a TVD of {seeds.tvd.value:.3f}."
    )
    question = "How much does attention vary over seeds? (seed variance)"
    result = f"{changed} of other seeds put another {wording.item} first ({seeds.others} of them)"
    return Line("luck", question, result, reading, tone, changed, "setting", "Do other seeds look elsewhere?")


def carries_line(guide: Findings, seeds: Seeds | None, wording: Wording = TEXTS) -> Line:
    """Does attention carry information? What a model of single words gains from it."""
    gained, own, adversary = (estimate(guide, m) for m in ("gained", "over_own", "over_adversary"))
    room = _room(guide)
    simple = f"A simple model that sees single {wording.items}"
    words = {
        "supports": f"{simple} predicts better with these weights than with uniform ones: they carry information about "
        f"the {wording.items}.",
        "against": f"{simple} gains nothing from these weights.",
        "mixed": f"{simple} gains a little from these weights.",
    }
    tone, doubt = _beyond_luck(tone_of("gained", gained), gained, seeds)
    if not gained.low > 0 and room.judged >= FEWEST and room.high <= THRESHOLDS["gained"].supports:
        tone = "context"
        doubt = "The simple model does as well as this one under uniform weights, so there was nothing to gain."
    reading = (
        f"{doubt or said(words, 'gained', tone, gained, wording)} Over weights that it learns itself it gains "
        f"{_signed(own)}, over an adversary’s {_signed(adversary)}."
    )
    question = "Do the weights help another model? (guide)"
    return Line(
        "carries",
        question,
        f"{_signed(gained)} accuracy over uniform weights",
        reading,
        tone,
        gained,
        "tokens",
        "Do weights help another model?",
        scale="gained",
    )


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
        result = f"{_signed(reach.excess)} TVD of the closest adversary beyond another seed’s"
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
            f"the adversary’s weights serve a simple model worse ({_signed(over)} accuracy): no equal alternative."
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


def _beyond_luck(tone: Tone, found: Estimate, seeds: Seeds | None) -> tuple[Tone, str]:
    """A difference that another seed could make speaks for nothing, however sure it is of these two models."""
    apart = math.nan if seeds is None else seeds.apart()
    if tone not in ("supports", "mixed") or not found.value <= apart:
        return tone, ""
    words = f"The difference is within seed variance ({apart:.3f} in accuracy, 95 % of pairs): more seeds would tell."
    return "unsettled", words


def _is_rival(guide: Findings, adversarial_training: Findings, reach: Reach) -> bool:
    """Whether the adversary that guides the simple model is one that predicts as alike as another seed does."""
    weight = f"{guide.parameters['weight']:g}"
    known = weight in weights_of(adversarial_training)
    return known and estimate(adversarial_training, f"{weight}.tvd").value <= reach.tvd


def _room(guide: Findings) -> Estimate:
    """How much more the audited model knows than the simple one does under uniform weights, text by text."""
    rows = judged_rows(guide.table)
    own = (rows["predicted"].to_numpy() == rows["label"].to_numpy()).astype(float)
    value, low, high = bootstrap_paired_difference(own, rows["correct_uniform"].cast(pa.float64()).to_numpy())
    return Estimate(value, low, high, math.nan, len(rows), 0, "bootstrap 95 %")


def _signed(found: Estimate) -> str:
    numbers = f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]" if found.judged else "not judged"
    return numbers.replace("-0.000", "0.000").replace("-", "−")
