from __future__ import annotations

import pytest
import torch

from attentest.measures.adversary.neighbourhood import Neighbourhood
from attentest.measures.divergence import total_variation


def test_a_segment_is_followed_until_the_prediction_changes_too_much() -> None:
    alpha = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
    z = torch.tensor([[[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]]], dtype=torch.float64)
    place = Neighbourhood.of(alpha, z, torch.ones(1, 2, dtype=torch.bool), 0.05)
    goals = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.501, 0.499]]], dtype=torch.float64)
    found = place.pulled(alpha[:, None], goals)
    change = total_variation((found @ z).softmax(-1), place.predicted[:, None])[0]
    assert change.tolist()[:2] == pytest.approx([0.05, 0.05], abs=1e-9)
    assert (change <= 0.05).all()
    assert torch.equal(found[0, 2:], goals[0, 2:])
    assert place.divergence(goals).isinf().tolist() == [[True, True, False, False]]
    assert torch.equal(place.best(torch.cat([goals, found], 1)), place.best(found))
