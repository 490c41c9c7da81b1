"""Finished runs without a model: instances with scores for every token, and a planted word that decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from attentest.store.findings import FindingsWriter
from attentest.store.folder import RunFolder

CLASSES = ("negative", "positive")


def write_planted_run(
    path: Path,
    texts: int = 120,
    *,
    classes: tuple[str, ...] = CLASSES,
    attends: float = 0.9,
    task: str = "single",
    without: tuple[str, ...] = (),
    seed: int = 0,
) -> RunFolder:
    """A run whose attention has its top weight on the planted word in a share ``attends`` of the texts.

    The head is affine: the logits of the planted word speak for the label, those of other words are small.
    """
    rows = [_row(np.random.default_rng((seed, n)), n, len(classes), attends, task) for n in range(texts)]
    table = pa.Table.from_pylist(rows).drop_columns(list(without))
    fields: dict[str, Any] = {
        "corpus": {"name": "planted", "classes": list(classes), "task": task, "rationale": "planted"},
        "model": {"encoder": "bilstm", "attention": "additive"},
        "challenges": [],
        "seed": seed,
    }
    run = RunFolder.create(path, fields, {"attentest": "0"})
    (path / "findings").mkdir()
    with FindingsWriter(path / "findings/instances.parquet", "instances", (), {}) as writer:
        writer.write(table)
    run.finish("findings/instances.parquet")
    return run


def _row(random: np.random.Generator, number: int, classes: int, attends: float, task: str) -> dict[str, Any]:
    length, label = int(random.integers(8, 20)), int(random.integers(classes))
    at = int(random.integers(length))
    tokens = [f"w{i}" for i in random.integers(0, 50, length)]
    tokens[at] = f"decides{label}"
    weights = random.dirichlet(np.ones(length))
    top, wanted = int(weights.argmax()), at if random.random() < attends else int(random.integers(length))
    weights[top], weights[wanted] = weights[wanted], weights[top]
    logits = random.normal(0, 0.3, (length, classes))
    logits[at, label] += 4
    predicted = int((weights @ logits).argmax())
    row = {
        "id": f"text-{number:04d}",
        "predicted": predicted,
        "label": label,
        "correct": predicted == label,
        "tokens": tokens,
        "attention": weights.tolist(),
        "gradient": np.abs(random.normal(0, 1, length)).tolist(),
        "token_logits": logits.tolist(),
        "rationale": [place == at for place in range(length)],
        "not_judged": None if number else "only one token",
    }
    return row | ({"second": ["where", "is", "it", "?"]} if task == "answer" else {})
