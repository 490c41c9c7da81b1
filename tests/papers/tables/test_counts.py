"""What runs counted of their texts, against NumPy over the texts themselves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.papers.made_up_cells import cell

from attentest.data.corpus import Corpus, Provenance, Split
from attentest.papers.claims import Claim
from attentest.papers.counts import counted
from attentest.papers.outcomes import evaluate
from attentest.papers.rules import CorpusRule
from attentest.runs.model import counts_of

TEXTS = {"train": 50, "dev": 7, "test": 20}
ALL = CorpusRule(length=tuple(TEXTS))


def drawn(seed: int) -> dict[str, list[list[int]]]:
    """The sentences of every text, each as its number of tokens."""
    chance = np.random.default_rng(seed)
    return {
        name: [chance.integers(1, 9, size=chance.integers(1, 6)).tolist() for _ in range(n)]
        for name, n in TEXTS.items()
    }


def corpus(sizes: dict[str, list[list[int]]], *, sentences: bool = True) -> Corpus:
    splits = {
        name: Split.of(
            [f"{name}/{row}" for row in range(len(texts))],
            [["word"] * sum(text) for text in texts],
            [row % 2 for row in range(len(texts))],
            sentences=texts if sentences else None,
        )
        for name, texts in sizes.items()
    }
    return Corpus("made-up", ("no", "yes"), splits, Provenance("", ""))


def test_means_and_deviations_are_those_of_all_texts_together():
    sizes = drawn(0)
    counts = json.loads(json.dumps(counts_of(corpus(sizes))))
    texts = [text for split in sizes.values() for text in split]
    lengths, sentences = np.array([sum(text) for text in texts]), np.array([len(text) for text in texts])
    assert counted(counts, "mean length", ALL, "") == pytest.approx(lengths.mean())
    assert counted(counts, "spread of length", ALL, "") == pytest.approx(lengths.std())
    assert counted(counts, "mean sentences", ALL, "") == pytest.approx(sentences.mean())
    assert counted(counts, "spread of sentences", ALL, "") == pytest.approx(sentences.std())


def test_what_a_run_did_not_count_is_not_there():
    counts = counts_of(corpus(drawn(1), sentences=False))
    assert counted(counts, "mean sentences", ALL, "") is None
    assert counted(counts, "mean length", CorpusRule(length=("test",)), "") is not None
    for split in counts["splits"].values():
        del split["sd_length"]  # as older runs have it
    assert counted(counts, "spread of length", ALL, "") is None


def test_texts_are_counted_by_class_and_in_all():
    counts = counts_of(corpus(drawn(2)))
    assert counted(counts, "texts in test", ALL, "") == 20
    assert counted(counts, "texts in test", ALL, "1") == 10
    assert counted(counts, "classes", ALL, "") == 2
    assert counted(counts, "vocabulary", ALL, "") == counts["vocabulary"]


def test_sentences_are_counted_by_the_runs_that_read_them(tmp_path: Path):
    sizes = drawn(3)
    flat = cell(tmp_path, corpus="imdb", structure="flat", counts=counts_of(corpus(sizes, sentences=False)))
    whole = cell(tmp_path, corpus="imdb", structure="hierarchical", counts=counts_of(corpus(sizes)))

    def found(*cells):
        of = evaluate("serrano_smith_2019", cells)
        figures = [one for one in of if isinstance(one.claim, Claim) and one.claim.corpus.startswith("IMDB")]
        return next(one for one in figures if one.claim.measure == "average_sentences")

    ours = found(flat, whole).ours
    assert ours == pytest.approx(np.mean([len(text) for split in sizes.values() for text in split]))
    assert (found(flat).status, found(flat).reason) == ("not run", "its runs do not count this (corpus.json)")
