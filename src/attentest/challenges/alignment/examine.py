"""Alignment: does a translator look at the words that it translates?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, ragged, reasons
from attentest.data.vocabulary import END
from attentest.explainers import EXPLAINERS
from attentest.models.capabilities import Generates
from attentest.models.subject import Subject
from attentest.registry import name_in_words
from attentest.store.findings import Measure

__all__ = ["Alignment"]

#: By measure: the column whose sum is divided by another's, and its words.
RATIOS = (
    ("aer", "errors", "total", "alignment error rate (AER)"),
    ("precision", "hit", "proposed", "share of proposed links that are given"),
    ("recall", "hit", "links", "share of given links that are proposed"),
    ("f1", "agreed", "total", "F1 of proposed and given links"),
)


@dataclass(frozen=True)
class Alignment(Challenge):
    """For every word of the reference, the source word that scores highest is proposed as its link.

    Proposed links A are compared with the given ones G, all of which count as sure: AER = 1 − 2|A∩G| / (|A|+|G|)
    (Och & Ney 2003). A word without a link is proposed one all the same, which is then wrong. Sums are over all words.
    """

    name: ClassVar[str] = "alignment"
    question: ClassVar[str] = "Does attention point at the words that are being translated?"
    reference: ClassVar[str] = "Och & Ney 2003; links of Pruthi et al. 2020"
    needs: ClassVar[tuple[type, ...]] = (Generates,)
    explainers: tuple[str, ...] = ("attention", "gradient", "random")
    #: Keep words, links and scores too; without them no page can show a sentence.
    per_token: bool = True

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The same ratios for each explainer; an interval draws whole sentences."""
        return tuple(
            Measure(
                f"{e}.{name}",
                column,
                "ratio",
                f"{name_in_words(e, self.explainers)}: {words}",
                {"explainer": e},
                over,
                "sentence",
            )
            for name, column, over, words in RATIOS
            for e in self.explainers
        )

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs links."""
        return None if has_rationale else "the corpus links no words"

    def examine(self, examination: Examination) -> pa.Table:
        """One row per word to write and explainer."""
        return pa.concat_tables([self._compare(examination, explainer) for explainer in self.explainers])

    def _compare(self, examination: Examination, explainer: str) -> pa.Table:
        target = examination.batch.target
        assert target is not None
        assert examination.rationale is not None
        linked, mask, labels = examination.rationale & examination.mask, examination.mask, examination.batch.labels
        scores = _scores(examination, explainer)
        chosen = scores.masked_fill(~mask, -torch.inf).argmax(-1)
        hit = linked.gather(-1, chosen[:, None])[:, 0].int()
        links, proposed = linked.sum(-1).int(), torch.ones_like(hit)
        end: np.ndarray = (labels == END).cpu().numpy()
        columns = {
            "proposed_at": chosen - mask.long().argmax(-1),
            "hit": hit,
            "proposed": proposed,
            "links": links,
            "agreed": 2 * hit,
            "errors": proposed + links - 2 * hit,
            "total": proposed + links,
        }
        kept = {"tokens": examination.tokens, "linked": ragged(linked, mask), "scores": ragged(scores, mask)}
        return pa.table(
            {
                "row": examination.rows,
                "step": pa.array(target.step.cpu().numpy(), pa.int32()),
                "word": _words(examination, end),
                "explainer": pa.array([explainer] * len(end), pa.string()),
                **{name: pa.array(values.cpu().numpy(), pa.int32(), mask=end) for name, values in columns.items()},
                **(kept if self.per_token else {}),
                "not_judged": reasons((end, "end of the sentence")),
            }
        )


def _scores(examination: Examination, explainer: str) -> Float[Tensor, "row token"]:
    """Scores for the word of the reference, which is not always the one that the model would write."""
    method, batch = EXPLAINERS.parse(explainer), examination.batch
    return method.explain(examination.subject, batch, examination.reading, batch.labels).scores.double()


def _words(examination: Examination, end: np.ndarray) -> pa.Array:
    """The word of the reference that each row writes; null for the end of a sentence."""
    target = examination.batch.target
    assert target is not None
    assert examination.targets is not None
    texts = examination.targets
    begins = texts.offsets.to_numpy()[:-1][target.of.cpu().numpy()]
    return texts.values.take(pa.array(begins + target.step.cpu().numpy(), mask=end))
