"""Rationale: do the scores point at the tokens that decide the label (or that people marked)?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, numbers, reasons
from attentest.measures.human_agreement import between_people, one_against_the_others, with_each_person
from attentest.measures.plausibility import area_under_precision_recall, as_many_as_marked, span_match, token_overlap
from attentest.measures.random_order import expected_average_precision
from attentest.measures.rank import average_precision
from attentest.measures.rounding import SILENT, moves
from attentest.models.subject import Subject
from attentest.parameters import Several
from attentest.registry import name_in_words
from attentest.store.findings import Measure, Statistic

__all__ = ["Rationale"]

EACH: tuple[tuple[str, Statistic, str], ...] = (
    ("average_precision", "mean", "average precision against the rationale"),
    ("mass", "share", "share of the score on the rationale"),
    ("token_f1", "mean", "F1 of its top tokens, as many as are marked"),
    ("iou", "mean", "intersection over union of its top tokens and the marked ones"),
    ("span_f1", "mean", "F1 of its runs of top tokens that match a marked run (half of their union)"),
    ("auprc", "mean", "area under the precision-recall curve"),
    ("single_token_f1", "mean", "F1 of its top tokens with each person's marks, as many as that person marked"),
    (
        "single_iou",
        "mean",
        "intersection over union of its top tokens and each person's marks, as many as that person marked",
    ),
)
#: The human ceiling: one person in the place of an explainer. Only where the corpus keeps what each person marked.
CEILINGS = (
    ("ceiling_token_f1", "human ceiling, F1 of one person's marks with those of most of the others"),
    ("ceiling_iou", "human ceiling, intersection over union of one person's marks and those of most of the others"),
    ("ceiling_single_token_f1", "human ceiling, F1 of one person's marks with another's, mean over pairs"),
    ("ceiling_single_iou", "human ceiling, intersection over union of one person's marks and another's"),
)


@dataclass(frozen=True)
class Rationale(Challenge):
    """Every explainer's ranking, and its top tokens, against the marked tokens.

    Needs rationales, and is skipped, with a message, where the corpus has none. With planted rationales (the
    built-in corpus) it asks whether attention finds what decides the label: the truth is known. With human
    rationales it asks whether attention looks plausible to people, which says nothing about the model, and is never
    called faithfulness. Average precision is read against what a random order of the same tokens reaches on
    average, which is computed for every text and lies well above the share of marked tokens. The other measures are
    after ERASER: the top tokens, as many as the text has marks (ERASER: as many as texts have on average), are
    compared with them token by token (F1, intersection over union) and run by run (a run of top tokens matches when
    it shares at least half of its union with a marked run). The report ranks the explainers by the area under the
    precision-recall curve and says which of them are significantly better than attention.

    Where several people marked a text and the corpus keeps what each of them marked (`yelp_hat`; `hatexplain`, when
    read from its official files), how far people agree is the human ceiling: a person stands in the place of an
    explainer, and is compared with what most of the others marked, where three people or more read the text, and
    with one other person, mean over pairs. A person who marked nothing is not compared. Beside the first stand an
    explainer's `token_f1` and `iou`, beside the second `single_token_f1` and `single_iou`. No score should be
    expected to agree with people much better than they agree with one another. An explainer is told how many tokens
    to choose and a person was not, so it could reach more than the ceiling without knowing more.
    """

    name: ClassVar[str] = "rationale"
    question: ClassVar[str] = "Does attention point at the rationale?"
    reference: ClassVar[str] = "DeYoung et al. 2020 (ERASER)"
    explainers: Annotated[tuple[str, ...], "The explainers that are compared with the marks.", Several()] = (
        "attention",
        "gradient",
        "gradient_norm",
        "gradient_x_input",
        "integrated_gradients(n_steps=8, tolerance=0.2)",
        "lrp",
        "deep_lift",
        "occlusion",
        "leave_one_out",
        "gradient_state",
        "state_erasure",
        "state_evidence",
        "random",
    )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The same numbers for each explainer, what chance would give, and how far people agree."""
        each = [
            Measure(
                f"{e}.{column}", column, statistic, f"{name_in_words(e, self.explainers)}: {words}", {"explainer": e}
            )
            for column, statistic, words in EACH
            for e in self.explainers
        ]
        first = {"explainer": self.explainers[0]}
        return (
            *each,
            Measure("chance", "chance", "mean", "average precision of a random order", first),
            Measure(
                "chance_token_f1", "chance_token_f1", "mean", "F1 of as many random tokens as the rationale has", first
            ),
            *(Measure(column, column, "mean", words, first) for column, words in CEILINGS),
        )

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs marks."""
        return None if has_rationale else "the corpus has no rationales"

    def examine(self, examination: Examination) -> pa.Table:
        """One row per instance and explainer."""
        ceilings = _ceilings(examination)
        return pa.concat_tables([self._compare(examination, name, ceilings) for name in self.explainers])

    def _compare(self, examination: Examination, explainer: str, ceilings: dict[str, Tensor]) -> pa.Table:
        assert examination.rationale is not None
        marked, mask = examination.rationale & examination.mask, examination.mask
        scores = examination.scores(explainer)
        share = marked.sum(-1).double() / examination.lengths.clamp(min=1)
        above = scores.clamp(min=0)
        total = above.sum(-1)
        mass = torch.where(total > 0, (above * marked).sum(-1) / total, torch.nan)
        none, every = ((share == 0).cpu().numpy(), (share == 1).cpu().numpy())
        silent = ~moves(scores, examination.logits, mask).cpu().numpy()
        judged: np.ndarray = ~(none | every | silent)
        chosen = as_many_as_marked(scores, marked, mask)
        token_f1, iou = token_overlap(chosen, marked)
        spans = span_match(chosen, marked)
        columns = {
            "average_precision": average_precision(scores, marked, mask),
            "mass": mass,
            "chance": expected_average_precision(marked.sum(-1), examination.lengths),
            "auprc": area_under_precision_recall(scores, marked, mask),
            "token_f1": token_f1,
            "chance_token_f1": share,
            "iou": iou,
            "span_precision": spans.precision,
            "span_recall": spans.recall,
            "span_f1": spans.f1,
        }
        if examination.annotations is not None:
            single = with_each_person(scores, examination.annotations, mask)
            columns |= {"single_token_f1": single.token_f1, "single_iou": single.iou, **ceilings}
        return pa.table(
            {
                "row": examination.rows,
                "explainer": pa.array([explainer] * len(judged), pa.string()),
                **{name: numbers(values, judged) for name, values in columns.items()},
                "not_judged": reasons((none, "no marked token"), (every, "every token marked"), (silent, SILENT)),
            }
        )


def _ceilings(examination: Examination) -> dict[str, Tensor]:
    """One person in the place of an explainer; empty where what each person marked is not known."""
    if examination.annotations is None:
        return {}
    others, pairs = one_against_the_others(examination.annotations), between_people(examination.annotations)
    values = (others.token_f1, others.iou, pairs.token_f1, pairs.iou)
    return dict(zip((column for column, _ in CEILINGS), values, strict=True))
