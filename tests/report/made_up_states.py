"""Made-up findings of challenges that look at single states: what each alone predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.challenges.token_predictions.examine import BINS, TokenPredictions

Row = dict[str, Any]

MEASURES = {"token_predictions": TokenPredictions().measures}
NUMBERS = {"token_predictions": ("total", "mean", "deciding", "probability")}


def states(text: Row) -> dict[str, list[Row]]:
    """What the states of one text say, from the logits that they really have."""
    return {"token_predictions": [_alone(text)]}


def _alone(text: Row) -> Row:
    base = {name: text[name] for name in ("id", "predicted")} | {"tokens": len(text["tokens"]), "not_judged": None}
    logits, predicted = np.asarray(text["token_logits"]), text["predicted"]
    powers = np.exp(logits - logits.max(1, keepdims=True))
    every = powers / powers.sum(1, keepdims=True)
    if text["id"].endswith("7"):
        base |= {"words": text["tokens"], "alone": every}
    if not text["correct"]:
        return base | {"not_judged": "predicted wrongly"}
    alone = every[:, predicted]
    return base | {
        "total": alone.sum(),
        "mean": alone.mean(),
        "deciding": float((logits.argmax(1) == predicted).mean()),
        "probability": float(text["probabilities"][predicted]),
        "histogram": np.histogram(alone, BINS, (0, 1))[0],
    }
