"""Weights of exactly zero are legal: every challenge answers for sparse attention, as loops from its definition do."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau
from tests.challenges.test_pairs import SHORT, WHY_NOT
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.edits.examine import ALONE
from attentest.data.corpus import Split
from attentest.explainers import EXPLAINERS
from attentest.measures.capture import captured
from attentest.models.architecture import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.training.adversarial import Imitation, Recorded

KINDS = ("additive(normaliser='sparsemax')", "dot(normaliser='entmax15')")


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def examination(
    attention: str = KINDS[0], classes: int = 2, count: int = 14, high: int = 7, sharp: float = 1.0
) -> Examination:
    split = made_up_split(count, low=1, high=high, seed=4)
    made = Architecture(ENCODERS.parse("bilstm(hidden=6)"), ATTENTIONS.parse(attention), None, 10)
    model, encoded = classifier(made, split, classes)
    for parameter in model.attention.parameters():
        parameter.mul_(sharp * (6 if attention == KINDS[0] else 25))
    batch = whole(encoded)
    marks = torch.zeros_like(batch.mask)
    marks[batch.mask] = torch.tensor([m for row in split.table["rationale"].to_pylist() for m in row])
    examined = Examination(model, batch, model.read(batch), 0, tokens(split), marks, texts=count, donors=encoded.batch)
    zero = ((examined.weights == 0) & examined.mask).any(-1)
    assert zero.sum() >= 5
    assert sharp < 1 or ((examined.weights == 1).any(-1) & zero).any()
    return examined


def tokens(split: Split) -> pa.Array:
    return pa.concat_arrays(split.table["tokens"].chunks)


def judged(name: str, examined: Examination) -> list[tuple[int, dict]]:
    found = CHALLENGES.parse(name).examine(examined).to_pylist()
    return [(row["row"], row) for row in found if row["not_judged"] is None]


def parts(examined: Examination, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and per-token logits of one text."""
    real = examined.mask[row]
    return examined.weights[row][real].numpy(), examined.reading.token_logits[row][real].double().numpy()


def said(weights: np.ndarray, z: np.ndarray) -> np.ndarray:
    logits = weights @ z
    chances = np.exp(logits - logits.max())
    return chances / chances.sum()


@pytest.mark.slow
@pytest.mark.parametrize(("attention", "classes"), [(KINDS[0], 2), (KINDS[1], 3)])
@pytest.mark.parametrize("name", list(CHALLENGES))
def test_every_challenge_answers_or_says_why_not(name, attention, classes):
    examined = examination(attention, classes)
    challenge = CHALLENGES.parse(SHORT.get(name, name))
    why_not = challenge.objection(examined.subject, has_rationale=True)
    assert why_not == WHY_NOT.get(name)
    if why_not is not None:
        return
    examined.companions = dict.fromkeys(challenge.companions, examined.subject)
    table = challenge.examine(examined)
    assert set(table["row"].to_pylist()) == set(range(14))
    for row in table.to_pylist():
        numbers = [value for value in row.values() if isinstance(value, float)]
        assert all(math.isfinite(value) for value in numbers)
    reasons = {row["not_judged"] for row in table.to_pylist()}
    lacking = {"mutual_information": {"there are no training texts"}, "exchange": {"no marked token"}, "edits": {ALONE}}
    assert reasons == lacking[name] if name in lacking else None in reasons


def test_the_strongest_adversary_may_use_words_without_weight_and_equals_a_loop_over_vertices():
    examined, epsilon = examination(), 0.05
    found = judged("adversary(epsilon=0.05, steps=5)", examined)
    for row, columns in found:
        weights, z = parts(examined, row)
        weights = weights / weights.sum()
        margin, own = z[:, 1] - z[:, 0], said(weights, z)[1]
        edges = [math.log(p / (1 - p)) for p in (own - epsilon, own + epsilon) if 0 < p < 1]
        low = edges[0] if own > epsilon else -math.inf
        high = edges[-1] if own + epsilon < 1 else math.inf
        corners = [np.eye(len(weights))[t] for t in range(len(weights)) if low - 1e-9 <= margin[t] <= high + 1e-9]
        for (a, b), edge in itertools.product(itertools.permutations(range(len(weights)), 2), edges):
            if margin[a] != margin[b] and 0 <= (share := (edge - margin[b]) / (margin[a] - margin[b])) <= 1:
                corners.append(share * np.eye(len(weights))[a] + (1 - share) * np.eye(len(weights))[b])
        best = max(jensenshannon(corner, weights) ** 2 for corner in corners)
        assert columns["lower"] == pytest.approx(best, abs=1e-6)
        assert columns["upper"] == pytest.approx(best, abs=1e-6)
    assert len(found) >= 8


