"""Weights over heads, learnt from ablations of other questions (AT2, Cohen-Wang et al. 2025).

An ablation's log-probability is predicted by the attention on the items that are kept, every head with a weight of its
own; the weights are those of a ridge regression whose strength is chosen by cross-validation. Values are centred and
scaled question by question, because a score has to order what happens within a question. Questions are scored by
weights that were learnt without them.
"""

from __future__ import annotations

import numpy as np

from attentest.sources.judging.record import Record

__all__ = ["FEWEST", "FOLDS", "fit_heads", "learnt_scores"]

#: Parts of the questions, each scored by what was learnt on the others; and how many questions that takes.
FOLDS, FEWEST = 5, 20
ALPHAS = np.logspace(-2, 4, 13)


def fit_heads(records: list[Record]) -> np.ndarray:
    """A weight for every layer and head, [layer, head]."""
    from sklearn.linear_model import RidgeCV

    rows, values = [], []
    for record in records:
        heads = np.array(record.heads)
        items = heads.shape[-1]
        kept = np.concatenate([np.ones((1, items)), 1 - np.eye(items)])
        told = np.concatenate([[record.whole], record.without])
        spread = told.std()
        if spread > 0:
            each = (kept @ heads.reshape(-1, items).T).astype(float)
            rows.append(each - each.mean(0))
            values.append((told - told.mean()) / spread)
    given = np.concatenate(rows)
    scale = given.std() or 1.0
    fitted = RidgeCV(alphas=ALPHAS, fit_intercept=False).fit(given / scale, np.concatenate(values))
    return np.asarray(fitted.coef_).reshape(np.array(records[0].heads).shape[:2])


def learnt_scores(records: list[Record]) -> list[np.ndarray] | None:
    """Scores of every question's items by weights learnt on other questions; None where there are too few."""
    if len(records) < FEWEST:
        return None
    scores: list[np.ndarray] = [np.zeros(0)] * len(records)
    for fold in range(FOLDS):
        own = range(fold, len(records), FOLDS)
        weights = fit_heads([record for place, record in enumerate(records) if place % FOLDS != fold])
        for place in own:
            scores[place] = np.tensordot(weights, np.array(records[place].heads), 2)
    return scores
