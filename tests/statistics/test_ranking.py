from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attentest.statistics.bootstrap import bootstrap_mean, resampled_means
from attentest.statistics.ranking import dependence, rank_methods, tau_b_of_rows


def made_up(count: int = 200, seed: int = 0, **shifts: float) -> dict[str, np.ndarray]:
    """Values that share most of their noise, as scores of the same texts do."""
    rng = np.random.default_rng(seed)
    text = rng.normal(0, 1, count)
    return {name: text + shift + rng.normal(0, 0.1, count) for name, shift in shifts.items()}


def test_methods_are_ranked_by_their_means_with_the_same_interval_as_a_mean_alone():
    values = made_up(a=0.1, b=0.3, c=0.0)
    ranking = rank_methods(values)
    assert [standing.name for standing in ranking.standings] == ["b", "a", "c"]
    assert [standing.rank for standing in ranking.standings] == [1, 2, 3]
    for standing in ranking.standings:
        assert standing.mean == pytest.approx(bootstrap_mean(values[standing.name]), abs=1e-6)
        assert standing.rank_low <= standing.rank <= standing.rank_high


def test_pairing_tells_apart_what_intervals_of_means_do_not():
    ranking = rank_methods(made_up(a=0.1, b=0.0))
    assert ranking["a"].mean.low < ranking["b"].mean.high
    assert ranking.told_apart("a", "b") == 1
    assert ranking.told_apart("b", "a") == -1
    assert ranking.better["a", "b"] > 0.99
    assert ranking["a"].rank_high == 1


def test_equals_share_a_group_and_a_rank_interval():
    ranking = rank_methods(made_up(a=0.5, b=0.5005, c=0.0))
    assert ranking["a"].group == ranking["b"].group == 1
    assert ranking["c"].group == 2
    assert (ranking["a"].rank_low, ranking["a"].rank_high) == (1, 2)
    assert (ranking["c"].rank_low, ranking["c"].rank_high) == (3, 3)


def test_a_method_is_not_told_from_itself():
    values = made_up(a=0.0)
    ranking = rank_methods({"a": values["a"], "same": values["a"]})
    assert ranking.told_apart("a", "same") == 0
    assert ranking.better["a", "same"] == 0.5


def test_one_instance_tells_nothing_apart():
    ranking = rank_methods({"a": [1.0], "b": [0.0]})
    assert ranking.told_apart("a", "b") == 0
    assert ranking["b"].group == 1


def test_instances_without_a_value_for_every_method_are_left_out():
    values = made_up(a=0.1, b=0.0)
    values["a"][:50] = np.nan
    ranking = rank_methods(values)
    assert ranking.judged == 150
    assert ranking["b"].mean.value == pytest.approx(values["b"][50:].mean())


@pytest.mark.parametrize("values", [{"a": [1.0], "b": [1.0, 2.0]}, {"a": [np.nan], "b": [1.0]}])
def test_what_cannot_be_paired_is_refused(values):
    with pytest.raises(ValueError, match="instance"):
        rank_methods(values)


def test_intervals_hold_for_all_pairs_at_once_about_as_often_as_they_say():
    """Ten methods without any difference: a single wrong pair counts as a miss."""
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(100):
        ranking = rank_methods({str(i): rng.normal(size=120) for i in range(10)}, resamples=400)
        misses += any(ranking.told_apart(str(i), str(j)) for i, j in itertools.combinations(range(10), 2))
    assert misses <= 13  # 5 are expected


def test_differences_equal_a_loop_over_resamples():
    values = made_up(40, a=0.1, b=0.0, c=0.05)
    ranking, sample = rank_methods(values), np.stack(list(values.values()), axis=1)
    drawn = resampled_means(sample)
    names = list(values)
    for i, j in itertools.permutations(range(3), 2):
        wins = [1.0 if row[i] > row[j] else 0.5 if row[i] == row[j] else 0.0 for row in drawn]
        assert ranking.better[names[i], names[j]] == pytest.approx(np.mean(wins))
        found = ranking.differences[names[i], names[j]]
        assert found.value == pytest.approx(sample[:, i].mean() - sample[:, j].mean())
        assert found.low <= found.value <= found.high


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 60), st.lists(st.sampled_from([0.0, 0.02, 0.05, 0.3]), min_size=2, max_size=6), st.integers(0, 9))
def test_ranks_a_method_may_have_follow_from_who_is_surely_better_or_worse(count, shifts, seed):
    values = made_up(count, seed, **{f"m{i}": shift for i, shift in enumerate(shifts)})
    ranking = rank_methods(values, resamples=200)
    for one in ranking.standings:
        others = [ranking.differences[one.name, other] for other in values if other != one.name]
        assert one.rank_low == 1 + sum(difference.high < 0 for difference in others)
        assert one.rank_high == len(values) - sum(difference.low > 0 for difference in others)
        assert one.rank_low <= one.rank <= one.rank_high


def test_the_same_way_twice_keeps_every_conclusion():
    values = made_up(a=0.4, b=0.2, c=0.0)
    found = dependence(values, values)
    assert found.tau.value == found.tau.low == 1
    assert found.reversed == found.lost == ()
    assert found.kept == 3


def test_conclusions_that_turn_or_are_lost_are_named():
    first, second = made_up(a=0.4, b=0.2, c=0.0), made_up(seed=1, a=0.2, b=0.4, c=0.2)
    found = dependence(first, second)
    assert found.reversed == (("a", "b"),)
    assert found.lost == (("a", "c"),)
    assert found.kept == 1
    assert found.tau.value < 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
def test_tau_of_methods_equals_scipy(pairs):
    x, y = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    expected = stats.kendalltau(x, y).statistic
    assert tau_b_of_rows(x[None], y[None])[0] == pytest.approx(expected, nan_ok=True)
