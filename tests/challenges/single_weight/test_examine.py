from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import torch
from tests.challenges.undecided import undecided, with_weights

from attentest.challenges.challenge import Examination
from attentest.challenges.single_weight.examine import SingleWeight
from attentest.errors import InputError
from attentest.models.subject import DecodedReading
from attentest.store.findings import Findings
from attentest.store.summary import estimate


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max())
    return e / e.sum()


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    m = (p + q) / 2
    return float(sum((r * np.log(r / m)).sum() for r in (p, q)) / 2)


def without(alpha: np.ndarray, t: int) -> np.ndarray:
    left = np.array([0.0 if i == t else weight for i, weight in enumerate(alpha)])
    return left / left.sum()


CELLS = {
    (True, True): "both_flip",
    (True, False): "only_top_flips",
    (False, True): "only_other_flips",
    (False, False): "neither_flips",
}


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("draw", ["other", "released"])
def test_single_weight_equals_a_loop_that_zeroes_and_renormalises(classes, affine, draw):
    seen = set()
    for seed in range(4):
        examined = undecided(classes, affine=affine, seed=seed)
        head, states = copy.deepcopy(examined.subject.head).double(), examined.reading.states.double()
        for row in SingleWeight(draw).examine(examined).to_pylist():
            i = row["row"]
            alpha, h = examined.weights[i][examined.mask[i]].numpy(), states[i][examined.mask[i]]
            if len(alpha) < 2:
                assert row["not_judged"] == "fewer than two tokens"
                assert row["delta_js"] is row["top_flips"] is row["other"] is None
                continue

            def chances(weights, head=head, h=h):
                return softmax(head(torch.from_numpy(weights) @ h).numpy())

            top, other = int(alpha.argmax()), row["other"]
            assert row["top"] == top
            assert (other != top) if draw == "other" else (1 <= other < len(alpha))
            assert row["weight_difference"] == pytest.approx(alpha[top] - alpha[other])
            assert (row["top_weight"], row["other_weight"]) == pytest.approx((alpha[top], alpha[other]))
            own, by_top, by_other = chances(alpha), chances(without(alpha, top)), chances(without(alpha, other))
            assert row["js_top"] == pytest.approx(divergence(own, by_top), abs=1e-6)
            assert row["js_other"] == pytest.approx(divergence(own, by_other), abs=1e-6)
            assert row["delta_js"] == pytest.approx(row["js_top"] - row["js_other"], abs=1e-12)
            assert row["other_matters_more"] == (row["delta_js"] < 0)
            flips = by_top.argmax() != own.argmax(), by_other.argmax() != own.argmax()
            assert (row["top_flips"], row["other_flips"]) == flips
            assert [name for name in CELLS.values() if row[name]] == [CELLS[flips]]
            seen.add(CELLS[flips])
    assert len(seen) > 2


@pytest.mark.slow
def test_every_other_item_is_drawn_alike_and_the_largest_never():
    examined = undecided(low=5, high=5)
    drawn, top = [], []
    for seed in range(300):
        again = Examination(examined.subject, examined.batch, examined.reading, seed, examined.tokens)
        table = SingleWeight().examine(again)
        drawn.append(table["other"].to_numpy())
        top.append(table["top"].to_numpy())
    drawn, top = np.stack(drawn), np.stack(top)
    assert (drawn != top).all()
    for text in range(drawn.shape[1]):
        counts = np.bincount(drawn[:, text], minlength=5)
        assert counts[top[0, text]] == 0
        # Four binomials of mean 75: none is further off than five standard deviations.
        assert np.abs(np.delete(counts, top[0, text]) - 75).max() < 5 * 7.5


def test_the_released_draw_takes_the_largest_itself_at_times_and_the_first_item_never():
    examined = undecided(low=4, high=4)
    largest = first = 0
    for seed in range(60):
        again = Examination(examined.subject, examined.batch, examined.reading, seed, examined.tokens)
        for row in SingleWeight("released").examine(again).to_pylist():
            first += row["other"] == 0
            if row["other"] == row["top"]:
                largest += 1
                assert row["delta_js"] == row["weight_difference"] == 0
    assert first == 0
    assert largest > 20


def test_what_is_found_does_not_depend_on_the_batch_around_an_instance():
    together = {row["row"]: row for row in SingleWeight().examine(undecided(3, low=2)).to_pylist()}
    for i in (1, 5, 7):
        (alone,) = SingleWeight().examine(undecided(3, low=2, rows=[i])).to_pylist()
        assert alone == {
            name: pytest.approx(value, abs=1e-6) if isinstance(value, float) else value
            for name, value in together[i].items()
        }


def test_a_text_whose_weight_lies_on_one_item_is_not_judged():
    examined = undecided(low=3)
    peaked = torch.zeros_like(examined.weights)
    peaked[:, 2] = 1.0
    for row in SingleWeight().examine(with_weights(examined, peaked)).to_pylist():
        assert row["not_judged"] == "no weight left on any token"
        assert row["delta_js"] is None


def test_removing_an_item_without_weight_changes_nothing():
    examined = undecided(low=2, high=2)
    halves = torch.zeros_like(examined.weights)
    halves[:, 1:3] = torch.tensor([0.5, 0.5])
    equal = dataclasses.replace(examined.reading, per_token=torch.ones_like(examined.reading.per_token))
    flat = Examination(examined.subject, examined.batch, equal, 0, examined.tokens)
    for row in SingleWeight().examine(with_weights(flat, halves)).to_pylist():
        assert row["delta_js"] == row["js_top"] == 0
        assert row["neither_flips"]
        assert row["weight_difference"] == 0


def test_the_cells_of_the_square_add_up_to_one_and_have_intervals():
    challenge = SingleWeight()
    table = challenge.examine(undecided(3, low=2))
    found = Findings("single_weight", challenge.measures, table)
    cells = [estimate(found, name) for name in ("both_flip", "only_top_flips", "only_other_flips", "neither_flips")]
    assert sum(cell.value for cell in cells) == pytest.approx(1)
    assert all(cell.low <= cell.value <= cell.high and cell.method == "Wilson 95 %" for cell in cells)


def test_a_head_that_is_not_affine_is_reread():
    examined = undecided(low=2)
    given = (getattr(examined.reading, name) for name in ("logits", "weights", "mask", "states", "embeddings"))
    bent = DecodedReading(*given, lambda context: examined.subject.head(context).tanh())
    changed = Examination(examined.subject, examined.batch, bent, 0, examined.tokens)
    straight, other = (SingleWeight().examine(one).to_pylist() for one in (examined, changed))
    assert [row["top_flips"] for row in straight] == [row["top_flips"] for row in other]
    assert any(abs(a["js_top"] - b["js_top"]) > 1e-3 for a, b in zip(straight, other, strict=True))


def test_wrong_draws_are_refused():
    with pytest.raises(InputError, match=r"draw='first' must be one of other, released\."):
        SingleWeight("first")
