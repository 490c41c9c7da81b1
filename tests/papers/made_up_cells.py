"""Small finished runs with known answers: what a study's cell leaves on disk, as far as claims read it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from attentest.store.atomic import write_text
from attentest.store.findings import FindingsWriter, Measure
from attentest.store.folder import RunFolder

PAIRS = ("attention~gradient", "attention~leave_one_out", "gradient~leave_one_out")
FASTTEXT = "wiki.simple.vec"
SST_COUNTS: dict[str, Any] = {
    "vocabulary": 13_000,
    "vocabulary_of_all_splits": 16_039,
    "splits": {
        "train": {"texts": 6355, "by_class": {"0": 3034, "1": 3321}, "mean_length": 18.6},
        "dev": {"texts": 800, "by_class": {"0": 400, "1": 400}, "mean_length": 18.6},
        "test": {"texts": 1725, "by_class": {"0": 863, "1": 862}, "mean_length": 18.6},
    },
}


@dataclass(frozen=True)
class MadeUpCell:
    choices: Mapping[str, Any]
    folder: RunFolder


def cell(
    root: Path,
    *,
    corpus: str = "sst",
    encoder: str = "bilstm",
    attention: str = "additive",
    seed: int = 0,
    tau: float | Mapping[str, float] = 0.36,
    noise: float = 0.2,
    instances: int = 200,
    accuracy: float = 0.8,
    median_change: float = 0.05,
    divergence: float = 0.65,
    vectors: str | None = FASTTEXT,
    partial: str = "",
    counts: Mapping[str, Any] | None = SST_COUNTS,
    without: Sequence[str] = (),
    challenges: Mapping[str, str] | None = None,
    name: str | None = None,
    **choices: Any,
) -> MadeUpCell:
    """A run whose mean τ is exactly ``tau`` for every pair (or the one given for it), in both classes."""
    rng = np.random.default_rng([seed, instances])
    ids = [f"test-{i:04d}" for i in range(instances)]
    label = np.arange(instances) % 2
    # Wrong predictions come in twos, one of each class, so that both classes are predicted equally often.
    wrong = np.arange(instances) >= round(accuracy * instances / 2) * 2
    predicted = np.where(wrong, 1 - label, label)
    path = root / (name or f"{corpus.partition('(')[0]}-{encoder}-{attention}-{seed}-{len(list(root.glob('*')))}")
    folder = run_folder(root, path.name, corpus, vectors, partial)
    base = {"id": ids, "predicted": pa.array(predicted, pa.int32())}
    nothing = pa.nulls(instances, pa.string())
    tables = {
        "instances": (
            (Measure("accuracy", "correct", "fraction", "right"),),
            [
                base
                | {"label": pa.array(label, pa.int32()), "correct": ~wrong, "not_judged": nothing}
                | {"probabilities": [[1 - p, p] for p in np.where(predicted == 1, 0.9, 0.1).tolist()]}
            ],
        ),
        "agreement": (
            tuple(
                measure
                for pair in PAIRS
                for measure in (
                    Measure(f"{pair}.tau", "tau", "mean", "τ", {"pair": pair}),
                    Measure(f"{pair}.significant", "significant", "fraction", "significant", {"pair": pair}),
                )
            ),
            [_pair(base, pair, tau if isinstance(tau, float) else tau[pair], noise, predicted, rng) for pair in PAIRS],
        ),
        "permutation": (
            (Measure("median_change", "median_change", "mean", "median change"),),
            [
                base
                | {"median_change": np.full(instances, median_change), "not_judged": nothing}
                | {"max_attention": np.linspace(0.1, 0.9, instances)}
            ],
        ),
        "adversary": (
            (Measure("searched", "searched_divergence", "mean", "searched"),),
            [
                base
                | {"searched_divergence": np.full(instances, divergence) - np.linspace(0, 0.02, instances)}
                | {"max_attention": np.linspace(0.1, 0.9, instances), "not_judged": nothing}
            ],
        ),
    }
    for challenge, (measures, parts) in tables.items():
        if challenge not in without:
            table = pa.concat_tables([pa.table(part) for part in parts])
            write(folder, challenge, (challenges or {}).get(challenge, challenge), measures, table)
    if counts is not None:
        write_text(path / "corpus.json", json.dumps(counts))
        folder.finish("corpus.json")
    chosen = {"corpus": corpus, "encoder": encoder, "attention": attention, "seed": seed, "vectors": vectors}
    return MadeUpCell({**chosen, "preset": "released", **choices}, folder)


def write(folder: RunFolder, file: str, challenge: str, measures: Sequence[Measure], table: pa.Table) -> None:
    """Finished findings of a challenge."""
    name = f"findings/{file}.parquet"
    with FindingsWriter(folder.path / name, challenge, tuple(measures)) as writer:
        writer.write(table)
    folder.finish(name)


def run_folder(
    root: Path, name: str, corpus: str, vectors: str | None = FASTTEXT, partial: str = "", task: str = "single"
) -> RunFolder:
    """A run's folder without findings."""
    path = root / name
    fields = {
        "corpus": {"name": corpus, "task": task, "classes": ["negative", "positive"], "partial": partial},
        "model": {"vectors": {"file": vectors} if vectors else None},
    }
    (path / "findings").mkdir(parents=True)
    return RunFolder.create(path, fields, {"attentest": "0.1.0", "torch": "2.13.0", "device": "cpu (x86_64)"})


def _pair(
    base: Mapping[str, Any], pair: str, mean: float, noise: float, predicted: np.ndarray, rng: np.random.Generator
) -> dict[str, Any]:
    values = rng.normal(0, noise, len(predicted)) if noise else np.zeros(len(predicted))
    for c in np.unique(predicted):
        values[predicted == c] += mean - values[predicted == c].mean()
    nothing = pa.nulls(len(predicted), pa.string())
    return {**base, "pair": [pair] * len(predicted), "tau": values, "significant": values > 0.3, "not_judged": nothing}
