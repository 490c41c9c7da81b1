"""How long an examination will take, on made-up costs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import classifier, made_up_split

from attentest.data.batches import bucketed
from attentest.models.networks.classifier import Architecture
from attentest.runs.examination.pace import MOST, Forecast, Pace

POSITIONS = 4096.0
SIZES = np.random.default_rng(0).integers(5, 600, 400).astype(float)


def batches() -> list[np.ndarray]:
    """Texts of like length, the two small ones first, then the longest to the shortest."""
    order, parts, start = np.argsort(SIZES), [], 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * SIZES[order[end]] <= POSITIONS:
            end += 1
        parts.append(order[start:end])
        start = end
    lower, upper = len(parts) // 4, 3 * len(parts) // 4
    cut = len(parts[lower]) // 3
    short, long = parts[lower][:cut], parts[upper][-1:]
    parts[lower], parts[upper] = parts[lower][cut:], parts[upper][:-1]
    return [long, short, *reversed(parts)]


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 2.7])
@pytest.mark.parametrize("fixed", [0.0, 2.0])
@pytest.mark.parametrize("wide", [0.0, 5.0])
def test_after_two_small_batches_the_rest_is_foretold_within_a_factor_of_two_and_so_it_stays(power, fixed, wide):
    chance = np.random.default_rng(1)

    def cost(texts: np.ndarray) -> float:
        each = (SIZES[texts] ** power).sum() + wide * SIZES[texts].max() ** power
        return float(1e-4 * each * chance.uniform(0.8, 1.25)) + fixed

    costs = [cost(part) for part in batches()]
    forecast = Forecast(SIZES, np.ones(400, dtype=int), POSITIONS, workers=2)
    forecast.observe(shortest := np.array([SIZES.argmin()]), {"": cost(shortest)})
    for done, (part, seconds) in enumerate(zip(batches(), costs, strict=True), start=1):
        forecast.add(part, {"": 0.1 * seconds, "dear": 0.9 * seconds})
        left = sum(costs[done:]) / 2
        if done >= 2 and left > 0.05 * sum(costs):
            assert left / 2 <= forecast.left() <= 2 * left, (done, left, forecast.left())
    assert forecast.left() == 0


def test_by_the_count_of_texts_the_same_would_be_wrong_by_far():
    """What a bar says that counts texts, the shortest first, and why costs are weighed."""
    costs = 1e-4 * np.sort(SIZES) ** 2
    left = costs[40:].sum()
    assert costs[:40].sum() / 40 * 360 < left / 100
    pace = Pace.of([np.sort(SIZES)[:10], np.sort(SIZES)[30:40]], [costs[:10].sum(), costs[30:40].sum()])
    assert pace.each(np.sort(SIZES)[40:], np.ones(360), POSITIONS).sum() == pytest.approx(left, rel=0.3)


def test_what_workers_are_at_is_not_foretold_again():
    forecast = Forecast(np.full(10, 20.0), np.ones(10, dtype=int), 40, workers=2)
    forecast.add(np.arange(2), {"": 4.0})
    assert forecast.left() == pytest.approx(8.0)
    assert forecast.left(elapsed=4.0) == pytest.approx(6.0)


def test_what_was_examined_before_is_neither_counted_nor_foretold():
    forecast = Forecast(np.full(10, 20.0), np.ones(10, dtype=int), 40, workers=1)
    forecast.skip(np.arange(4))
    forecast.add(np.array([4, 5]), {"one": 1.0, "other": 3.0})
    assert forecast.left() == pytest.approx(8.0)
    assert forecast.left(without={"other": None}) == pytest.approx(2.0)


def test_the_line_names_what_takes_longest():
    forecast = Forecast(np.full(100, 20.0), np.ones(100, dtype=int), 40, workers=1)
    forecast.add(np.arange(2), {"": 0.1, "certificates": 6.0, "faithfulness": 3.0, "uniform": 0.2})
    line = forecast.line()
    assert line.startswith("Examining 98 more texts will take about 8 min, of which certificates 65%, faithfulness 32%")
    assert "uniform" not in line
    assert "--time" in line


def test_a_translation_counts_by_its_steps():
    forecast = Forecast(np.full(4, 20.0), np.array([1, 2, 3, 10]), 40, workers=1)
    forecast.add(np.array([0, 1]), {"": 3.0})
    assert forecast.left() == pytest.approx(13.0)


@pytest.mark.parametrize(("count", "high"), [(9, 5), (40, 12), (200, 30)])
def test_trials_are_two_small_batches_and_every_text_stays_in_one_batch(count, high):
    _, encoded = classifier(Architecture(embedding=4), made_up_split(count, 1, high))
    (plain,), (tried,) = (list(bucketed(encoded, tokens=200, trials=trials)) for trials in (False, True))
    rows = [row for batch in tried for row in batch.rows.tolist()]
    assert sorted(rows) == list(range(count))
    assert len(tried) <= len(plain) + 2
    short, long = tried[-2:]
    assert len(long) <= max(1, max(map(len, plain)) // 8)
    assert len(short) <= max(1, max(map(len, plain)) // 3)
    assert short.text.lengths.max() <= long.text.lengths.min()


def test_challenges_are_called_by_their_names_not_by_those_of_their_files() -> None:
    forecast = Forecast(np.full(10, 5.0), np.ones(10, dtype=int), 20.0, 1)
    forecast.add(np.arange(4), {"adversary-steps=100-8f7502": 9.0, "uniform": 1.0})
    assert "of which adversary 90%" in forecast.line(called={"adversary-steps=100-8f7502": "adversary"})


def test_the_cost_of_telling_does_not_grow_with_the_batches() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(3, 200, 20_000).astype(float)
    forecast = Forecast(sizes, np.ones(len(sizes), dtype=int), 4096.0, 1)
    for start in range(0, 19_000, 20):
        texts = np.arange(start, start + 20)
        forecast.add(texts, {"": 0.1 + float((1e-4 * sizes[texts] ** 1.5).sum())})
    assert len(forecast.seen) <= MOST
    left = 0.1 * 1000 * sizes.mean() / 4096 + float((1e-4 * sizes[19_000:] ** 1.5).sum())
    assert left / 2 <= forecast.left() <= 2 * left
