"""Records of a calibration that nobody ran: members whose tests follow the truth about words, or states, or nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

WORLDS = ("world-keyword(outcomes=2)", "world-keyword(outcomes=5)", "world-majority", "world-any", "sst")
#: Measures, what they follow, and how far they scatter around it.
FOLLOWS = {
    "importance.attention.held.delete": ("words", 0.05),
    "importance.attention.held.mask": ("words", 0.05),
    "importance.attention.held.states": ("states", 0.05),
    "importance.attention.one.delete": ("one", 0.1),
    "importance.attention.one.mask": ("one", 0.1),
    "agreement.attention~gradient.captured": ("words", 0.3),
    "agreement.attention~gradient.tau": ("words", 0.5),
    "agreement.attention~leave_one_out.captured": ("words", 0.2),
    "agreement.attention~state_erasure.captured": ("states", 0.1),
    "agreement.attention~state_erasure.tau": ("states", 0.1),
    "permutation.flips": ("nothing", 0.3),
    "permutation.accuracy": ("nothing", 0.3),
    "uniform.flipped": ("nothing", 0.3),
    "adversary.upper": ("nothing", 0.3),
    "faithfulness.attention.normalised_comprehensiveness": ("words", 0.2),
    "faithfulness.attention.sufficiency": ("against words", 0.3),
    "faithfulness.gradient_norm.comprehensiveness": ("nothing", 0.3),
    "importance.deciding.mask": ("deciding", 0.1),
}


def made_up_records(folder: Path, *, mechanisms: int = 16, steps: int = 4, seed: int = 0) -> Path:
    """Write them; half of the mechanisms are aggregators, whose states are right and words wrong."""
    rng = np.random.default_rng(seed)
    (folder / "members").mkdir(parents=True, exist_ok=True)
    count = 0
    for mechanism in range(mechanisms):
        for world in WORLDS[: 3 + mechanism % 3]:
            for step in range(steps):
                record = _record(rng, mechanism, world, step / (steps - 1))
                (folder / "members" / f"{count:04d}.json").write_text(json.dumps(record), encoding="utf-8")
                count += 1
    return folder


def _record(rng: np.random.Generator, mechanism: int, world: str, dial: float) -> dict[str, Any]:
    aggregates = mechanism % 2 == 1
    words = 0.02 + 0.96 * dial
    known = {"words": words, "states": 0.95 if aggregates else words, "one": words * (0.5 if mechanism % 4 else 1)}
    base = {**known, "nothing": rng.random(), "deciding": 2.0, "against words": 1 - words}
    measures = {}
    for name, (follows, scatter) in FOLLOWS.items():
        value = base[follows] + rng.normal(0, scatter)
        measures[name] = [value, value - 0.04, value + 0.04, 100]
    truth = np.clip(words + rng.normal(0, 0.1, 12), -0.2, 1)
    held = [np.clip(truth + rng.normal(0, 0.1, 12), -0.2, 1) for _ in range(2)]
    return {
        "family": "planted" if world == "sst" else "hand-built",
        "mechanism": f"{'gather' if aggregates else 'own'} {mechanism}",
        "world": world,
        "dial": "share",
        "value": dial,
        "seed": 0,
        "classes": 5 if "5" in world else 2,
        "words": float(rng.integers(6, 60)),
        "texts": 100,
        "accuracy": 0.97,
        "truth": {name: [value, 0.01, 100] for name, value in known.items()},
        "measures": measures,
        "explainers": {"attention": words, "gradient": 0.8, "leave_one_out": 0.9},
        "per_text": {
            "truth": [float(value) for value in truth],
            "delete": [None, *map(float, held[0][1:])],
            "mask": [float(value) for value in held[1]],
        },
    }
