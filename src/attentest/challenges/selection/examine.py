"""Selection: are the selected words enough, are they needed, and are they words and not a code?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.challenges.limits import ranked
from attentest.challenges.selection.smuggling import Guesser, places
from attentest.data.batches import Batch, Encoded
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.erasure import check_erasure, erased
from attentest.explainers.shared import Shared
from attentest.measures.chance import uniforms
from attentest.measures.plausibility import area_under_precision_recall, token_overlap
from attentest.models.capabilities import Selects
from attentest.models.networks.selecting import selected
from attentest.models.subject import Reading, Subject
from attentest.parameters import Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure, Statistic

__all__ = ["Selection"]

EACH: tuple[tuple[str, Statistic, str], ...] = (
    ("share", "share", "share of the words that are selected"),
    ("sufficiency", "mean", "drop of ŷ when the model is given these words alone"),
    ("comprehensiveness", "mean", "drop of ŷ when the model is given all other words"),
    ("stays", "fraction", "share of decisions that stay with these words alone"),
    ("right", "fraction", "accuracy with these words alone"),
    ("instead", "mean", "drop of ŷ when the predictor is given these words as the selection"),
    ("token_f1", "mean", "F1 of these words against the rationale"),
    ("auprc", "mean", "area under the precision-recall curve against the rationale"),
)
GUESSED = (
    ("places_right", "share of predictions that a classifier tells from the places of the selected words alone"),
    ("length_right", "share of predictions that a classifier tells from the length of the text alone"),
    ("majority_right", "share of predictions that are the most frequent one"),
)


@dataclass(frozen=True)
class Selection(Challenge):
    """A selection beside as many words that others put first, and what its places alone tell of the prediction.

    The first of the explainers must select: `selection`, of models that read only what they select, or `diffmask`, of
    any other. All further ones put as many words of each text first. The model is given these words alone
    (`sufficiency`: the drop of the predicted class's probability should be small) and all words but these
    (`comprehensiveness`: it should be large); of both a model that selects makes its own selection anew. `instead` is
    for such models only: their predictor is given the words as if they had been selected, so for its own selection it
    is 0 by construction. Where the corpus has rationales, the words are compared with them.

    A selector could tell its predictor the class by *which* words it keeps, however little they mean (Jacovi &
    Goldberg 2021; Zheng et al. 2022). So a classifier (gradient-boosted trees) learns, from training texts, to tell the
    model's prediction from the places of the selected words, their number and the text's length, and sees no word.
    `places_right` says how often it is right on the texts examined, beside one that sees the length alone and the
    most frequent prediction. What it gains is told by places: all of the model's accuracy in a smuggler, something
    also where an opinion stands at the end of every text. A code of words, such as a comma for one class and a full
    stop for the other, is not seen where their places are alike.
    """

    name: ClassVar[str] = "selection"
    question: ClassVar[str] = "Are the selected words enough, are they needed, and are they no code for the label?"
    reference: ClassVar[str] = "DeYoung et al. 2020 (ERASER); Jacovi & Goldberg 2021"
    of_classifiers: ClassVar[bool] = True
    explainers: Annotated[
        tuple[str, ...], "The one that selects, then those whose top words, as many, stand beside it.", Several(1)
    ] = ("selection", "attention", "random", "first_words")
    erasure: Annotated[str, "How words are taken out: `delete`, `mask`, `zero` or `mean`."] = "delete"
    texts: Annotated[
        int, "At most so many training texts, drawn at random, teach the classifier of places.", Within(2, 10**6)
    ] = 2000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_erasure(self.erasure)
        if self.erasure == "zero_attention":
            raise InputError("selection: erasure='zero_attention' takes no word out: use delete, mask, zero or mean.")
        if not EXPLAINERS.parse(self.explainers[0]).selects:
            able = ", ".join(name for name, made in EXPLAINERS.items() if made.selects)
            raise InputError(f"selection: explainers={self.explainers} must begin with one that selects: {able}.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The same numbers for the selection and those beside it, then what places tell."""
        each = tuple(
            Measure(
                f"{e}.{column}", column, statistic, f"{name_in_words(e, self.explainers)}: {words}", {"explainer": e}
            )
            for column, statistic, words in EACH
            for e in self.explainers
        )
        first = {"explainer": self.explainers[0]}
        return (
            *each,
            *(Measure(column, column, "fraction", words, first) for column, words in GUESSED),
            Measure("places_gain", "places_gain", "mean", "what places tell beyond the text's length", first),
        )

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """The explainer that selects must apply."""
        return EXPLAINERS.parse(self.explainers[0]).objection(subject)

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text and explainer."""
        mask, first = examination.mask, self.explainers[0]
        own = selected(examination.scores(first), mask)
        ties = uniforms(examination.batch.keys, 1, mask.shape[1], examination.seed, "selection/ties", mask)[:, 0]
        count = own.sum(-1, keepdim=True)
        tops = [own]
        for name in self.explainers[1:]:
            tops.append((ranked(examination.scores(name)[:, None], ties, mask)[:, 0] < count) & mask)
        chosen = torch.stack(tops, dim=1)
        without = mask[:, None] & ~chosen
        logits = erased(
            examination.subject,
            examination.batch,
            examination.reading,
            torch.cat([chosen, without], dim=1),
            self.erasure,
            examination.known(self.erasure),
        )
        alone, rest = logits.softmax(-1).chunk(2, dim=1)
        guessed = self._guessed(examination, own)
        tables = [
            self._of(examination, place, chosen[:, place], alone[:, place], rest[:, place], guessed)
            for place in range(len(self.explainers))
        ]
        return pa.concat_tables(tables)

    def _of(
        self,
        examination: Examination,
        place: int,
        chosen: Bool[Tensor, "batch token"],
        alone: Float[Tensor, "batch class"],
        rest: Float[Tensor, "batch class"],
        guessed: dict[str, pa.Array],
    ) -> pa.Table:
        predicted, name = examination.reading.predicted, self.explainers[place]
        before = _of_class(examination.probabilities, predicted)
        every = (chosen.sum(-1) >= examination.lengths).cpu().numpy()
        why = reasons((examination.single, "fewer than two tokens"), (every, "every word is selected"))
        judged: np.ndarray = why.is_null().to_numpy(zero_copy_only=False)
        right = alone.argmax(-1) == examination.batch.labels
        columns = {
            "row": pa.array(examination.rows),
            "explainer": pa.array([name] * len(why), pa.string()),
            "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
            "selected": pa.array(chosen.sum(-1).cpu().numpy(), pa.int32()),
            "share": numbers(chosen.sum(-1).double() / examination.lengths.clamp(min=1)),
            "sufficiency": numbers(before - _of_class(alone, predicted), judged),
            "comprehensiveness": numbers(before - _of_class(rest, predicted), judged),
            "stays": flags(alone.argmax(-1) == predicted, judged),
            "right": flags(right, judged),
            "instead": self._instead(examination, chosen, before, judged),
            **_against_marks(examination, name, chosen, judged),
        }
        return pa.table({**columns, **(guessed if place == 0 else _untold(len(why))), "not_judged": why})

    def _instead(self, examination: Examination, chosen: Tensor, before: Tensor, judged: np.ndarray) -> pa.Array:
        subject = examination.subject
        if not isinstance(subject, Selects):
            return pa.nulls(len(chosen), pa.float64())
        with torch.no_grad():
            given = subject.given(examination.batch, chosen).logits.double().softmax(-1)
        return numbers(before - _of_class(given, examination.reading.predicted), judged)

    def _guessed(self, examination: Examination, own: Bool[Tensor, "batch token"]) -> dict[str, pa.Array]:
        """What the classifier of places, that of lengths and the most frequent class say, right or wrong."""
        training = examination.training
        if training is None:
            return _untold(len(own))
        guesser = training.learned(self, lambda encoded: self._learned(examination, encoded))
        predicted = examination.reading.predicted.cpu().numpy()
        right = {name: said == predicted for name, said in guesser.guesses(places(own, examination.mask)).items()}
        return {
            **{f"{name}_right": pa.array(values) for name, values in right.items()},
            "places_gain": pa.array(right["places"].astype(float) - right["length"].astype(float)),
        }

    def _learned(self, examination: Examination, encoded: Encoded) -> Guesser:
        explainer = EXPLAINERS.parse(self.explainers[0])
        some = encoded.some(self.texts, examination.seed, "selection/texts")

        def choose(batch: Batch, reading: Reading) -> Bool[Tensor, "batch token"]:
            shared = Shared(examination.subject, batch, reading, training=examination.training)
            return selected(explainer.explain_sharing(shared).scores, batch.mask)

        return Guesser.learned(examination.subject, some, choose)


def _untold(rows: int) -> dict[str, pa.Array]:
    """Nothing is told by places."""
    return {**{c: pa.nulls(rows, pa.bool_()) for c, _ in GUESSED}, "places_gain": pa.nulls(rows, pa.float64())}


def _of_class(probabilities: Float[Tensor, "batch class"], predicted: Tensor) -> Float[Tensor, " batch"]:
    return probabilities.gather(-1, predicted[:, None])[:, 0]


def _against_marks(
    examination: Examination, explainer: str, chosen: Bool[Tensor, "batch token"], judged: np.ndarray
) -> dict[str, pa.Array]:
    """The chosen words, and the scores, against the rationale; null where the text has none."""
    marked = None if examination.rationale is None else examination.rationale & examination.mask
    if marked is None:
        return dict.fromkeys(("token_f1", "auprc"), pa.nulls(len(chosen), pa.float64()))
    known = judged & marked.any(-1).cpu().numpy() & (marked.sum(-1) < examination.lengths).cpu().numpy()
    area = area_under_precision_recall(examination.scores(explainer), marked, examination.mask)
    return {"token_f1": numbers(token_overlap(chosen, marked)[0], known), "auprc": numbers(area, known)}
