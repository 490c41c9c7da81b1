"""What altered weights do to the share of right predictions (Vashishth et al. 2019), against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges import CHALLENGES, rereading
from attentest.challenges.challenge import Examination
from attentest.challenges.companions import Companion
from attentest.measures.chance import permutations, uniforms
from attentest.models.architecture import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.tasks import DEFAULT, THOROUGH

RANDOM = Companion(attention="random")


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def examined(classes: int = 3, low: int = 1, high: int = 9, rows: list[int] | None = None) -> Examination:
    split = made_up_split(24, low, high, classes=classes)
    encoder = ENCODERS.parse("bilstm(hidden=6)")
    model, encoded = classifier(Architecture(encoder, embedding=8), split, classes)
    other, _ = classifier(Architecture(encoder, ATTENTIONS.parse("random"), embedding=8), split, classes, seed=1)
    other.eval()
    model.attention.vector.weight.mul_(20)  # peaked enough for decisions to turn
    model.head.linear.weight.mul_(5)
    batch = whole(encoded) if rows is None else encoded.batch(np.array(rows))
    tokens = pa.concat_arrays(split.table["tokens"].take(pa.array(batch.rows.numpy())).chunks)
    return Examination(model, batch, model.read(batch), 0, tokens, companions={RANDOM: other})


def decided(examination: Examination, i: int, weights: torch.Tensor) -> int:
    every = torch.zeros_like(examination.weights)
    every[i, examination.mask[i]] = weights
    return int(examination.reading.reread(every[:, None])[i, 0].argmax())


@pytest.mark.parametrize("classes", [2, 4])
def test_gained_is_right_under_other_weights_less_right_under_the_own(classes):
    examination = examined(classes)
    mask, keys = examination.mask, examination.batch.keys
    drawn = 1 - uniforms(keys, 10, mask.shape[1], 0, "random_weights", mask)
    tables = {name: CHALLENGES.parse(name).examine(examination).to_pylist() for name in ("uniform", "random_weights")}
    seen = set()
    for i, (even, chance) in enumerate(zip(*tables.values(), strict=True)):
        if even["not_judged"] is not None:
            assert even["gained"] is chance["gained"] is None
            continue
        label, length = int(examination.batch.labels[i]), int(mask[i].sum())
        right = int(examination.reading.predicted[i]) == label
        uniform = decided(examination, i, torch.full((length,), 1 / length, dtype=torch.float64)) == label
        each = [drawn[i, k, mask[i]] for k in range(10)]
        shares = [decided(examination, i, one / one.sum()) == label for one in each]
        assert even["gained"] == uniform - right
        assert (even["decided"] == label) == uniform
        assert even["flipped"] == (even["decided"] != int(examination.reading.predicted[i]))
        assert chance["gained"] == pytest.approx(sum(shares) / 10 - right)
        assert chance["correct_random"] == pytest.approx(sum(shares) / 10)
        seen |= {even["gained"]}
    assert len(seen) > 1


@pytest.mark.parametrize(("low", "high"), [(1, 4), (6, 9)])
def test_permuted_is_right_in_the_share_of_orders_that_keep_the_label(low, high):
    examination = examined(3, low, high)
    rows = CHALLENGES.parse("permutation(draws=20)").examine(examination).to_pylist()
    orders = permutations(examination.batch.keys, 20, examination.mask, 0)
    for i, row in enumerate(rows):
        label, alpha = int(examination.batch.labels[i]), examination.weights[i, examination.mask[i]]
        right = int(examination.reading.predicted[i]) == label
        if row["not_judged"] is not None:
            assert row["gained"] is row["correct"] is row["decided"] is None
            continue
        if row["enumerated"]:
            tried = [alpha[list(order)] for order in itertools.permutations(range(len(alpha)))]
        else:
            tried = [examination.weights[i, order][examination.mask[i]] for order in orders[i]]
        kept = [decided(examination, i, one) for one in tried]
        share = sum(one == label for one in kept) / len(tried)
        listed = int(float(uniforms(examination.batch.keys, 1, 1, 0, "listed")[i, 0, 0]) * len(tried))
        assert row["decided"] == kept[listed if row["enumerated"] else 0]
        assert row["correct"] == right
        assert row["correct_permuted"] == pytest.approx(share)
        assert row["gained"] == pytest.approx(share - right)


def test_a_listed_order_is_any_of_them_and_not_always_the_first():
    examination = examined(3, 4, 4)
    rows = CHALLENGES.parse("permutation").examine(examination).to_pylist()
    assert any(row["decided"] != int(own) for row, own in zip(rows, examination.reading.predicted, strict=True))


@pytest.mark.parametrize("name", ["uniform", "random_weights", "permutation"])
def test_the_memory_of_a_rereading_changes_nothing(name, monkeypatch):
    whole_ = CHALLENGES.parse(name).examine(examined())
    monkeypatch.setattr(rereading, "CELLS", 100)
    parts = CHALLENGES.parse(name).examine(examined())
    for one, other in zip(whole_.to_pylist(), parts.to_pylist(), strict=True):
        assert one == pytest.approx(other, abs=1e-12, nan_ok=True)


@pytest.mark.slow
def test_trained_random_equals_a_loop_and_is_asked_for_by_name():
    challenge = CHALLENGES.parse("trained_random")
    assert challenge.companions == (RANDOM,)
    assert "trained_random" not in (*DEFAULT, *THOROUGH)
    examination = examined()
    for i, row in enumerate(challenge.examine(examination).to_pylist()):
        if row["not_judged"] is not None:
            continue
        alone = examination.companions[RANDOM].read(examination.batch[i : i + 1])
        label = int(examination.batch.labels[i])
        own, other = int(examination.reading.predicted[i]), int(alone.predicted[0])
        assert row["predicted_random"] == other
        assert (row["correct"], row["correct_random"]) == (own == label, other == label)
        assert row["lost"] == (own == label) - (other == label)


@pytest.mark.parametrize("name", ["uniform", "random_weights", "permutation", "trained_random"])
def test_findings_do_not_depend_on_the_batch_around_a_text(name):
    challenge = CHALLENGES.parse(name)
    together = challenge.examine(examined()).to_pylist()
    for row in range(0, 24, 5):
        (alone,) = challenge.examine(examined(rows=[row])).to_pylist()
        for column in ("gained", "lost", "correct", "decided"):
            if column in alone:
                assert alone[column] == together[row][column]
