"""Guide: do the weights help a model that knows nothing but single words?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa

from attentest.challenges.challenge import Challenge, Examination, classes, flags, numbers, reasons
from attentest.challenges.companions import SUBJECT, Against, Companion
from attentest.models.parts.encoders import Average
from attentest.parameters import Within
from attentest.registry import text_of
from attentest.store.findings import Measure

__all__ = ["GUIDES", "Guide"]

#: Whose weights the context-free model is given: 1/T, its own, the subject's, those of a model trained against it.
GUIDES = ("uniform", "own", "model", "adversary")


@dataclass(frozen=True)
class Guide(Challenge):
    """A per-token network without context, trained under weights that are given to it: what do the weights tell it?

    A network that sees every word by itself, one layer and no context, is trained four times, and differs only in
    the weights by which its words are summed up: uniform ones, weights it learns itself, this model's, and those of
    an adversary trained to attend elsewhere. They are given to it text by text, in training and after, and do not
    change. Where this model's weights make it better than uniform ones (`gained`) and no worse than its own
    (`over_own`), they say which words matter also to a model that never saw the sentence as a whole. Where the
    adversary's weights serve as well (`over_adversary` near zero), that is no merit of this model's. The weights
    were made by a model that did see the sentence and was trained on the labels, so a gain shows that they carry
    information, not that they are the reason for the prediction. Trains five more models, the adversary among them,
    which `adversarial_training` shares when it has the same λ. Not part of an audit unless asked for.
    """

    name: ClassVar[str] = "guide"
    question: ClassVar[str] = "Do the weights help a model that sees each word in isolation?"
    reference: ClassVar[str] = "Wiegreffe & Pinter 2019, section 3.4"
    of_classifiers: ClassVar[bool] = True
    hidden: Annotated[int, "Units of the layer that reads every word by itself.", Within(1, 65_536)] = 128
    weight: Annotated[
        float,
        "λ of the adversary: what attending elsewhere is worth to it. See `adversarial_training`.",
        Within(0, 1e9),
    ] = 0.01
    divergence: Annotated[str, "The adversary's measure of being elsewhere: `kl` or `jsd`."] = "kl"

    def __post_init__(self) -> None:
        super().__post_init__()
        Against(self.weight, self.divergence)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How well it predicts under each weighting, and what the subject's weights give it."""
        accuracy = "share of correct predictions"
        return (
            Measure("accuracy", "correct", "fraction", f"{accuracy}, the model itself"),
            Measure(
                "accuracy_uniform", "correct_uniform", "fraction", f"{accuracy}, words alone under uniform weights"
            ),
            Measure(
                "accuracy_own", "correct_own", "fraction", f"{accuracy}, words alone under weights learnt with them"
            ),
            Measure(
                "accuracy_model", "correct_model", "fraction", f"{accuracy}, words alone under the model's weights"
            ),
            Measure(
                "accuracy_adversary",
                "correct_adversary",
                "fraction",
                f"{accuracy}, words alone under an adversary's weights",
            ),
            Measure("gained", "gained", "mean", "correct predictions gained by the model's weights over uniform ones"),
            Measure("over_own", "over_own", "mean", "correct predictions gained over weights learnt with the words"),
            Measure(
                "over_adversary", "over_adversary", "mean", "correct predictions gained over an adversary's weights"
            ),
        )

    @property
    def guided(self) -> dict[str, Companion]:
        """The context-free model under each weighting."""
        encoder = text_of(Average(self.hidden, "tanh"))
        adversary = Companion(seed=1, against=Against(self.weight, self.divergence))
        models = (
            Companion(encoder=encoder, attention="uniform"),
            Companion(encoder=encoder),
            Companion(encoder=encoder, guide=SUBJECT),
            Companion(encoder=encoder, guide=adversary),
        )
        return dict(zip(GUIDES, models, strict=True))

    @property
    def companions(self) -> tuple[Companion, ...]:
        """Four trainings of the context-free model; the last one's guide is a training of its own."""
        return tuple(self.guided.values())

    def examine(self, examination: Examination) -> pa.Table:
        """Four more predictions of every text."""
        labels = examination.batch.labels
        judged = ~examination.single
        predicted = {name: examination.beside(companion).predicted for name, companion in self.guided.items()}
        right = {name: given == labels for name, given in predicted.items()}
        gains = {"gained": "uniform", "over_own": "own", "over_adversary": "adversary"}
        return pa.table(
            {
                "row": examination.rows,
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "correct": flags(examination.reading.predicted == labels, judged),
                **{f"correct_{name}": flags(values, judged) for name, values in right.items()},
                **{f"predicted_{name}": classes(values, judged) for name, values in predicted.items()},
                **{
                    column: numbers(right["model"].double() - right[name].double(), judged)
                    for column, name in gains.items()
                },
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )
