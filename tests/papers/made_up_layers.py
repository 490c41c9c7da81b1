"""Finished runs of models with layers and known answers: fine-tuned checkpoints, a Transformer that translates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.papers.made_up_altered import TASKS, TEXTS, counts
from tests.papers.made_up_cells import MadeUpCell, run_folder, write

from attentest.challenges.layers.examine import Layers
from attentest.challenges.layers_bleu.examine import LayersBleu

CHECKPOINT = "all-MiniLM-L6-v2"
MULTI30K = "multi30k(tokenizer='whitespace', subwords=8000)"


def layered_cell(
    root: Path,
    *,
    corpus: str = "sst",
    seed: int = 0,
    own: float = 0.8,
    all_layers: Mapping[str, float] | None = None,
    layers: int = 3,
    challenge: str = "layers",
    with_bleu: bool = True,
    **choices: Any,
) -> MadeUpCell:
    """A run whose score falls evenly with the layers permuted, for every kind of attention down to that with all."""
    name = corpus.partition("(")[0]
    translates = TASKS[name] == "translate"
    kinds = dict(all_layers or ({"encoder": 0.4, "decoder": 0.6, "cross": 0.1} if translates else {"self": 0.5}))
    folder = run_folder(root, f"{name}-layers-{len(list(root.glob('*')))}", name, None, task=TASKS[name])
    steps, parts, texts = (4 if translates else 1), [], []
    for kind, lowest in kinds.items():
        for direction, count in [(d, n) for n in range(1, layers) for d in ("first", "last")] + [("first", layers)]:
            left = own - (own - lowest) * count / layers
            about = (kind, "all" if count == layers else f"{direction} {count}", direction, count)
            parts.append(_steps(about, own, left, TEXTS * steps, steps))
            texts.append(_texts(about, own, left))
    write(folder, "layers", challenge, Layers().measures, pa.concat_tables(parts))
    if translates and with_bleu:
        texts.append(_texts(("none", "none", "none", 0), own, own))
        write(folder, "layers_bleu", "layers_bleu", LayersBleu().measures, pa.concat_tables(texts))
    model = {"decoder": "transformer"} if translates else {"fine_tune": CHECKPOINT, "learning_rate": 1e-4}
    return MadeUpCell({"corpus": corpus, "seed": seed, "epochs": 3, **model, **choices}, folder)


def _about(about: tuple[str, str, str, int], rows: int) -> dict[str, Any]:
    kind, replaced, direction, count = about
    return {
        "attention": [kind] * rows,
        "replaced": [replaced] * rows,
        "direction": [direction] * rows,
        "layers": pa.array([count] * rows, pa.int32()),
    }


def _steps(about: tuple[str, str, str, int], own: float, left: float, rows: int, steps: int) -> pa.Table:
    right, still = (np.arange(rows) < round(share * rows) for share in (own, left))
    first = np.arange(rows) % steps == 0 if about[0] == "decoder" else np.zeros(rows, bool)
    reason = pa.array(["one key" if one else None for one in first], pa.string())
    return pa.table(
        {
            "id": [f"t{i // steps:03d}@{i % steps}" if steps > 1 else f"t{i:03d}" for i in range(rows)],
            **({"sentence": [f"t{i // steps:03d}" for i in range(rows)]} if steps > 1 else {}),
            "predicted": np.zeros(rows, np.int32),
            **_about(about, rows),
            "correct": pa.array(right, mask=first),
            "correct_after": pa.array(still.astype(float), mask=first),
            "gained": pa.array(still.astype(float) - right, mask=first),
            "not_judged": reason,
        }
    )


def _texts(about: tuple[str, str, str, int], own: float, left: float) -> pa.Table:
    return pa.table(
        {
            "id": [f"t{i:03d}" for i in range(TEXTS)],
            "predicted": pa.nulls(TEXTS, pa.int32()),
            **_about(about, TEXTS),
            "counts": counts(left).tolist(),
            "own_counts": counts(own).tolist(),
            "not_judged": pa.nulls(TEXTS, pa.string()),
        }
    )
