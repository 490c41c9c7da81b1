"""BLEU: does a translator write as well when its attention is not its own?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination
from attentest.challenges.companions import Companion
from attentest.data.batches import step_keys
from attentest.data.subwords import in_subwords, joined
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.measures.bleu import sentence_counts, signature
from attentest.measures.chance import permutations, uniforms
from attentest.models.capabilities import Generates
from attentest.models.networks.beam import Weigh, Written
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["Bleu", "References", "check_tokenize", "other_weights"]

OWN = "own"
#: Put in the place of its own weights at every step of writing; all else that it learnt stays.
REPLACED = ("uniform", "random", "permuted")
#: Other models, trained with such weights.
TRAINED = {"trained uniform": Companion(attention="uniform"), "trained random": Companion(attention="random")}
WORDS = {
    OWN: "its own weights",
    **{weights: f"{weights} weights" for weights in REPLACED},
    **{weights: f"{weights.replace(' ', ' with ')} weights" for weights in TRAINED},
}
TOKENIZE = ("auto", "13a", "intl", "char", "none")


@dataclass(frozen=True)
class References:
    """The texts of a batch that translations are compared with, and how."""

    texts: list[str]
    target: Vocabulary
    #: Whether words are in pieces, which are put together.
    pieces: bool
    #: How sacrebleu cuts texts.
    cut: str

    @classmethod
    def of(cls, examination: Examination, tokenize: str) -> References:
        """Those of a batch; "auto": cut by what the words are."""
        assert examination.targets is not None
        assert examination.vocabulary is not None
        assert examination.vocabulary.target is not None
        target = examination.vocabulary.target
        pieces = in_subwords(target.words)
        cut = ("13a" if pieces else "none") if tokenize == "auto" else tokenize
        return cls([_text(words, pieces) for words in examination.targets.to_pylist()], target, pieces, cut)

    @property
    def signature(self) -> str:
        """What BLEU must be quoted with."""
        return signature(self.cut)

    def compared(self, written: Written) -> tuple[list[str], list[list[float]]]:
        """What was written, as texts, and the counts that BLEU is made of."""
        words, lengths = written.words.tolist(), written.lengths.tolist()
        texts = [_text(self.target.decode(row[:n]), self.pieces) for row, n in zip(words, lengths, strict=True)]
        return texts, sentence_counts(texts, self.texts, self.cut).tolist()

    def columns(
        self, hypotheses: list[str], counts: list[list[float]], own_counts: list[list[float]]
    ) -> dict[str, pa.Array]:
        """What was written beside the references, as columns of findings; every text is judged."""
        return {
            "hypothesis": pa.array(hypotheses, pa.string()),
            "reference": pa.array(self.texts, pa.string()),
            "counts": pa.array(counts, pa.list_(pa.float64())),
            "own_counts": pa.array(own_counts, pa.list_(pa.float64())),
            "signature": pa.array([self.signature] * len(self.texts), pa.string()),
            "not_judged": pa.nulls(len(self.texts), pa.string()),
        }


@dataclass(frozen=True)
class Bleu(Challenge):
    """Translations by beam search, under its own weights and under others, against the references.

    For models that translate. Every text is translated by beam search, once with the model's own attention and
    again with other weights in its place at every step: `uniform` (each source word weighs the same), `random`
    (drawn from U(0, 1) and normalised) and `permuted` (its own weights of that step, shuffled over the source
    words). What was written so far was written under such weights too. The model is not trained again; with
    `trained=True` models that were trained with uniform and with random weights write as well.

    BLEU is sacrebleu's and is quoted with its signature (column `signature`). Where the corpus is of subwords,
    texts are put together and cut by sacrebleu's rules (`13a`), as published figures are; where it is of words,
    words are compared as they are (`tok:none` in the signature), and such a figure must not stand beside the other.
    An interval draws texts, the same ones for both sides of a change.
    """

    name: ClassVar[str] = "bleu"
    question: ClassVar[str] = "Does it translate as well when its attention is replaced?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.1; Post 2018 (sacrebleu)"
    of_texts: ClassVar[bool] = True
    needs: ClassVar[tuple[type, ...]] = (Generates,)
    beam: Annotated[int, "Candidates that are kept while a text is written.", Within(1, 100)] = 5
    draws: Annotated[
        int,
        "How often random and permuted weights are drawn for each text; BLEU is then of all draws together.",
        Within(1, 1000),
    ] = 1
    trained: Annotated[
        bool, "Compare with models trained with uniform and with random weights too; they are trained first."
    ] = False
    tokenize: Annotated[
        str,
        "How sacrebleu cuts texts: `13a`, `intl`, `char` or `none` (at white space); `auto`: `13a` for subwords, "
        "`none` for words.",
    ] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tokenize(self.name, self.tokenize)

    @property
    def variants(self) -> tuple[str, ...]:
        """Whose weights it writes with."""
        return (OWN, *REPLACED, *(TRAINED if self.trained else ()))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """BLEU under each, and what it is less than under its own weights; texts are drawn with all their draws."""
        each = [_measure("bleu", weights, f"BLEU, {WORDS[weights]}") for weights in self.variants]
        lost = [_measure("change", weights, f"change of BLEU, {WORDS[weights]}") for weights in self.variants[1:]]
        return (*each, *lost)

    @property
    def companions(self) -> tuple[Companion, ...]:
        """The models trained with other weights."""
        return tuple(TRAINED.values()) if self.trained else ()

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text, kind of weights and draw."""
        target = examination.batch.target
        assert target is not None
        references, rows, own_counts = References.of(examination, self.tokenize), target.sentences.cpu().numpy(), None
        tables: list[pa.Table] = []
        for weights, draw, written in self._written(examination):
            hypotheses, counts = references.compared(written)
            own_counts = counts if own_counts is None else own_counts
            tables.append(
                pa.table(
                    {
                        "row": rows,
                        "weights": pa.array([weights] * len(rows), pa.string()),
                        "draw": pa.array([draw] * len(rows), pa.int32()),
                        **references.columns(hypotheses, counts, own_counts),
                    }
                )
            )
        return pa.concat_tables(tables)

    def _written(self, examination: Examination) -> Iterator[tuple[str, int, Written]]:
        """What is written under each kind of weights, its own first."""
        target = examination.batch.target
        assert target is not None
        for weights in self.variants:
            subject = examination.companions[TRAINED[weights]] if weights in TRAINED else examination.subject
            assert isinstance(subject, Generates)
            for draw in range(self.draws if weights in ("random", "permuted") else 1):
                weigh = other_weights(weights, draw, examination.seed)
                yield weights, draw, subject.translate(target.text, target.keys, beam=self.beam, weigh=weigh)


