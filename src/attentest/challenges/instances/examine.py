"""Instances: what every later page needs to show one instance: tokens, prediction, attention, scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa

from attentest.challenges.challenge import MANY, Challenge, Examination, distribution, flags, largest, numbers, ragged
from attentest.explainers import EXPLAINERS
from attentest.models.subject import Subject
from attentest.parameters import Several
from attentest.store.findings import Measure

__all__ = ["Instances"]


@dataclass(frozen=True)
class Instances(Challenge):
    """Each instance as it was read, with per-token logits and the explainers' scores.

    Always run. It keeps what a page needs to show one text: tokens, prediction, attention, per-token logits, every
    explainer's scores, and the marks where the corpus has them.
    """

    name: ClassVar[str] = "instances"
    question: ClassVar[str] = "What does the model predict, and where does it attend?"
    reference: ClassVar[str] = "—"
    explainers: Annotated[tuple[str, ...], "The explainers whose scores are kept.", Several(0)] = (
        "gradient",
        "gradient_state",
        "leave_one_out",
        "state_erasure",
        "state_evidence",
    )
    per_token: Annotated[
        bool, "Keep what belongs to single tokens. A study of many cells does without, and takes a tenth of the space."
    ] = True
    second_explainers: Annotated[
        tuple[str, ...],
        "Explainers of the second text of a pair, as `('gradient', 'leave_one_out')`; attention is always in their "
        "path.",
        Several(0),
    ] = ()

    @property
    def explained_by(self) -> tuple[str, ...]:
        """The explainers whose scores are kept."""
        return (*self.explainers, *self.second_explainers) if self.per_token else ()

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs a second text where one is to be explained."""
        if self.second_explainers and subject.second_text() is None:
            return "there is no second text to explain"
        return None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How often the model is right, how peaked its attention is, and how much of it lies on words."""
        return (
            Measure("accuracy", "correct", "fraction", "share of correct predictions"),
            Measure("max_attention", "max_attention", "mean", "largest attention weight of an instance"),
            Measure("on_words", "on_words", "share", "share of attention on words; the rest is held (transformers)"),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """Everything that was read."""
        reading, batch, mask = examination.reading, examination.batch, examination.mask
        columns = {
            "row": examination.rows,
            "label": pa.array(batch.labels.cpu().numpy(), pa.int32()),
            "correct": flags(batch.labels == reading.predicted),
            "confidence": numbers(examination.probabilities.amax(-1)),
            "max_attention": numbers(largest(examination.weights)),
        }
        if reading.on_words is not None:
            columns["on_words"] = numbers(reading.on_words)
        if (probabilities := distribution(examination.probabilities)) is not None:
            columns["probabilities"] = probabilities
        if examination.vocabulary is not None and examination.vocabulary.target is not None:
            words = pa.array(examination.vocabulary.target.words, pa.string())
            columns["word"] = words.take(columns["label"])
            columns["written"] = words.take(pa.array(reading.predicted.cpu().numpy()))
        if self.per_token:
            columns |= {"tokens": examination.tokens, "attention": ragged(examination.weights, mask)}
            if reading.token_logits is not None and reading.token_logits.shape[-1] <= MANY:
                columns["token_logits"] = ragged(reading.token_logits.double(), mask)
            for explainer in self.explainers:
                columns[explainer] = ragged(examination.scores(explainer), mask)
            if examination.rationale is not None:
                columns["rationale"] = ragged(examination.rationale, mask)
            if examination.second is not None:
                columns["second"] = examination.second
            if self.second_explainers:
                columns |= self._of_second(examination)
        columns["not_judged"] = pa.nulls(len(batch), pa.string())
        return pa.table(columns)

    def _of_second(self, examination: Examination) -> dict[str, pa.Array]:
        """The scores of the second texts' words."""
        subject, batch = examination.subject.second_text(), examination.batch.swapped()
        assert subject is not None
        reading = subject.read(batch)
        scores = {e: EXPLAINERS.parse(e).scores(subject, batch, reading).double() for e in self.second_explainers}
        return {f"second_{name}": ragged(values, batch.mask) for name, values in scores.items()}
