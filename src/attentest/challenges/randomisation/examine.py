"""Randomisation: does an explanation change when the model it explains is destroyed?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, numbers, reasons
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.oracle import Oracle
from attentest.explainers.precomputed import Precomputed
from attentest.measures.rank import spearman
from attentest.models.capabilities import Randomisable, required
from attentest.parameters import Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure

__all__ = ["Randomisation"]

#: The last stage, where no learnt weight is left.
EVERYTHING = "everything"
#: More draws than this would share the seeds of another run.
MOST = 1000


@dataclass(frozen=True)
class Randomisation(Challenge):
    """Weights are drawn anew from the head down, and every explainer is asked again about the same class.

    A test of explainers, not of the model. The weights of the head are drawn anew, as before training; then those
    of attention too, then of the encoder, then of the embedding (pretrained vectors too), until nothing learnt is
    left. After each step every explainer scores the same texts and the same class again. A score that is about the
    model must become another one; where the last similarity, *when everything is random*, is still high, the
    explainer shows something about the text, such as where a word stands or how long its embedding is, and would
    have shown the same for any model. All texts share the same few random models: intervals are over texts, for
    these draws, and say nothing of other draws. Not part of an audit unless asked for.

    Similarity is Spearman's ρ between the scores for the trained model and for the random one, averaged over draws.
    """

    name: ClassVar[str] = "randomisation"
    question: ClassVar[str] = "Do explanations change when the model's weights are replaced by random ones?"
    reference: ClassVar[str] = "Adebayo et al. 2018"
    needs: ClassVar[tuple[type, ...]] = (Randomisable,)
    explainers: Annotated[tuple[str, ...], "The explainers that are tested.", Several()] = (
        "attention",
        "gradient",
        "leave_one_out",
        "lrp",
    )
    cascade: Annotated[
        bool,
        "Random from the head down, one part after another; if false, each part by itself, and at last all of them.",
    ] = True
    draws: Annotated[int, "Random models for each step; similarities are averaged over them.", Within(1, MOST)] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        for explainer in self.explainers:
            if isinstance(EXPLAINERS.parse(explainer), Oracle | Precomputed):
                raise InputError(
                    f"randomisation: explainer {explainer!r} looks at no model: none can be taken from it."
                )

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Similarity at every stage of a classifier, in both forms."""
        lowest = () if self.cascade else ("embedding",)
        kinds = (("spearman", "similarity"), ("spearman_absolute", "similarity of sizes, signs aside,"))
        return tuple(
            Measure(
                f"{explainer}.{layer}.{column}",
                column,
                "mean",
                f"{name_in_words(explainer, self.explainers)}: {words} {self._after(layer)}, for these draws",
                {"explainer": explainer, "layer": layer},
            )
            for explainer in self.explainers
            for layer in ("head", "attention", "encoder", *lowest, EVERYTHING)
            for column, words in kinds
        )

    def _after(self, layer: str) -> str:
        if layer == EVERYTHING:
            return "when everything is random"
        return (
            f"when all from the head down to the {layer} is random" if self.cascade else f"when the {layer} is random"
        )

    def stages(self, parts: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """A name and the parts that are random, one after the other; at the end all of them are."""
        for last in range(1, len(parts)):
            yield parts[last - 1], parts[:last] if self.cascade else parts[last - 1 : last]
        if not self.cascade:
            yield parts[-1], parts[-1:]
        yield EVERYTHING, parts

    def examine(self, examination: Examination) -> pa.Table:
        """One row per instance, explainer and stage."""
        subject = required(Randomisable, examination.subject, self.name)
        return pa.concat_tables(
            [
                self._row(examination, explainer, layer, step, similarity)
                for step, (layer, parts) in enumerate(self.stages(subject.parts), start=1)
                for explainer, similarity in self._similarity(examination, parts).items()
            ]
        )

    def _similarity(self, examination: Examination, parts: tuple[str, ...]) -> dict[str, Tensor]:
        """Both similarities [batch, 2] of every explainer, averaged over the draws where they exist."""
        batch, mask = examination.batch, examination.mask
        found: dict[str, list[Tensor]] = {explainer: [] for explainer in self.explainers}
        for draw in range(self.draws):
            subject = required(Randomisable, examination.subject, self.name).randomised(
                parts, examination.seed * MOST + draw
            )
            reading = subject.read(batch)
            for explainer, draws in found.items():
                own = examination.scores(explainer)
                # The same class is explained, whatever the random model would predict.
                method = EXPLAINERS.parse(explainer)
                other = method.scores(subject, batch, reading, examination.reading.predicted).double()
                other = reading.pooled(other)
                draws.append(torch.stack([spearman(own, other, mask), spearman(own.abs(), other.abs(), mask)], dim=-1))
        return {explainer: torch.stack(draws).nanmean(0) for explainer, draws in found.items()}

    def _row(self, examination: Examination, explainer: str, layer: str, step: int, similarity: Tensor) -> pa.Table:
        signed, absolute = similarity.unbind(-1)
        single = examination.single
        constant: np.ndarray = (signed.isnan() & absolute.isnan()).cpu().numpy()
        judged = ~(single | constant)
        return pa.table(
            {
                "row": examination.rows,
                "explainer": pa.array([explainer] * len(single), pa.string()),
                "layer": pa.array([layer] * len(single), pa.string()),
                "step": pa.array([step] * len(single), pa.int32()),
                "spearman": numbers(signed, judged),
                "spearman_absolute": numbers(absolute, judged),
                "not_judged": reasons((single, "fewer than two tokens"), (constant, "constant scores")),
            }
        )
