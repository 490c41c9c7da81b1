"""Certificates: what can be checked of every explainer's scores, text by text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.challenges.faithfulness.examine import Faithfulness
from attentest.data.batches import Batch
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS, Explainer
from attentest.explainers.certificates import ROUNDED, apart, one_by_one, slope_gap
from attentest.explainers.gradient.gradient import OfSlope
from attentest.explainers.oracle import Oracle
from attentest.explainers.perturbation.deletion import Deletion
from attentest.explainers.perturbation.leave_one_out import LeaveOneOut
from attentest.measures.chance import uniforms
from attentest.models.copies import copies
from attentest.models.subject import Reading
from attentest.parameters import Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure, Statistic

__all__ = ["Certificates"]

#: What a value may not exceed. Gaps between scores are shares of the text's largest score; what a sum misses is a share
#: of the whole, but in conservation_gap, which is in log-odds.
LIMITS = {
    "completeness_gap": 0.01,
    "summation_gap": 0.01,
    "conservation_gap": 0.001,
    "loop_gap": 1e-4,
    "slope_gap": 0.05,
    "repeat_gap": 0.0,
    "alone_gap": 1e-4,
}
#: Checks that take more computing than the scores did, and are made on a sample.
SAMPLED = ("loop_gap", "slope_gap", "repeat_gap", "alone_gap")
WORDS = {
    "completeness_gap": "share of instances whose scores add up to the difference from no words, within 1 %",
    "summation_gap": "share of instances whose scores add up to the difference from no words, within 1 %",
    "conservation_gap": "share of instances whose relevance adds up to the output, within 0.001",
    "steps": "points that the integral took",
    "complete": "share of instances whose scores add up within the explainer's own tolerance",
    "absorbed_bias": "share of the relevance that biases absorb",
    "absorbed_epsilon": "share of the relevance that ε absorbs",
    "absorbed_symbols": "share of the relevance that start and end symbols absorb",
    "absorbed_positions": "share of the relevance that embeddings of positions and the like absorb",
    "absorbed_softmax": "share of the relevance that the softmax's constants absorb",
    "absorbed_other_text": "share of the relevance that the prompt and the second text absorb",
    "fit": "adjusted R² of the fit to the sampled outputs",
    "exact": "share of instances with exact Shapley values",
    "standard_error": "standard error of the mean over noisy copies",
    "probability_kept": "probability that the explained class keeps behind the bottleneck",
    "nats": "information that passes the bottleneck, in nats",
    "loop_gap": "share of sampled instances with the same scores from a loop over their words, within 0.0001",
    "slope_gap": "share of sampled instances whose output rises along the gradient as it says, within 5 %",
    "repeat_gap": "share of sampled instances with the same scores, to the bit, when computed again with the same seed",
    "alone_gap": "share of sampled instances with the same scores without the others beside them, within 0.0001",
}
#: What keeps relevance from the words.
ABSORBING = ("bias", "epsilon", "symbols", "positions", "softmax", "other_text")
#: Yes (1) or no (0).
ANSWERS = ("complete", "exact")


def _statistic(check: str) -> Statistic:
    if check in (*LIMITS, *ANSWERS):
        return "fraction"
    return "share" if check.removeprefix("absorbed_") in ABSORBING else "mean"


OUTSIDE = "outside the sample"
#: However few texts there are, so many are explained again.
FEWEST = 2


@dataclass(frozen=True)
class Certificates(Challenge):
    """The numbers that prove, or limit, the scores of every explainer, one by one.

    A test of explainers as computations, not of the model: [do the scores keep their
    promises](../../explanation/saliency.md#what-a-certificate-means)? What an explainer says for itself is kept for
    every text: by how much its scores miss what they must add up to (`completeness_gap`, `summation_gap`) and in
    how many `steps`; what biases, ε and the start and end symbols absorb of the relevance (LRP); how well a fit
    fits. A tenth of the texts (`share`), chosen by a hash of their ids, at least two and at most about `sample`,
    are explained twice more without the other texts of their batch: the same once more to the bit (`repeat_gap`),
    the same as beside other texts up to rounding (`alone_gap`). For deletion and leave-one-out each of their words
    is then also taken out by itself, and the rest read again in a plain loop (`loop_gap`). For methods made of the
    gradient at the embeddings the output is read a little way ahead and behind along it: it must rise as the
    gradient says (`slope_gap`). All other texts are not judged for these four. The report has a sentence for every
    explainer. Scores that another challenge computed are not computed again.

    By default integrated gradients is the coarse one of `faithfulness`, whose sum may miss a fifth. Ask for
    `explainers=('integrated_gradients',)` to see the exact one.

    Checking a text takes about one and a half times as long as examining it, so the checks take about a seventh of
    an audit, and less of a large one.
    """

    name: ClassVar[str] = "certificates"
    question: ClassVar[str] = "Are the explainers' scores what they claim to be?"
    reference: ClassVar[str] = "Sundararajan et al. 2017 (completeness); Bach et al. 2015 (conservation)"
    explainers: Annotated[
        tuple[str, ...], "The explainers that are checked; by default those of `faithfulness`.", Several()
    ] = Faithfulness.explainers
    share: Annotated[
        float,
        "The share of the texts that are explained again and deleted from word by word.",
        Within(0, 1, without=(0,)),
    ] = 0.1
    sample: Annotated[int, "About how many texts that is at most.", Within(1, 1_000_000)] = 20
    words: Annotated[
        int, "At most so many words of such a text, evenly spread, are taken out one by one.", Within(1, 100_000)
    ] = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        for explainer in self.explainers:
            if isinstance(EXPLAINERS.parse(explainer), Oracle):
                raise InputError(f"certificates: explainer {explainer!r} repeats the marks: there is nothing to check.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is known to be checked of each explainer."""
        return tuple(self._measures())

    def _measures(self) -> Iterator[Measure]:
        for explainer in self.explainers:
            method, called = EXPLAINERS.parse(explainer), name_in_words(explainer, self.explainers)
            for check in (*method.certifies, *_on_sample(method)):
                column = "within" if check in LIMITS else "value"
                words, where = f"{called}: {WORDS[check]}", {"explainer": explainer, "check": check}
                yield Measure(f"{explainer}.{check}", column, _statistic(check), words, where)

    def examine(self, examination: Examination) -> pa.Table:
        """One row per instance, explainer and check."""
        batch = examination.batch
        chosen = self._chosen(examination)
        texts = copies(batch, chosen.nonzero()[:, 0])
        reading = examination.subject.read(texts) if len(texts) else None
        tables = []
        for explainer in self.explainers:
            found = _said(examination.scores(explainer), examination.certificate(explainer))
            method = EXPLAINERS.parse(explainer)
            found |= dict.fromkeys(_on_sample(method), examination.weights.new_full((len(batch),), torch.nan))
            if reading is not None:
                for check, values in self._again(method, examination, texts, reading, chosen, explainer).items():
                    found[check] = found[check].masked_scatter(chosen, values)
            tables += [_rows(examination, explainer, check, values, chosen) for check, values in found.items()]
        return pa.concat_tables(tables)

    def _chosen(self, examination: Examination) -> Bool[Tensor, " batch"]:
        """The texts that are checked: of few texts those with the smallest hashes of all, of many the small ones."""
        batch, others = examination.batch, examination.donors
        texts, drawn = examination.texts or len(batch), _hash(batch, examination.seed)
        if self.share * texts > self.sample or (others is None and texts > len(batch)):
            return drawn < min(self.share, self.sample / texts)
        every = drawn if others is None else _hash(others(np.arange(texts)), examination.seed).to(drawn.device)
        wanted = min(texts, max(FEWEST, math.ceil(self.share * texts)))
        return drawn <= every.sort().values[wanted - 1]

    def _again(
        self,
        method: Explainer,
        examination: Examination,
        texts: Batch,
        reading: Reading,
        chosen: Bool[Tensor, " batch"],
        explainer: str,
    ) -> dict[str, Float[Tensor, " sampled"]]:
        """The sampled texts by themselves, twice; deletion word by word; and slopes beside differences."""
        subject, width = examination.subject, reading.mask.shape[1]
        once, twice = (reading.pooled(method.explain(subject, texts, reading).scores.double()) for _ in range(2))
        own = examination.scores(explainer)[chosen, :width]
        found = {"repeat_gap": apart(once, twice), "alone_gap": apart(own, once)}
        if isinstance(method, Deletion | LeaveOneOut):
            literal, looped = one_by_one(method, subject, texts, reading, None, self.words)
            found["loop_gap"] = apart(torch.where(looped, own, 0.0), literal, ROUNDED)
        if isinstance(method, OfSlope):
            found["slope_gap"] = slope_gap(subject, texts, reading, method.path)
        return found


def _hash(batch: Batch, seed: int) -> Float[Tensor, " batch"]:
    """A number in [0, 1) for every text, from its id and the seed."""
    return uniforms(batch.keys, 1, 1, seed, "certificates/sample")[:, 0, 0]


def _on_sample(method: Explainer) -> tuple[str, ...]:
    """The checks on a sample that apply to an explainer."""
    own = {"loop_gap": Deletion | LeaveOneOut, "slope_gap": OfSlope}
    return tuple(check for check in SAMPLED if isinstance(method, own.get(check, Explainer)))


def _said(
    scores: Float[Tensor, "batch token"], certificate: Mapping[str, Float[Tensor, " batch"]]
) -> dict[str, Float[Tensor, " batch"]]:
    """What an explainer says for itself: gaps as shares of the whole, what is absorbed as shares of all relevance."""
    left, found = dict(certificate), {}
    for gap, of in (("completeness_gap", "difference"), ("summation_gap", "delta")):
        if gap in left:
            whole = left.pop(of, scores.sum(-1)).abs()
            found[gap] = left.pop(gap) / whole.clamp(min=ROUNDED)
    if "conservation_gap" in left and {"bias", "symbols"} <= set(left):
        # Where what speaks for and against nearly cancels, shares of the output exceed it; those of the sizes do not.
        kept = {name: left.pop(name) for name in ABSORBING if name in left}
        absorbed = torch.stack(list(kept.values()))
        sizes = (1 - absorbed.sum(0)).abs() + absorbed.abs().sum(0)
        found["conservation_gap"] = left.pop("conservation_gap")
        found |= {f"absorbed_{name}": share.abs() / sizes for name, share in kept.items()}
    return found | left


def _rows(
    examination: Examination,
    explainer: str,
    check: str,
    values: Float[Tensor, " batch"],
    chosen: Bool[Tensor, " batch"],
) -> pa.Table:
    count, limit = len(values), LIMITS.get(check)
    outside = ~chosen.cpu().numpy() if check in SAMPLED else np.zeros(count, bool)
    undefined: np.ndarray = (~values.isfinite()).cpu().numpy()
    judged = ~(outside | undefined)
    return pa.table(
        {
            "row": examination.rows,
            "explainer": pa.array([explainer] * count, pa.string()),
            "check": pa.array([check] * count, pa.string()),
            "value": numbers(values, judged),
            "limit": pa.array([limit] * count, pa.float64()),
            "within": pa.nulls(count, pa.bool_()) if limit is None else flags(values <= limit, judged),
            "not_judged": reasons((outside, OUTSIDE), (undefined, "not a number")),
        }
    )