def check_tokenize(name: str, tokenize: str) -> None:
    """Refuse a way of cutting texts that sacrebleu does not have."""
    if tokenize not in TOKENIZE:
        raise InputError(f"{name}: tokenize={tokenize!r} must be one of {', '.join(TOKENIZE)}.")


def other_weights(weights: str, draw: int, seed: int) -> Weigh | None:
    """Other weights at every step, by chance that depends on seed, text, step and draw alone."""
    stream = f"bleu/{weights}/{draw}"

    def uniform(own: Tensor, mask: Tensor, keys: Tensor, step: int) -> Tensor:
        return mask / mask.sum(-1, keepdim=True).clamp(min=1)

    def random(own: Tensor, mask: Tensor, keys: Tensor, step: int) -> Tensor:
        # Above zero, so that a text of one token keeps its weight.
        drawn = (1.0 - uniforms(_keys(keys, step), 1, mask.shape[1], seed, stream, mask)[:, 0]) * mask
        return drawn / drawn.sum(-1, keepdim=True).clamp(min=1e-300)

    def permuted(own: Tensor, mask: Tensor, keys: Tensor, step: int) -> Tensor:
        return own.gather(-1, permutations(_keys(keys, step), 1, mask, seed, stream)[:, 0])

    return {"uniform": uniform, "random": random, "permuted": permuted}.get(weights)


def _keys(keys: Tensor, step: int) -> Tensor:
    return step_keys(keys, torch.full_like(keys, step))


def _text(words: Sequence[str], pieces: bool) -> str:
    return joined(words) if pieces else " ".join(words)


def _measure(statistic: str, weights: str, words: str) -> Measure:
    name, where = f"{weights.replace(' ', '_')}.{statistic}", {"weights": weights}
    if statistic == "bleu":
        return Measure(name, "counts", "bleu", words, where, together="id")
    return Measure(name, "counts", "bleu_change", words, where, against="own_counts", together="id")
