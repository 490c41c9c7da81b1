"""Rules for integrals over [0, 1]: at which points to look, and how much each counts."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

__all__ = ["LOBATTO", "RULES", "quadrature"]

#: By captum's names. (Its riemann_trapezoid has weights that do not add up to one, so it is not here.)
RULES = ("gausslegendre", "riemann_left", "riemann_middle", "riemann_right")

_INNER = (1 - (3 / 7) ** 0.5) / 2
#: Lobatto's five points and their weights: exact up to degree 7, with a point at either end.
LOBATTO = ((0.0, _INNER, 0.5, 1 - _INNER, 1.0), (1 / 20, 49 / 180, 16 / 45, 49 / 180, 1 / 20))


@lru_cache(maxsize=32)
def quadrature(method: str, n_steps: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Points and weights of one of the RULES."""
    if method == "gausslegendre":
        points, weights = np.polynomial.legendre.leggauss(n_steps)
        points, weights = (points + 1) / 2, weights / 2
    else:
        shift = {"riemann_left": 0.0, "riemann_middle": 0.5, "riemann_right": 1.0}[method]
        points, weights = (np.arange(n_steps) + shift) / n_steps, np.full(n_steps, 1 / n_steps)
    return tuple(points.tolist()), tuple(weights.tolist())
