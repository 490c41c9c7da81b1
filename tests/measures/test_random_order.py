from __future__ import annotations

import itertools

import pytest
import torch
from sklearn.metrics import average_precision_score

from attentest.measures.random_order import expected_average_precision


@pytest.mark.slow
@pytest.mark.parametrize(("relevant", "total"), [(1, 1), (1, 4), (2, 5), (3, 6), (6, 6), (1, 7)])
def test_the_expected_average_precision_is_the_mean_over_every_order(relevant, total):
    labels = [1] * relevant + [0] * (total - relevant)
    scores = range(total, 0, -1)
    orders = list(itertools.permutations(labels))
    mean = sum(average_precision_score(order, list(scores)) for order in orders) / len(orders)
    found = expected_average_precision(torch.tensor([relevant]), torch.tensor([total]))
    assert float(found) == pytest.approx(mean)


def test_instances_of_other_lengths_do_not_matter():
    together = expected_average_precision(torch.tensor([1, 2, 3]), torch.tensor([4, 30, 7]))
    alone = [
        float(expected_average_precision(torch.tensor([r]), torch.tensor([t]))) for r, t in ((1, 4), (2, 30), (3, 7))
    ]
    assert together.tolist() == pytest.approx(alone)
