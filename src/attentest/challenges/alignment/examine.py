"""Alignment: does a translator look at the words that it translates?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

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
from attentest.parameters import Several
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

    For models that translate, and corpora that link the words of both languages (`multi30k_aligned`). While the
    model is led through the reference, the source word that scores highest is proposed as the link of each word it
    writes, and proposed links are compared with the given ones: precision, recall, F1, and the alignment error rate
    AER = 1 − 2·(links in both) / (proposed + given), where lower is better. All given links count as sure, although
    those of `multi30k_aligned` were found by a program: a low error says that attention agrees with that program. A
    word without a given link is proposed one all the same, which counts as an error; a word with several can have
    only one of them proposed, so recall cannot reach 1. The end of a sentence is not judged. Explainers other than
    attention are asked about the word of the reference.

    Agreement with links is plausibility: attention may look at the right word and not be needed. [`bleu`](#bleu)
    asks whether it is.

    Sums are over all words.
    """

    name: ClassVar[str] = "alignment"
    question: ClassVar[str] = "Does attention point at the words that are being translated?"
    reference: ClassVar[str] = "Och & Ney 2003; links of Pruthi et al. 2020"
    needs: ClassVar[tuple[type, ...]] = (Generates,)
    explainers: Annotated[
        tuple[str, ...], "The explainers whose highest score proposes the link; `random` is the lower bound.", Several()
    ] = ("attention", "gradient", "random")
    per_token: Annotated[
        bool, "Keep words, links and scores too; without them a run is small, but no page can show a sentence."
    ] = True

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
