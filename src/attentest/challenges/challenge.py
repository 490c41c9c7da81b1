"""A challenge puts one question to a subject, batch by batch, and yields per-instance findings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from attentest.challenges.companions import Companion
from attentest.challenges.edits.twins import EditedTexts
from attentest.data.batches import Batch
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.explainers.drawn_words import Continuations
from attentest.explainers.erasure import Known
from attentest.explainers.exchanged_states import unknown_words
from attentest.explainers.shared import Shared
from attentest.measures.human_agreement import Annotations
from attentest.models.capabilities import Generates, lacking
from attentest.models.subject import Reading, Subject
from attentest.parameters import Checked
from attentest.store.findings import Measure
from attentest.training.training_texts import TrainingTexts

__all__ = [
    "Challenge",
    "Examination",
    "attention_of",
    "classes",
    "distribution",
    "flags",
    "largest",
    "lists",
    "numbers",
    "prediction_of",
    "ragged",
    "reasons",
]

#: Of more classes than this, not all probabilities are kept.
MANY = 100


@dataclass
class Examination:
    """One batch under examination: read once, explained at most once by every explainer.

    All that has an axis of tokens is of items where the attention weighs others than tokens, such as sentences.
    """

    subject: Subject
    batch: Batch
    reading: Reading
    seed: int
    tokens: pa.ListArray
    rationale: Bool[Tensor, "batch token"] | None = None
    #: The words of the second texts, where there are any.
    second: pa.ListArray | None = None
    #: Where the marks come from: "planted" (the corpus's generator knows), "human", "listed" (a user named words), "".
    marks: str = ""
    #: What each person marked, where the corpus keeps it.
    annotations: Annotations | None = None
    #: How many texts are examined in all, batch by batch; None: this batch is all there is.
    texts: int | None = None
    #: The other models that the challenges asked for.
    companions: Mapping[Companion, Subject] = field(default_factory=dict)
    #: Other texts of the split by their rows, for challenges that borrow from them; None: there are no others.
    donors: Callable[[np.ndarray], Batch] | None = None
    #: Which tokens of such texts are marked; None: none are.
    marks_of: Callable[[Batch], Bool[Tensor, "batch token"]] | None = None
    #: Which of the split's texts are edits of one another; None: none are.
    edits: EditedTexts | None = None
    #: Which words follow which in all texts that are examined; None: in those of this batch.
    continuations: Continuations | None = None
    #: The training split, for challenges that learn from it first; None: there is none.
    training: TrainingTexts | None = None
    #: Where texts are written: the words, and the texts to write, one for each sentence of the batch.
    vocabulary: Vocabulary | None = None
    targets: pa.ListArray | None = None
    _scores: dict[str, Tensor] = field(default_factory=dict)
    _certificates: dict[str, Mapping[str, Tensor]] = field(default_factory=dict)
    _beside: dict[Companion, Reading] = field(default_factory=dict)

    def some(self, rows: Int[Tensor, " row"]) -> Examination:
        """Some of the texts, read by themselves, where there are any; what explainers said of them stays."""
        batch, places = self.batch[rows], pa.array(rows.cpu().numpy())
        return replace(
            self,
            batch=batch,
            reading=self.subject.read(batch) if len(batch) else self.reading,
            tokens=self.tokens.take(places),
            rationale=None if self.rationale is None else self.rationale[rows],
            second=None if self.second is None else self.second.take(places),
            annotations=None,
            _scores={name: scores[rows] for name, scores in self._scores.items()},
            _certificates={},
            _beside={},
        )

    def beside(self, companion: Companion) -> Reading:
        """What a companion says of the same batch."""
        if companion not in self._beside:
            self._beside[companion] = self.companions[companion].read(self.batch)
        return self._beside[companion]

    def scores(self, explainer: str) -> Float[Tensor, "batch token"]:
        """An explainer's scores in double precision, those of tokens summed over the items that attention weighs."""
        if explainer not in self._scores:
            self._explain(explainer)
        return self._scores[explainer]

    def certificate(self, explainer: str) -> Mapping[str, Float[Tensor, " batch"]]:
        """What an explainer says for its scores, one number per text; empty where it says nothing."""
        if explainer not in self._certificates:
            self._explain(explainer)
        return self._certificates[explainer]

    def _explain(self, explainer: str) -> None:
        found = EXPLAINERS.parse(explainer).explain_sharing(self._shared)
        self._scores.setdefault(explainer, self.reading.pooled(found.scores.double()))
        self._certificates[explainer] = {name: values.double() for name, values in found.certificate.items()}

    @cached_property
    def _shared(self) -> Shared:
        about: dict[str, Any] = {"rationale": self.rationale, "marks": self.marks, "training": self.training}
        return Shared(self.subject, self.batch, self.reading, **about)

    def known(self, erasure: str) -> Known:
        """What is known of this batch's texts under one way of erasing; whoever erases more adds to it."""
        return self._shared.known(erasure)

    def filled(self, draw: int) -> Int[Tensor, "batch position"]:
        """The texts with every word drawn anew from the corpus; every draw is another."""
        continuations = self.continuations or Continuations.of(self.batch)
        return continuations.drawn(self.batch, draw, self.seed)

    @property
    def weights(self) -> Float[Tensor, "batch token"]:
        """The attention weights in double precision."""
        return attention_of(self.reading)

    @property
    def mask(self) -> Bool[Tensor, "batch token"]:
        """Real items: tokens, or what else the attention weighs."""
        return self.reading.mask

    @property
    def lengths(self) -> Tensor:
        """The number of real items."""
        return self.mask.sum(-1)

    @cached_property
    def nothing(self) -> Reading:
        """The texts with every word unknown, read once."""
        with torch.no_grad():
            return self.subject.read(unknown_words(self.batch))

    @cached_property
    def logits(self) -> Float[Tensor, "batch class"]:
        """The output under the own weights, reread in double precision: what alternatives are compared with."""
        return self.reading.reread(self.weights[:, None])[:, 0].double()

    @property
    def probabilities(self) -> Float[Tensor, "batch class"]:
        """The prediction in double precision."""
        return self.logits.softmax(-1)

    @property
    def rows(self) -> np.ndarray:
        """The rows of the split that the batch holds."""
        rows: np.ndarray = self.batch.rows.cpu().numpy()
        return rows

    @property
    def single(self) -> np.ndarray:
        """Instances with fewer than two tokens: there is nothing to rank, move or replace."""
        single: np.ndarray = (self.lengths < 2).cpu().numpy()
        return single


