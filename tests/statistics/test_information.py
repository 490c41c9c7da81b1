from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from attentest.statistics.information import information, pointwise


@pytest.mark.parametrize("seed", range(5))
def test_information_is_that_of_scikit_learn_and_the_mean_of_its_pointwise_value(seed):
    random = np.random.default_rng(seed)
    first = random.integers(0, 12, 400)
    second = np.where(random.random(400) < 0.6, first % 5, random.integers(0, 9, 400))
    found = information(first, second)
    assert found.value == pytest.approx(mutual_info_score(first, second))
    assert pointwise(first, second).mean() == pytest.approx(found.value)
    assert found.value <= min(found.first_entropy, found.second_entropy)
    assert found.first_entropy == pytest.approx(mutual_info_score(first, first))
    assert found.corrected < found.value


def test_the_correction_takes_the_bias_off_labels_that_have_nothing_to_do_with_each_other():
    random = np.random.default_rng(0)
    found = [information(*random.integers(0, 10, (2, 2000))) for _ in range(50)]
    assert np.mean([one.value for one in found]) > 0.015
    assert np.mean([one.corrected for one in found]) == pytest.approx(0, abs=0.002)


def test_of_nothing_it_is_not_a_number():
    assert np.isnan(information(np.zeros(0, int), np.zeros(0, int)).value)
