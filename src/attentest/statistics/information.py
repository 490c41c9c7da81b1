"""Mutual information of two labellings of the same things, from how often each pair of labels occurs (nats)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Information", "information", "pointwise"]


class Information(NamedTuple):
    """The plug-in estimate I(X; Y), with the entropies of both labellings; a sample makes it too large."""

    value: float
    #: Less the first term of the bias, (K_xy − K_x − K_y + 1) / 2N for K labels and pairs that occur (Miller & Madow).
    corrected: float
    #: The entropies of the two, corrected for nothing; no information is larger than either.
    first_entropy: float
    second_entropy: float


def information(first: np.ndarray, second: np.ndarray) -> Information:
    """Of labels from 0; not a number where there are none."""
    count = len(first)
    if not count:
        return Information(*[np.nan] * 4)
    one, other, joint = (np.unique(labels, return_counts=True)[1] for labels in (first, second, _pairs(first, second)))
    surplus = (len(joint) - len(one) - len(other) + 1) / (2 * count)
    first_entropy, second_entropy, both = (_entropy(counts) for counts in (one, other, joint))
    value = max(0.0, first_entropy + second_entropy - both)
    return Information(value, value - surplus, first_entropy, second_entropy)


def pointwise(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """ln p(x, y) / p(x) p(y) of every thing: its mean is the mutual information."""
    one, other, joint = (_counted(labels) for labels in (first, second, _pairs(first, second)))
    found: np.ndarray = np.log(joint) + np.log(len(first)) - np.log(one) - np.log(other)
    return found


def _pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A label for every pair of labels."""
    pairs: np.ndarray = first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second
    return pairs


def _counted(labels: np.ndarray) -> np.ndarray:
    """How many things have the label of each."""
    _, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    counted: np.ndarray = counts[place].astype(np.float64)
    return counted


def _entropy(counts: np.ndarray) -> float:
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())
