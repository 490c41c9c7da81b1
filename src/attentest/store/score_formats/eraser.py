"""ERASER's predictions: one JSON object a line (DeYoung et al. 2020)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attentest.data.files.formats import json_lines, text_of_file
from attentest.errors import InputError
from attentest.store.atomic import replacing
from attentest.store.score_formats.format import Format, present
from attentest.store.scores import Scores, Texts

__all__ = ["ERASER"]

NEEDED = "annotation_id, and one of rationales with docid and soft_rationale_predictions"


def _read(path: Path, texts: Texts) -> Mapping[str, np.ndarray]:
    """``soft_rationale_predictions`` as they are or, where there are none, 1 inside the hard spans and 0 elsewhere."""
    present(path)
    lengths = dict(zip(texts.ids, map(len, texts.tokens), strict=True))
    found: dict[str, np.ndarray] = {}
    rows: list[dict[str, Any]] = json_lines(path, text_of_file(path))
    for number, row in enumerate(rows, start=1):
        try:
            name = str(row["annotation_id"])
            (rationale,) = row["rationales"]
            scores = _scores(rationale, lengths.get(name, 0))
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"{path.name}, object {number} is no ERASER prediction of one text: it needs {NEEDED}."
            ) from error
        if name in found:
            raise InputError(f"{path.name}, object {number}: {name!r} is there twice. Keep one.")
        found[name] = scores
    return found


def _scores(rationale: Any, length: int) -> np.ndarray:
    if "soft_rationale_predictions" in rationale:
        return np.asarray(rationale["soft_rationale_predictions"], dtype=np.float64)
    marked = np.zeros(length)
    for span in rationale["hard_rationale_predictions"]:
        start, end = int(span["start_token"]), int(span["end_token"])
        if not 0 <= start <= end <= length:
            raise ValueError(f"a span from {start} to {end} in a text of {length} tokens")
        marked[start:end] = 1.0
    return marked


def _write(path: Path, scores: Scores) -> None:
    texts = scores.texts
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for place, (name, values) in enumerate(zip(texts.ids, scores.values, strict=True)):
            row = {
                "annotation_id": name,
                "rationales": [{"docid": name, "soft_rationale_predictions": values.tolist()}],
                "classification": texts.classes[texts.predicted[place]],
                "classification_scores": dict(zip(texts.classes, texts.probabilities[place], strict=True)),
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


ERASER = Format("eraser", "ERASER's predictions, one JSON object a line", (".jsonl",), _read, _write)
