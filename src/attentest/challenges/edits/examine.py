"""Edits: does the prediction follow people's edits, and do explanations point at the edited words?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.measures.plausibility import area_under_precision_recall
from attentest.measures.random_order import expected_average_precision, expected_hit
from attentest.measures.rank import average_precision, mean_rank, top_k_hit
from attentest.measures.rounding import SILENT, moves
from attentest.parameters import Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure, Statistic

__all__ = ["ALONE", "OUTCOMES", "Edits"]

#: What a row asks about.
PREDICTION, EXPLANATION = "prediction", "explanation"
#: Whether the model predicts both versions as they are labelled.
OUTCOMES = ("followed", "not followed")
#: Why a text is not judged.
ALONE = "no other version of the text is examined"
EACH: tuple[tuple[str, Statistic, str], ...] = (
    ("average_precision", "mean", "average precision of the edited words"),
    ("auprc", "mean", "area under the precision-recall curve of the edited words"),
    ("rank", "share", "share of other words above an edited one"),
    ("hit", "fraction", "share of texts with an edited word among the top ones"),
)


@dataclass(frozen=True)
class Edits(Challenge):
    """People changed a text as little as it takes to change its label; both versions are read, and explained.

    For corpora that hold both versions of a text (`cad_imdb`, `cad_snli`): examine all of them, without `--limit`, or
    most versions miss the other. The prediction *follows* an edit where the model predicts both versions as they are
    labelled; that it merely *flips* is counted too. Then every explainer's scores are compared with the words that the
    other version does not keep, in both versions: average precision and AUPRC, how many of the other words stand above
    an edited one, and whether one is among the top words. Beside them stand what a random order reaches, exactly, and
    the baselines `first_words` and `random`. Only where the prediction followed is it known that the edited words
    mattered to the model, so the two kinds of pairs are kept apart; where it did not follow, pointing at these words
    is plausible and no more. Words that both versions have may matter too. Intervals draw whole pairs.
    """

    name: ClassVar[str] = "edits"
    question: ClassVar[str] = "Does the prediction follow people's edits, and do explanations point at them?"
    reference: ClassVar[str] = "Kaushik et al. 2020"
    of_classifiers: ClassVar[bool] = True
    explainers: Annotated[tuple[str, ...], "The explainers that are compared with the edits.", Several()] = (
        "attention",
        "gradient",
        "gradient_norm",
        "gradient_x_input",
        "integrated_gradients(n_steps=8, tolerance=0.2)",
        "lrp",
        "leave_one_out",
        "first_words",
        "random",
    )
    top: Annotated[int, "How many top words may hold an edited one.", Within(1, 1000)] = 5

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How often predictions follow, and for each outcome how well each explainer finds the edits."""
        pairs = {"asked": PREDICTION, "version": "revised"}
        first = {"asked": EXPLANATION, "explainer": self.explainers[0]}
        return (
            Measure("followed", "followed", "fraction", "share of edits the prediction follows", pairs, "", "pair"),
            Measure("flipped", "flipped", "fraction", "share of edits that flip the decision", pairs, "", "pair"),
            *(
                Measure(
                    f"{e}.{outcome}.{column}",
                    column,
                    statistic,
                    f"{name_in_words(e, self.explainers)}, {outcome}: {words}",
                    {"asked": EXPLANATION, "explainer": e, "outcome": outcome},
                    together="pair",
                )
                for column, statistic, words in EACH
                for outcome in OUTCOMES
                for e in self.explainers
            ),
            *(
                Measure(f"{column}.{outcome}", column, "mean", f"{outcome}: {words}", first | {"outcome": outcome}, "",
                        "pair")
                for column, words in (
                    ("chance", "average precision of a random order"),
                    ("chance_hit", "chance of an edited word among as many random ones"),
                )
                for outcome in OUTCOMES
            ),
        )  # fmt: skip

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text about the prediction, and one per text and explainer."""
        edits, batch = examination.edits, examination.batch
        own = examination.rows
        twin = np.full(len(own), -1) if edits is None or examination.donors is None else edits.twin[own]
        paired, right = twin >= 0, examination.reading.predicted == batch.labels
        flipped, followed = (torch.zeros_like(right) for _ in range(2))
        marked = torch.zeros_like(examination.mask)
        original = np.zeros(len(own), bool)
        if edits is not None and examination.donors is not None and paired.any():
            others = examination.donors(np.where(paired, twin, own)).to(batch.rows.device)
            theirs = examination.subject.read(others).predicted
            flipped = theirs != examination.reading.predicted
            followed = right & (theirs == others.labels) & (others.labels != batch.labels)
            marked = examination.reading.pooled(edits.changed.batch(batch).long()) > 0
            original = edits.original[own]
        about = {
            "row": own,
            "version": np.where(original, "original", "revised"),
            "pair": np.where(original, own, twin),
            "outcome": np.where(followed.cpu().numpy(), *OUTCOMES),
        }
        return pa.concat_tables(self._rows(examination, about, paired, (flipped, followed), marked))

    def _rows(
        self,
        examination: Examination,
        about: dict[str, np.ndarray],
        paired: np.ndarray,
        said: tuple[Bool[Tensor, " batch"], Bool[Tensor, " batch"]],
        marked: Bool[Tensor, "batch token"],
    ) -> Iterator[pa.Table]:
        count, mask, lengths = len(paired), examination.mask, examination.lengths
        edited = marked.sum(-1)
        columns = [*(name for name, _, _ in EACH), "chance", "chance_hit"]
        yield pa.table(
            {
                **about,
                "asked": pa.array([PREDICTION] * count),
                "explainer": pa.nulls(count, pa.string()),
                "edited": pa.array(edited.cpu().numpy(), pa.int32()),
                "flipped": flags(said[0], paired),
                "followed": flags(said[1], paired),
                **{name: pa.nulls(count, pa.bool_() if name == "hit" else pa.float64()) for name in columns},
                "not_judged": reasons((~paired, ALONE)),
            }
        )
        none, every = ((edited == 0).cpu().numpy(), (edited == lengths).cpu().numpy())
        for explainer in self.explainers:
            scores = examination.scores(explainer)
            silent = ~moves(scores, examination.logits, mask).cpu().numpy()
            why = reasons(
                (~paired, ALONE), (none, "no word is edited"), (every, "every word is edited"), (silent, SILENT)
            )
            judged = why.is_null().to_numpy(zero_copy_only=False)
            found = {
                "average_precision": average_precision(scores, marked, mask),
                "auprc": area_under_precision_recall(scores, marked, mask),
                "rank": mean_rank(scores, marked, mask),
                "chance": expected_average_precision(edited, lengths),
                "chance_hit": expected_hit(edited, lengths, self.top),
            }
            yield pa.table(
                {
                    **about,
                    "asked": pa.array([EXPLANATION] * count),
                    "explainer": pa.array([explainer] * count),
                    "edited": pa.array(edited.cpu().numpy(), pa.int32()),
                    "flipped": pa.nulls(count, pa.bool_()),
                    "followed": pa.nulls(count, pa.bool_()),
                    **{name: numbers(values, judged) for name, values in found.items()},
                    "hit": flags(top_k_hit(scores, marked, mask, self.top), judged),
                    "not_judged": why,
                }
            ).select([*about, "asked", "explainer", "edited", "flipped", "followed", *columns, "not_judged"])
