"""BLEU: does a translator write as well when its attention is not its own?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

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
from attentest.models.beam import Weigh, Written
from attentest.models.subject import Subject
from attentest.store.findings import Measure

__all__ = ["Bleu"]

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
class Bleu(Challenge):
    """Translations by beam search, under its own weights and under others, against the references.

    Weights are replaced at every step, so what was written so far was written under such weights too. BLEU is
    sacrebleu's: texts of subwords are put together again and cut by its rules, texts of words are compared as they are.
    """

    name: ClassVar[str] = "bleu"
    question: ClassVar[str] = "Does it translate as well when its attention is replaced?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.1; Post 2018 (sacrebleu)"
    of_texts: ClassVar[bool] = True
    #: Candidates that are kept while a text is written.
    beam: int = 5
    #: How often random and permuted weights are drawn for each text.
    draws: int = 1
    #: Compare with models trained with uniform and with random weights too.
    trained: bool = False
    #: How sacrebleu cuts texts; "auto": "13a" where subwords give the text back, "none" where tokens are words.
    tokenize: str = "auto"

    def __post_init__(self) -> None:
        for name in ("beam", "draws"):
            if getattr(self, name) < 1:
                raise InputError(f"bleu: {name}={getattr(self, name)} must be at least 1.")
        if self.tokenize not in TOKENIZE:
            raise InputError(f"bleu: tokenize={self.tokenize!r} must be one of {', '.join(TOKENIZE)}.")

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

    def objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs a model that writes."""
        return None if subject.generates else "it writes no text"

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text, kind of weights and draw."""
        target, vocabulary = examination.batch.target, examination.vocabulary
        assert target is not None
        assert examination.targets is not None
        assert vocabulary is not None
        assert vocabulary.target is not None
        pieces = in_subwords(vocabulary.target.words)
        cut = ("13a" if pieces else "none") if self.tokenize == "auto" else self.tokenize
        references = [_text(words, pieces) for words in examination.targets.to_pylist()]
        rows, signed, own_counts = target.sentences.cpu().numpy(), signature(cut), None
        tables: list[pa.Table] = []
        for weights, draw, written in self._written(examination):
            hypotheses = _texts(written, vocabulary.target, pieces)
            counts = sentence_counts(hypotheses, references, cut).tolist()
            own_counts = counts if own_counts is None else own_counts
            tables.append(
                pa.table(
                    {
                        "row": rows,
                        "weights": pa.array([weights] * len(rows), pa.string()),
                        "draw": pa.array([draw] * len(rows), pa.int32()),
                        "hypothesis": pa.array(hypotheses, pa.string()),
                        "reference": pa.array(references, pa.string()),
                        "counts": pa.array(counts, pa.list_(pa.float64())),
                        "own_counts": pa.array(own_counts, pa.list_(pa.float64())),
                        "signature": pa.array([signed] * len(rows), pa.string()),
                        "not_judged": pa.nulls(len(rows), pa.string()),
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
            for draw in range(self.draws if weights in ("random", "permuted") else 1):
                weigh = _weigh(weights, draw, examination.seed)
                yield weights, draw, subject.translate(target.text, target.keys, beam=self.beam, weigh=weigh)


def _weigh(weights: str, draw: int, seed: int) -> Weigh | None:
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


def _texts(written: Written, target: Vocabulary, pieces: bool) -> list[str]:
    words, lengths = written.words.tolist(), written.lengths.tolist()
    return [_text(target.decode(row[:length]), pieces) for row, length in zip(words, lengths, strict=True)]


def _text(words: Sequence[str], pieces: bool) -> str:
    return joined(words) if pieces else " ".join(words)


def _measure(statistic: str, weights: str, words: str) -> Measure:
    name, where = f"{weights.replace(' ', '_')}.{statistic}", {"weights": weights}
    if statistic == "bleu":
        return Measure(name, "counts", "bleu", words, where, together="id")
    return Measure(name, "counts", "bleu_change", words, where, against="own_counts", together="id")
