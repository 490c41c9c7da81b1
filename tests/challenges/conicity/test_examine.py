from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.challenges.test_altered_weights import examined

from attentest.challenges.conicity.examine import Conicity
from attentest.tasks import DEFAULT, THOROUGH


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def test_conicity_equals_a_loop_over_tokens_and_texts_of_one_are_not_judged():
    assert "conicity" not in (*DEFAULT, *THOROUGH)
    examination = examined()
    for i, row in enumerate(Conicity().examine(examination).to_pylist()):
        states = examination.reading.states[i, examination.mask[i]].double().numpy()
        if len(states) < 2:
            assert row["not_judged"] == "fewer than two tokens"
            assert row["conicity"] is row["absolute"] is row["unrelated"] is None
            continue
        mean = states.mean(0)
        cosines = [h @ mean / (np.linalg.norm(h) * np.linalg.norm(mean)) for h in states]
        assert row["conicity"] == pytest.approx(np.mean(cosines))
        assert row["absolute"] == pytest.approx(np.mean(np.abs(cosines)))


def test_equal_states_have_one_and_orthogonal_ones_that_of_unrelated_states():
    examination = examined(low=6, high=6)
    same = torch.ones_like(examination.reading.states)
    apart = torch.zeros_like(same)
    place = examination.mask.nonzero()
    apart[place[:, 0], place[:, 1], torch.arange(6).repeat(len(same))] = 2.0
    for states, column in ((same, None), (apart, "unrelated")):
        rows = Conicity().examine(replace(examination, reading=replace(examination.reading, states=states)))
        for row in rows.to_pylist():
            assert row["conicity"] == pytest.approx(1.0 if column is None else row[column])
