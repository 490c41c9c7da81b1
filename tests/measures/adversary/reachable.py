"""Attention that keeps a prediction within ε, found by a dense search that knows nothing of slabs or corners."""

from __future__ import annotations

import numpy as np


def reachable(
    alpha: np.ndarray, z: np.ndarray, epsilon: float, rng: np.random.Generator, count: int = 400, rounds: int = 4
) -> np.ndarray:
    """Many weights whose prediction is within ε of that of alpha.

    From points within ε, at first alpha itself, one goes towards tokens, pairs and mixtures until the edge, and then
    on from there or from somewhere on the way.
    """
    own = _softmax(alpha @ z)

    def inside(weights: np.ndarray) -> np.ndarray:
        return np.abs(_softmax(weights @ z) - own).sum(-1) / 2 <= epsilon

    here, found = np.tile(alpha, (count, 1)), [alpha[None]]
    for _ in range(rounds):
        goal = rng.dirichlet(np.full(len(alpha), 0.2), count)
        goal[: count // 4] = np.eye(len(alpha))[rng.integers(len(alpha), size=count // 4)]
        near, far = np.zeros((count, 1)), np.ones((count, 1))
        near[inside(goal)] = 1.0
        for _ in range(40):
            middle = (near + far) / 2
            kept = inside(here + (goal - here) * middle)[:, None]
            near, far = np.where(kept, middle, near), np.where(kept, far, middle)
        edge = here + (goal - here) * near
        found.append(edge)
        here = np.where(rng.random((count, 1)) < 0.5, edge, here + (edge - here) * rng.random((count, 1)))
        here = np.where(inside(here)[:, None], here, alpha)
    every = np.concatenate(found)
    return every[inside(every)]


def _softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)
