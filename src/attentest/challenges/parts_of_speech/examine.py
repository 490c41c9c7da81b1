"""Parts of speech: on which kinds of words does attention lie?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, numbers, reasons
from attentest.challenges.parts_of_speech.tagger import MISSING, TAGS, missing, tagged
from attentest.models.subject import Subject
from attentest.parameters import Several
from attentest.store.findings import Measure

__all__ = ["PartsOfSpeech"]


@dataclass(frozen=True)
class PartsOfSpeech(Challenge):
    """The share of scores on every part of speech, beside the share of words that are of it.

    Nouns may get most of the attention because most words are nouns: `preferred` is how much more of the scores a part
    of speech gets than of the words. That attention lies on nouns and adjectives makes it plausible, not faithful: the
    same of another explainer stands beside it. Words are tagged by rules (the lexicon of the package textblob; English
    only, `pip install 'attentest[tagger]'`), which get about nine of ten words of reviews right, by eye. Not part
    of an audit unless asked for.
    """

    name: ClassVar[str] = "parts_of_speech"
    question: ClassVar[str] = "On which kinds of words does attention lie?"
    reference: ClassVar[str] = "Mohankumar et al. 2020"
    of_classifiers: ClassVar[bool] = True
    explainers: Annotated[tuple[str, ...], "Whose scores; signs are left out.", Several()] = ("attention", "gradient")

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs a tagger."""
        return MISSING if missing() else None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """For every part of speech: its share of words, each explainer's share of scores, and the difference."""
        found = []
        for tag in TAGS:
            of = {"explainer": self.explainers[0], "tag": tag}
            found.append(Measure(f"{tag}.words", "words", "share", f"{tag}: share of words", of))
        for name in self.explainers:
            for tag in TAGS:
                of = {"explainer": name, "tag": tag}
                found.append(Measure(f"{name}.{tag}.mass", "mass", "share", f"{name}: {tag}: share of scores", of))
                words = f"{name}: {tag}: scores beyond its share of words"
                found.append(Measure(f"{name}.{tag}.preferred", "preferred", "mean", words, of))
        return tuple(found)

    def examine(self, examination: Examination) -> pa.Table:
        """Every text tagged, and the scores of each explainer added up by tag."""
        mask, rows = examination.mask, len(examination.rows)
        sentences = np.full(rows, examination.reading.groups is not None)
        tags = torch.zeros(mask.shape, dtype=torch.long, device=mask.device)
        if not sentences.any():
            tags[mask] = torch.from_numpy(tagged(examination.tokens.to_pylist())).to(tags)
        words = _by_tag(mask.double(), tags)
        tables = []
        for name in self.explainers:
            scores = examination.scores(name).abs().where(mask, 0.0)
            mass = _by_tag(scores, tags)
            nothing = (scores.sum(-1) <= 0).cpu().numpy()
            judged = np.repeat(~(sentences | nothing), len(TAGS))
            why = reasons((sentences, "attention weighs sentences, not words"), (nothing, "all scores are zero"))
            tables.append(
                pa.table(
                    {
                        "row": np.repeat(examination.rows, len(TAGS)),
                        "explainer": pa.array([name] * rows * len(TAGS), pa.string()),
                        "tag": pa.array(list(TAGS) * rows, pa.string()),
                        "words": numbers(words.flatten(), judged),
                        "mass": numbers(mass.flatten(), judged),
                        "preferred": numbers((mass - words).flatten(), judged),
                        "not_judged": why.take(pa.array(np.repeat(np.arange(rows), len(TAGS)))),
                    }
                )
            )
        return pa.concat_tables(tables)


def _by_tag(scores: Float[Tensor, "batch token"], tags: Tensor) -> Float[Tensor, "batch tag"]:
    """The share of every text's scores on each tag."""
    sums = scores.new_zeros(len(scores), len(TAGS)).scatter_add_(1, tags, scores)
    return sums / scores.sum(-1, keepdim=True)
