from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from tests.challenges.undecided import undecided, with_weights

from attentest.challenges.challenge import Examination
from attentest.challenges.flip_sets.examine import RANDOM, SCORED, SMALLEST, FlipSets
from attentest.errors import InputError
from attentest.measures.chance import uniforms
from attentest.models.subject import DecodedReading
from attentest.store.findings import Findings
from attentest.store.summary import estimate

DRAWS = tuple(f"{RANDOM}_{i}" for i in range(1, 6))
EVERY = (*SCORED, *DRAWS, SMALLEST, RANDOM)


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def by_text(challenge: FlipSets, examined: Examination) -> dict[int, dict[str, dict]]:
    found: dict[int, dict[str, dict]] = {}
    for row in challenge.examine(examined).to_pylist():
        found.setdefault(row["row"], {})[row["order"]] = row
    return found


class Text:
    """One text, removed from item by item and set by set, as slowly as the definition says."""

    def __init__(self, examined: Examination, i: int) -> None:
        linear = examined.subject.head.linear
        self.alpha = examined.weights[i].numpy()[examined.mask[i].numpy()]
        self.h = examined.reading.states[i].double().numpy()[examined.mask[i].numpy()]
        self.w, self.b = linear.weight.detach().double().numpy(), linear.bias.detach().double().numpy()
        if len(self.w) == 1:
            self.w, self.b = np.stack([0 * self.w[0], self.w[0]]), np.array([0.0, self.b[0]])
        self.y = int(self.logits(self.alpha).argmax())

    def logits(self, weights: np.ndarray) -> np.ndarray:
        return self.w @ (weights @ self.h) + self.b

    def flips(self, gone, *, emptied: bool = False) -> bool:
        left = np.array([0.0 if t in gone else weight for t, weight in enumerate(self.alpha)])
        if left.sum() == 0:
            return emptied and int(self.b.argmax()) != self.y
        return int(self.logits(left / left.sum()).argmax()) != self.y

    def order(self, scores: np.ndarray, **options: bool) -> int | None:
        ranked = sorted(range(len(scores)), key=lambda t: (-scores[t], t))
        return next((k for k in range(1, len(scores) + 1) if self.flips(ranked[:k], **options)), None)

    def smallest(self, **options: bool) -> int | None:
        every = range(len(self.alpha))
        sizes = range(1, len(self.alpha) + 1)
        return next((k for k in sizes if any(self.flips(s, **options) for s in itertools.combinations(every, k))), None)

    def slope(self, *, folded: bool = False) -> np.ndarray:
        """∂p/∂α_t of the decided class by the softmax's own derivative, at the weights as they are."""
        e = np.exp(self.logits(self.alpha) - self.logits(self.alpha).max())
        p = e / e.sum()
        z = self.h @ self.w.T + (self.b if folded else 0.0)
        return p[self.y] * (z[:, self.y] - z @ p)

    def scores(self, examined: Examination, i: int, *, folded: bool = False) -> dict[str, np.ndarray]:
        mask = examined.mask[i : i + 1]
        drawn = uniforms(examined.batch.keys[i : i + 1], 5, mask.shape[1], examined.seed, "flip_sets", mask)[0]
        slope = self.slope(folded=folded)
        random = {name: one[mask[0]].numpy() for name, one in zip(DRAWS, drawn, strict=True)}
        return {"attention": self.alpha, "gradient": slope, "gradient_x_attention": self.alpha * slope, **random}


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("options", [{}, {"bias": "folded"}, {"emptied": "bias"}])
def test_orders_and_smallest_sets_equal_loops_over_items_and_over_all_sets(classes, affine, options):
    examined = undecided(classes, affine=affine)
    flipped = set()
    for i, rows in by_text(FlipSets(**options), examined).items():
        assert tuple(rows) == EVERY
        text = Text(examined, i)
        size, emptied = len(text.alpha), options.get("emptied") == "bias"
        if size < 2:
            assert all(row["not_judged"] == "fewer than two tokens" for row in rows.values())
            assert all(row["removed"] is row["never"] is row["items"] is row["proved"] is None for row in rows.values())
            continue
        smallest = text.smallest(emptied=emptied)
        every = text.scores(examined, i, folded=options.get("bias") == "folded")
        expected = {name: text.order(scores, emptied=emptied) for name, scores in every.items()}
        found = rows[SMALLEST]["removed"]
        if affine:
            assert rows[SMALLEST]["proved"]
            assert found == smallest
        else:
            # Found by trying orders: it is a set that flips, and no smaller than the smallest.
            assert (found is None) or found >= smallest
            assert rows[SMALLEST]["proved"] == (found == 1)
        assert rows[SMALLEST]["items"] is None if found is None else len(rows[SMALLEST]["items"]) == found
        assert found is None or text.flips(rows[SMALLEST]["items"], emptied=emptied)
        for name, removed in (expected | {SMALLEST: found}).items():
            row = rows[name]
            assert row["removed"] == removed, name
            assert row["flip_fraction"] == (None if removed is None else pytest.approx(removed / size))
            assert row["until_flip"] == pytest.approx(1 if removed is None else removed / size)
            assert row["never"] == (removed is None)
            assert row["times_smallest"] == (None if removed is None else pytest.approx(removed / found))
            counted = None if found is None else pytest.approx((removed or size) / found)
            assert row["times_smallest_counted"] == counted
            assert row["not_judged"] is None
            if removed is not None and name in expected and not options:
                ranked = sorted(range(size), key=lambda t: (-every[name][t], t))
                assert row["mass"] == pytest.approx(text.alpha[ranked[: int(removed)]].sum(), abs=1e-6)
            flipped.add((name, removed is not None))
    assert len({name for name, turned in flipped if turned}) == len(EVERY) - 1


