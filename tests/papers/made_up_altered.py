"""Finished runs with altered weights and known answers: single texts, pairs, translations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.papers.made_up_cells import MadeUpCell, run_folder, write

from attentest.challenges import CHALLENGES
from attentest.store.findings import Measure

TEXTS = 200
GLOVE = "glove.840B.300d.filtered33k.npz"
TASKS = {
    "sst": "single",
    "imdb": "single",
    "ag_news": "single",
    "snli": "pair",
    "multi30k": "translate",
    "multi30k_aligned": "translate",
}
PAIR = {"query": "separate", "head": "softmax"}
BABI = {"encoder": "bilstm(hidden=32)", "embedding": 50, "batch_size": 50, "epochs": 60, "patience": 10}


def altered_cell(
    root: Path,
    *,
    corpus: str = "sst",
    seed: int = 0,
    own: float = 0.8,
    trained: float = 0.8,
    altered: float = 0.75,
    change: float = 0.1,
    delta: float = 0.05,
    peak: float = 0.95,
    bleu: Mapping[str, float] | None = None,
    **choices: Any,
) -> MadeUpCell:
    """A run: the share that is right, when trained without attention, and when weights are altered at inference."""
    base_name = corpus.partition("(")[0]
    task = TASKS.get(base_name, "answer")
    vectors = GLOVE if task in ("single", "pair") else None
    folder = run_folder(root, f"{base_name}-{len(list(root.glob('*')))}", base_name, vectors, task=task)
    steps = 4 if task == "translate" else 1
    count = TEXTS * steps
    ids = [f"t{i // steps:03d}@{i % steps}" if steps > 1 else f"t{i:03d}" for i in range(count)]
    right, still, alone = (np.arange(count) < round(share * count) for share in (own, altered, trained))
    sentences = {"sentence": [f"t{i // steps:03d}" for i in range(count)]} if steps > 1 else {}
    base = {"id": ids, **sentences, "predicted": np.zeros(count, np.int32), "not_judged": pa.nulls(count, pa.string())}
    scored = base | {"correct": right}
    gained = scored | {"gained": still.astype(float) - right}
    lost = scored | {"lost": right.astype(float) - alone}
    tokens = np.repeat(np.arange(TEXTS) % 10 + 5, steps).astype(np.int32)
    peaks = np.linspace(0.05, peak, count)
    tables = {
        "instances": scored,
        "uniform": gained,
        "random_weights": gained,
        "permutation": gained | {"tokens": tokens, "max_attention": peaks, "median_change": np.full(count, change)},
        "trained_uniform": lost,
        "trained_random": lost,
        "single_weight": base | {"tokens": tokens, "weight_difference": peaks, "delta_js": delta * peaks},
    }
    for name, columns in tables.items():
        write(folder, name, name, CHALLENGES.parse(name).measures, pa.table(columns))
    if bleu is not None:
        write(folder, "bleu", "bleu", (Measure("bleu", "counts", "mean", "BLEU"),), bleu_table(bleu))
    chosen = {"corpus": corpus, "seed": seed, "vectors": vectors}
    if task in ("pair", "answer"):
        chosen |= PAIR
    if task == "pair":
        chosen |= {"batch_size": 128, "epochs": 8, "patience": 2}
    if task == "answer":
        chosen |= BABI
    if task == "translate":
        chosen |= {"encoder": "bigru(hidden=256)"}
    return MadeUpCell({**chosen, **choices}, folder)


def singles(root: Path, seeds: int = 3) -> list[MadeUpCell]:
    """Runs of the three corpora of single texts, which lose little."""
    return [
        altered_cell(root, corpus=corpus, seed=seed, head="softmax", trained=0.79, altered=0.78 - 0.01 * seed)
        for corpus in ("sst", "imdb", "ag_news")
        for seed in range(seeds)
    ]


def pairs(root: Path, head: str = "softmax", trained: float = 0.3, altered: float = 0.3) -> list[MadeUpCell]:
    return [
        altered_cell(
            root,
            corpus=corpus,
            seed=seed,
            head=head,
            trained=trained + 0.01 * seed,
            altered=altered,
            change=0.6,
            delta=0.4,
        )
        for corpus in ("snli", "babi-1", "babi-2", "babi-3")
        for seed in range(3)
    ]


def bleu_table(shares: Mapping[str, float]) -> pa.Table:
    """Findings of bleu: under each kind of weights this share of all n-grams match, so BLEU is 100 × the share."""
    own = counts(shares["own"])
    parts = []
    for name, share in shares.items():
        parts.append(
            pa.table(
                {
                    "id": [f"t{i:03d}" for i in range(TEXTS)],
                    "weights": [name] * TEXTS,
                    "counts": counts(share).tolist(),
                    "own_counts": own.tolist(),
                    "not_judged": pa.nulls(TEXTS, pa.string()),
                }
            )
        )
    return pa.concat_tables(parts)


def counts(share: float) -> np.ndarray:
    """Ten numbers per sentence: 20 words written and wanted, n-grams of which this share match."""
    ngrams = np.array([20.0, 20.0, 20.0, 20.0])
    return np.tile(np.concatenate([[20.0, 20.0], share * ngrams, ngrams]), (TEXTS, 1))