@pytest.mark.parametrize("classes", [2, 3])
def test_flip_sets_equal_a_loop_over_all_sets_of_words_with_weight(classes):
    examined = examination(classes=classes, count=40, sharp=0.25)
    found = {row: c for row, c in judged("flip_sets", examined) if c["order"] == "smallest"}
    sizes = set()
    for row, columns in found.items():
        weights, z = parts(examined, row)
        support = np.flatnonzero(weights)
        decision = said(weights, z).argmax()
        smallest = None
        for size in range(1, len(support)):
            for gone in itertools.combinations(support, size):
                left = weights.copy()
                left[list(gone)] = 0
                logits = left / left.sum() @ z
                if (np.delete(logits, decision) - logits[decision]).max() > 1e-9:
                    smallest = size if smallest is None else smallest
        assert columns["removed"] == smallest
        sizes.add(smallest)
    assert len(sizes) > 1


def test_permutations_equal_a_loop_over_all_of_them():
    examined = examination(high=5, sharp=0.25)
    found = judged("permutation", examined)
    for row, columns in found:
        weights, z = parts(examined, row)
        own = said(weights, z)
        changes = [np.abs(said(np.array(p), z) - own).sum() / 2 for p in itertools.permutations(weights)]
        assert columns["median_change"] == pytest.approx(float(np.median(changes)), abs=1e-5)
    assert len(found) >= 8


def test_one_weight_removed_equals_a_loop_and_where_none_is_left_nothing_is_said():
    examined = examination()
    table = CHALLENGES.parse("single_weight").examine(examined).to_pylist()
    reasons = {row["not_judged"] for row in table}
    assert {"no weight left on any token", None} <= reasons
    for row in table:
        if row["not_judged"] is None:
            weights, z = parts(examined, row["row"])
            for which, column in ((row["top"], "js_top"), (row["other"], "js_other")):
                left = weights.copy()
                left[which] = 0
                change = jensenshannon(said(left / left.sum(), z), said(weights, z)) ** 2
                assert row[column] == pytest.approx(0 if math.isnan(change) else change, abs=1e-6)


def test_erasing_a_state_without_weight_does_nothing_and_the_only_one_leaves_the_classes_level():
    examined = examination()
    scores = EXPLAINERS.parse("state_erasure").scores(examined.subject, examined.batch, examined.reading)
    for row in range(14):
        weights, z = parts(examined, row)
        found = scores[row][examined.mask[row]]
        for t in range(len(weights)):
            left = weights.copy()
            left[t] = 0
            after = np.full(2, 0.5) if left.sum() == 0 else said(left / left.sum(), z)
            assert float(found[t]) == pytest.approx(np.abs(after - said(weights, z)).sum() / 2, abs=1e-6)
            assert weights[t] > 0 or float(found[t]) == 0


def test_rank_correlations_count_ties_of_words_without_weight():
    examined = examination()
    found = [c for _, c in judged("agreement(pairs=('attention~gradient',))", examined)]
    gradient = EXPLAINERS.parse("gradient").scores(examined.subject, examined.batch, examined.reading)
    rows = [row for row, _ in judged("agreement(pairs=('attention~gradient',))", examined)]
    for row, columns in zip(rows, found, strict=True):
        real = examined.mask[row]
        expected = kendalltau(examined.weights[row][real], gradient[row][real]).statistic
        assert columns["tau"] == pytest.approx(expected, abs=1e-6)
    assert len(rows) >= 8


def test_equal_scores_hold_what_they_do_on_average_over_all_orders():
    generator = torch.Generator().manual_seed(0)
    effect = torch.rand(6, 7, generator=generator, dtype=torch.double)
    choosing = torch.tensor([0.6, 0, 0.4, 0, 0, 0, 0]).expand(6, -1).double()
    mask = torch.arange(7) < torch.tensor([7, 6, 5, 4, 3, 2])[:, None]
    found = captured(choosing, effect, mask, 3)
    for row in range(6):
        values, weights = effect[row][mask[row]].numpy(), choosing[row][mask[row]].numpy()
        count = max(1, min(3, len(values) // 2))
        sums = [
            sum(values[t] for t in sorted(order, key=lambda t: -weights[t])[:count])
            for order in itertools.permutations(range(len(values)))
        ]
        best, chance = sum(sorted(values)[-count:]), values.sum() * count / len(values)
        assert float(found[row]) == pytest.approx((np.mean(sums) - chance) / (best - chance), abs=1e-9)


def test_sparse_attention_is_a_gate_only_where_the_rest_does_not_move_it():
    examined = examination()
    rows = judged("gating", examined)
    assert rows
    assert not all(columns["gate"] for _, columns in rows)


@pytest.mark.parametrize("attention", KINDS)
def test_an_adversary_can_be_trained_away_from_zeros(attention):
    examined = examination(attention)
    model, batch = examined.subject, examined.batch
    split = made_up_split(14, low=1, high=7, seed=4)
    _, encoded = classifier(model.architecture, split)
    recorded = Recorded.of(model, encoded)
    with torch.enable_grad():
        objective = Imitation(recorded, 1.0, "jsd", False)
        loss = objective(model.read(batch), batch)
        slopes = torch.autograd.grad(loss.sum(), [p for p in model.parameters() if p.requires_grad], allow_unused=True)
    assert all(slope is None or torch.isfinite(slope).all() for slope in slopes)
