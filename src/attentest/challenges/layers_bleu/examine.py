"""BLEU by layers: does a Transformer translate as well when the attention of more and more layers is replaced?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa

from attentest.challenges.bleu.examine import References, check_tokenize
from attentest.challenges.challenge import Challenge, Examination
from attentest.challenges.layers.examine import ENDS, LayerSet, of_kinds, sets_of
from attentest.errors import InputError
from attentest.models.capabilities import Generates, GeneratesInLayers
from attentest.models.networks.beam import Written
from attentest.models.parts.transformer_layers import KINDS
from attentest.models.replaced import REPLACEMENTS, Replacement
from attentest.models.subject import Subject
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["LayersBleu"]

#: What stands in the columns of what was written with the model's own weights.
OWN = "none"


@dataclass(frozen=True)
class LayersBleu(Challenge):
    """Translations with the attention of the first 1, 2, … layers replaced, and of the last 1, 2, …, up to all.

    For translators with `--decoder transformer`. As `layers`, but the model writes by itself: the attention of more
    and more layers is replaced while the text is read and at every step of writing, so that what was written so far
    was written under such weights too, and BLEU is computed as `bleu` does. It writes the likeliest word at every
    step, without a search, unless `beam` says otherwise: set its figures beside those of `bleu(beam=1)`, not of
    `bleu`. All sets of layers write side by side. Not part of an audit unless asked for: `--challenge layers_bleu`.
    """

    name: ClassVar[str] = "layers_bleu"
    question: ClassVar[str] = "Does it translate as well when the attention of more and more layers is replaced?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.3 and Figure 4; Post 2018 (sacrebleu)"
    of_texts: ClassVar[bool] = True
    needs: ClassVar[tuple[type, ...]] = (Generates, GeneratesInLayers)
    replacement: Annotated[
        str,
        "`permutation`: each row's weights shuffled among what it may see; `uniform`: even weights; `random`: drawn "
        "anew.",
    ] = "permutation"
    draws: Annotated[
        int, "How often weights are drawn for each text; BLEU is then of all draws together.", Within(1, 1000)
    ] = 1
    beam: Annotated[
        int, "Candidates that are kept while a text is written; 1 is the likeliest word at every step.", Within(1, 100)
    ] = 1
    tokenize: Annotated[str, "How sacrebleu cuts texts, as in `bleu`."] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replacement not in REPLACEMENTS:
            raise InputError(f"layers_bleu: replacement={self.replacement!r} must be one of {', '.join(REPLACEMENTS)}.")
        check_tokenize(self.name, self.tokenize)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """For one layer at either end, and for all of them; kinds of attention are never pooled."""
        own = Measure("own.bleu", "counts", "bleu", "BLEU, its own weights", {"replaced": OWN}, together="id")
        return (own, *self._measures())

    def _measures(self) -> Iterator[Measure]:
        for kind in KINDS:
            for ends in ENDS:
                where, name = {"attention": kind, "replaced": ends}, f"{kind}.{ends}"
                said = f"{kind}: BLEU, attention of {'all layers' if ends == 'all' else f'the {ends.split()[0]} layer'}"
                yield Measure(f"{name}.bleu", "counts", "bleu", said, where, together="id")
                told = said.replace("BLEU", "change of BLEU")
                yield Measure(
                    f"{name}.change", "counts", "bleu_change", told, where, against="own_counts", together="id"
                )

    def measures_of(self, subject: Subject) -> tuple[Measure, ...]:
        """Those of the kinds of attention that the model has."""
        return of_kinds(self.measures, subject)

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text, set of layers and draw."""
        target = examination.batch.target
        assert target is not None
        references, rows, own_counts = References.of(examination, self.tokenize), target.sentences.cpu().numpy(), None
        tables: list[pa.Table] = []
        for layers, draw, written in self._written(examination):
            hypotheses, counts = references.compared(written)
            own_counts = counts if own_counts is None else own_counts
            about = (OWN, OWN, OWN, 0) if layers is None else (layers.kind, layers.name, layers.direction, layers.count)
            attention, replaced, direction, count = about
            tables.append(
                pa.table(
                    {
                        "row": rows,
                        "attention": pa.array([attention] * len(rows), pa.string()),
                        "replaced": pa.array([replaced] * len(rows), pa.string()),
                        "direction": pa.array([direction] * len(rows), pa.string()),
                        "layers": pa.array([count] * len(rows), pa.int32()),
                        "draw": pa.array([draw] * len(rows), pa.int32()),
                        **references.columns(hypotheses, counts, own_counts),
                    }
                )
            )
        return pa.concat_tables(tables)

    def _written(self, examination: Examination) -> Iterator[tuple[LayerSet | None, int, Written]]:
        """What is written with each set of layers replaced, with none of them first."""
        target, subject = examination.batch.target, examination.subject
        assert target is not None
        assert isinstance(subject, GeneratesInLayers)
        sets = list(sets_of(examination.subject))
        for draw in range(1 if self.replacement == "uniform" else self.draws):
            asked = [None, *sets] if draw == 0 else [*sets]
            written = subject.translate_with_layers_replaced(
                target.text,
                target.keys,
                [() if layers is None else layers.places for layers in asked],
                Replacement(self.replacement, examination.seed, f"layers/{draw}"),
                beam=self.beam,
            )
            yield from ((layers, draw, one) for layers, one in zip(asked, written, strict=True))
