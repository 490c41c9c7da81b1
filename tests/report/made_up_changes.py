"""Made-up findings of challenges that change texts or embeddings: people's edits, and changes too small to be seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.challenges.edits.examine import ALONE, EXPLANATION, OUTCOMES, PREDICTION, Edits
from attentest.challenges.fragility.examine import WAYS, Fragility

Row = dict[str, Any]

EDITS = Edits(("attention", "gradient", "random"))
FRAGILITY = Fragility(("attention", "gradient"), sizes=(0.01, 0.1))
MEASURES = {"edits": EDITS.measures, "fragility": FRAGILITY.measures}
NUMBERS = {
    "edits": ("average_precision", "auprc", "rank", "hit", "chance", "chance_hit", "flipped", "followed"),
    "fragility": ("spearman", "overlap", "kept", "output_change"),
}


def changes(text: Row) -> dict[str, list[Row]]:
    """What becomes of one text: texts stand in pairs by their numbers, an original and what people made of it."""
    number = int(text["id"][-5:])
    random = np.random.default_rng(number)
    base = {name: text[name] for name in ("id", "predicted")} | {"tokens": len(text["tokens"]), "not_judged": None}
    return {"edits": _edits(random, base, text, number), "fragility": list(_moved(random, base))}


def _edits(random: np.random.Generator, base: Row, text: Row, number: int) -> list[Row]:
    followed = bool(text["correct"])
    base = base | {
        "version": ("original", "revised")[number % 2],
        "pair": number - number % 2,
        "outcome": OUTCOMES[not followed],
        "edited": 1,
    }
    alone = {"not_judged": ALONE} if base["tokens"] == 1 else {}
    said = {} if alone else {"flipped": followed, "followed": followed}
    rows = [base | {"asked": PREDICTION, "explainer": None} | said | alone]
    for explainer in EDITS.explainers:
        found = float(random.beta(3, 2))
        scores = {"average_precision": found, "auprc": found, "rank": 1 - found, "hit": found > 0.5}
        scores |= {"chance": 1 / base["tokens"], "chance_hit": 0.3}
        rows.append(base | {"asked": EXPLANATION, "explainer": explainer} | (alone or scores))
    return rows


def _moved(random: np.random.Generator, base: Row) -> list[Row]:
    rows = []
    for explainer in FRAGILITY.explainers:
        for size in FRAGILITY.sizes:
            for way in WAYS:
                about = base | {"explainer": explainer, "size": f"{size:g}", "way": way}
                if base["tokens"] <= FRAGILITY.top:
                    rows.append(about | {"not_judged": "no more tokens than are compared"})
                    continue
                kept = bool(random.random() < 0.9)
                alike = {"spearman": 1 - 5 * size, "overlap": 1 - 4 * size} if kept else {}
                rows.append(about | alike | {"kept": kept, "output_change": size})
    return rows
