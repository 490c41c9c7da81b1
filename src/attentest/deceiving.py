"""Deceiving: models trained to hide words that they use, their honest twins, and what the verdict says of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attentest.auditing import describe_audit, finish
from attentest.errors import InputError
from attentest.progress import SILENT, Progress
from attentest.report.deception.twins import TERM, Twins
from attentest.training.terms.deceive import HEADS

__all__ = ["CHALLENGES", "deceive"]

#: What decides the verdict, and what tells whether a model hides the marked words and uses them.
CHALLENGES = ("instances(per_token=False)", "importance", "rationale(explainers=('attention',))", "exchange")
#: Models of each weight, and twins: all are described before the first is trained.
MOST_SEEDS = 100


def deceive(
    *,
    weights: Sequence[float] = (0.1, 1.0),
    heads: Sequence[str] = HEADS[:1],
    seeds: int = 5,
    runs: str | Path = "runs",
    device: str = "auto",
    progress: Progress = SILENT,
    **choices: Any,
) -> Twins:
    """Train models to hide the marked words, with every weight λ and seed, and their twins without; audit all of them.

    The marked words are the corpus's own, or those that ``mark`` names. ``heads`` says how the penalties of several
    heads become one, of checkpoints that are fine-tuned. The other choices are those of ``audit``.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"seeds={seeds} must be at least 1, and at most {MOST_SEEDS}.")
    if not weights:
        raise InputError("weights is empty: give at least one weight, as (0.1, 1.0).")
    for weight in weights:
        if not 0 < weight < math.inf:
            raise InputError(f"weights: {weight} must be a number above 0 (--weight).")
    if not heads:
        raise InputError("heads is empty: give 'mean', 'max' or both.")
    for name in ("terms", "seed", "model", "challenges", "thorough"):
        if choices.get(name):
            raise InputError(f"{name}={choices[name]!r} is chosen by deceive itself: leave it out.")
    given = {name: value for name, value in choices.items() if name not in ("terms", "seed", "challenges")}
    every = [(float(weight), way) for weight in sorted(set(weights)) for way in dict.fromkeys(heads)]
    terms = ["", *(f"{TERM}(weight={weight}, heads={way!r})" for weight, way in every)]
    # All are described first, so that what cannot be is refused before anything is trained.
    # With the penalty first: what it lacks is what a person can mend.
    described = {
        (seed, term): describe_audit(**given, terms=term, seed=seed, challenges=CHALLENGES)
        for seed in range(seeds)
        for term in reversed(terms)
    }
    cells = [described[seed, term] for seed in range(seeds) for term in terms]
    folders = []
    for number, run in enumerate(cells, 1):
        progress.say(f"Model {number} of {len(cells)}: {terms[(number - 1) % len(terms)] or 'honest'}, seed {run.seed}")
        folders.append(finish(run, Path(runs), device=device, progress=progress).folder)
    return Twins.of(folders)