def test_the_random_row_is_the_mean_of_the_draws():
    for rows in by_text(FlipSets(), undecided(3, low=2)).values():
        for column in ("removed", "flip_fraction", "until_flip", "never", "mass", "times_smallest"):
            values = [rows[name][column] for name in DRAWS if rows[name][column] is not None]
            assert rows[RANDOM][column] == (pytest.approx(np.mean(values)) if values else None)


def test_for_two_classes_weight_times_gradient_with_the_bias_folded_in_is_the_smallest_set():
    missed = dict.fromkeys(("folded", "unfolded"), 0)
    for seed, shift in enumerate((-4.0, -1.5, 1.5, 4.0)):
        # The paper's gradient does not see the bias.
        examined = undecided(low=3, bias=shift, seed=seed)
        for bias in missed:
            for rows in by_text(FlipSets(bias=bias), examined).values():
                missed[bias] += rows["gradient_x_attention"]["removed"] != rows[SMALLEST]["removed"]
    assert missed["folded"] == 0
    assert missed["unfolded"] > 0


@pytest.mark.parametrize("classes", [2, 4])
def test_no_order_needs_fewer_than_the_smallest_set_and_what_never_flips_never_flips_in_any_order(classes):
    for rows in by_text(FlipSets(draws=9), undecided(classes, low=2)).values():
        if rows[SMALLEST]["never"]:
            assert all(row["never"] == 1 for row in rows.values())
            assert all(row["times_smallest"] is row["times_smallest_counted"] is None for row in rows.values())
        for row in rows.values():
            assert row["times_smallest"] is None or row["times_smallest"] >= 1
            assert row["times_smallest_counted"] is None or row["times_smallest_counted"] >= 1


@pytest.mark.parametrize("classes", [2, 4])
def test_rereading_every_set_finds_what_the_sums_find(classes):
    straight, decoded = (by_text(FlipSets(), undecided(classes, low=2, affine=affine)) for affine in (True, False))
    for i, rows in straight.items():
        for name in (*SCORED, *DRAWS):
            assert rows[name]["removed"] == decoded[i][name]["removed"]


def test_a_bent_head_is_searched_and_nothing_is_called_proved_that_is_not():
    examined = undecided(3, low=3)
    model, given = examined.subject, examined.reading

    def decode(context):
        return model.head(context).sin()

    fields = (given.weights, given.mask, given.states, given.embeddings)
    bent = DecodedReading(decode((given.weights[:, None] @ given.states)[:, 0]), *fields, decode)
    changed = Examination(model, examined.batch, bent, 0, examined.tokens)
    for i, rows in by_text(FlipSets(), changed).items():
        row = rows[SMALLEST]
        assert row["proved"] == (row["removed"] == 1)
        if row["removed"] is None:
            continue
        real = examined.mask[i].nonzero()[:, 0].tolist()
        left = changed.weights[i].clone()
        left[[real[t] for t in row["items"]]] = 0.0
        logits = bent.reread((left / left.sum())[None, None].repeat(len(changed.batch), 1, 1))[i, 0]
        assert logits.argmax() != changed.logits[i].argmax()
        assert all(row["removed"] <= (rows[name]["removed"] or np.inf) for name in (*SCORED, *DRAWS))