class Challenge(Checked, ABC):
    """A frozen description of one question; its parameters are fields with the paper's defaults."""

    name: ClassVar[str]
    question: ClassVar[str]
    reference: ClassVar[str]
    #: What a subject must be for it to apply: a class, or a capability (models/capabilities.py).
    needs: ClassVar[tuple[type, ...]] = ()
    #: Whether its rows are whole texts where those of other challenges are the steps of writing them.
    of_texts: ClassVar[bool] = False
    #: Whether it is put to models that choose a class, and not to those that write.
    of_classifiers: ClassVar[bool] = False

    @property
    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """The numbers that may be computed from the findings."""

    def measures_of(self, subject: Subject) -> tuple[Measure, ...]:
        """Those of the measures that this subject's findings have rows for."""
        return self.measures

    @property
    def explained_by(self) -> tuple[str, ...]:
        """The explainers whose scores it reads: their code decides its findings too."""
        return tuple(getattr(self, "explainers", ()))

    @property
    def companions(self) -> tuple[Companion, ...]:
        """The other models it compares the subject with; they are trained, or found, before it begins."""
        return ()

    def objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Why this challenge does not apply here, or None when it does."""
        if self.of_classifiers and isinstance(subject, Generates):
            return "it is for classifiers, and this model writes"
        return lacking(self.needs, subject) or self.further_objection(subject, has_rationale=has_rationale)

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Why it does not apply to a subject that has all it needs."""
        return None

    @abstractmethod
    def examine(self, examination: Examination) -> pa.Table:
        """Findings of one batch: a column ``row`` (the split's), ``not_judged`` and the challenge's own."""


def attention_of(reading: Reading) -> Float[Tensor, "batch token"]:
    """The weights in double precision, summing to one beyond what single precision left off."""
    weights = reading.weights.double()
    return weights / weights.sum(-1, keepdim=True)


def prediction_of(reading: Reading) -> Float[Tensor, "batch class"]:
    """The predicted distribution in double precision."""
    return reading.logits.double().softmax(-1)


def numbers(values: Tensor, judged: np.ndarray | None = None) -> pa.Array:
    """A column of numbers, null where not judged or not a number."""
    array = values.detach().double().cpu().numpy()
    missing = np.isnan(array) if judged is None else np.isnan(array) | ~judged
    return pa.array(array, mask=missing)


def distribution(probabilities: Float[Tensor, "batch class"]) -> pa.Array | None:
    """A column of the classes' probabilities; None where there are too many classes, as for words, to keep them all."""
    classes = probabilities.shape[-1]
    if classes > MANY:
        return None
    values = pa.array(probabilities.double().flatten().cpu().numpy())
    return pa.FixedSizeListArray.from_arrays(values, classes).cast(pa.list_(pa.float64()))


def flags(values: Tensor, judged: np.ndarray | None = None) -> pa.Array:
    """A column of yes and no, null where not judged."""
    return pa.array(values.cpu().numpy(), mask=None if judged is None else ~judged)


def reasons(*cases: tuple[np.ndarray, str]) -> pa.Array:
    """The column ``not_judged``: the first reason that holds, or null."""
    out: np.ndarray = np.full(len(cases[0][0]), None, dtype=object)
    for holds, reason in reversed(cases):
        out[holds] = reason
    return pa.array(out, pa.string())


def ragged(values: Shaped[Tensor, "batch token *rest"], mask: Bool[Tensor, "batch token"]) -> pa.ListArray:
    """A column of lists, one number (or one list of numbers) per real token."""
    lengths = mask.sum(-1).cpu().numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    flat = values[mask].detach().cpu().numpy()
    inner = pa.array(flat.reshape(-1))
    if flat.ndim > 1:
        inner = pa.ListArray.from_arrays(
            np.arange(0, flat.size + 1, flat.shape[1], dtype=np.int32) if len(flat) else [0], inner
        )
    return pa.ListArray.from_arrays(offsets, inner)


def largest(weights: Float[Tensor, "batch token"]) -> Float[Tensor, " batch"]:
    """The largest attention weight."""
    return torch.amax(weights, dim=-1)


def classes(predicted: Int[Tensor, " batch"], judged: np.ndarray) -> pa.Array:
    """A column of classes, null where not judged."""
    return pa.array(predicted.cpu().numpy(), pa.int32(), mask=~judged)


def lists(values: Float[Tensor, "batch model"] | Int[Tensor, "batch model"], judged: np.ndarray) -> pa.ListArray:
    """A column of lists, one entry per model, null where not judged; classes are int32, other numbers double."""
    rows, models = values.shape
    flat = values.detach().cpu().numpy().reshape(-1)
    kind = pa.float64() if torch.is_floating_point(values) else pa.int32()
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * models)
    return pa.ListArray.from_arrays(offsets, pa.array(flat, kind), mask=pa.array(~judged))