def test_items_without_weight_are_not_counted_and_a_text_without_any_weight_left_has_not_flipped():
    examined = undecided(2, low=6, high=6)
    sparse = torch.zeros_like(examined.weights)
    sparse[:, [2, 4]] = torch.tensor([0.7, 0.3]).double()
    for i, rows in by_text(FlipSets(), with_weights(examined, sparse)).items():
        text = Text(with_weights(examined, sparse), i)
        for name in (*SCORED, *DRAWS, SMALLEST):
            assert rows[name]["removed"] in (None, 1.0)
        assert rows[SMALLEST]["removed"] == text.smallest()
        assert rows[SMALLEST]["items"] in (None, [1], [3])
        assert rows["attention"]["flip_fraction"] in (None, pytest.approx(1 / 6))
    one = torch.zeros_like(examined.weights)
    one[:, 3] = 1.0
    for rows in by_text(FlipSets(), with_weights(examined, one)).values():
        assert all(row["never"] == 1 and row["not_judged"] is None for row in rows.values())


def test_a_tie_keeps_the_decision():
    examined = undecided(2, low=4, high=4)
    z = torch.zeros_like(examined.reading.per_token)
    z[:, 1:5, 1] = torch.tensor([2.0, -1.0, -1.0, 1.0])
    even = examined.mask.double() / 4
    reading = dataclasses.replace(examined.reading, per_token=z, states=torch.zeros_like(examined.reading.states))
    for rows in by_text(FlipSets(), with_weights(Examination(*_of(examined, reading)), even)).values():
        # Without the first item the rest is level for a while: −1, −1, 1; without the last one too it is not.
        assert rows["attention"]["removed"] == 1
        assert rows[SMALLEST]["removed"] == 1
    z[:, 1:5, 1] = torch.tensor([2.0, -1.0, -1.0, 2.0])
    for rows in by_text(FlipSets(), with_weights(Examination(*_of(examined, reading)), even)).values():
        # One of the twos gone leaves 2 − 1 − 1 = 0, a tie.
        assert rows[SMALLEST]["removed"] == 2
        assert rows[SMALLEST]["items"] == [0, 3]


def _of(examined: Examination, reading) -> tuple:
    return examined.subject, examined.batch, reading, examined.seed, examined.tokens


def test_what_is_found_does_not_depend_on_the_batch_around_an_instance():
    challenge = FlipSets()
    together = by_text(challenge, undecided(3, low=2))
    for i in (1, 5, 7):
        for order, row in by_text(challenge, undecided(3, low=2, rows=[i]))[i].items():
            for name, value in row.items():
                other = together[i][order][name]
                assert value == (pytest.approx(other, abs=1e-5) if isinstance(value, float) else other), name


def test_of_pairs_every_text_tells_its_own_bias():
    examined = undecided(3, low=2, bias=1.0)
    pairs = dataclasses.replace(examined.batch, second=examined.batch.text)
    both = Examination(examined.subject, pairs, examined.reading, 0, examined.tokens)
    for options in ({}, {"emptied": "bias"}):
        one, other = (FlipSets(**options).examine(given).to_pylist() for given in (examined, both))
        for row, again in zip(one, other, strict=True):
            assert row == {k: pytest.approx(v) if isinstance(v, float) else v for k, v in again.items()}


def test_both_papers_conventions_are_measures_of_the_same_rows():
    challenge = FlipSets()
    examined = undecided(2, low=2)
    found = Findings("flip_sets", challenge.measures, challenge.examine(examined))
    rows = [row for row in found.table.to_pylist() if row["order"] == "attention"]
    fractions = [row["removed"] / row["tokens"] for row in rows if row["never"] == 0]
    never = sum(row["never"] for row in rows)
    assert never > 0
    dropped, counted, share = (estimate(found, f"attention.{name}") for name in ("dropped", "counted", "never"))
    assert dropped.value == pytest.approx(np.mean(fractions))
    assert dropped.judged == len(fractions)
    assert dropped.not_judged == never
    assert counted.value == pytest.approx((sum(fractions) + never) / len(rows))
    assert counted.judged == len(rows)
    assert share.value == pytest.approx(never / len(rows))
    assert share.method == "Wilson 95 %"


@pytest.mark.parametrize(
    ("given", "said"),
    [({"draws": 0}, "at least 1"), ({"bias": "none"}, "unfolded, folded"), ({"emptied": "x"}, "undecided, bias")],
)
def test_wrong_parameters_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        FlipSets(**given)
