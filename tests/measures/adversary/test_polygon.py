from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.ragged import Ragged, noise_like, ragged

from attentest.measures.adversary.polygon import corners_of, pairs_within, triples_at
from attentest.measures.divergence import jensen_shannon

SEEDS = st.integers(0, 100_000)


def scene(seed: int, bounds: int = 6) -> tuple[Ragged, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Tokens in the plane, attention over them, and half-planes n·x ≤ b around where the attention is."""
    batch = ragged(seed, batch=3, shortest=1, longest=6)
    points = noise_like(batch, 2, scale=2)
    centre = (batch.weights[:, None] @ points).squeeze(1)
    normals = torch.from_numpy(batch.rng.normal(size=(3, bounds, 2)))
    offsets = (normals @ centre[..., None]).squeeze(-1) + torch.from_numpy(batch.rng.exponential(0.5, (3, bounds)))
    offsets[:, 0] = math.inf
    return batch, points, normals, offsets


def excess(points: torch.Tensor, normals: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    beyond = points @ normals.transpose(1, 2) - offsets[:, None]
    return beyond.masked_fill(beyond.isinf(), -1.0)


def vertices(points: np.ndarray, normals: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """The vertices of {a ≥ 0, Σ a = 1, N X a ≤ b} from linear algebra alone."""
    n = len(points)
    rows = [(np.eye(n)[i], 0.0) for i in range(n)]
    rows += [(points @ normal, b) for normal, b in zip(normals, offsets, strict=True) if math.isfinite(b)]
    found = []
    for active in itertools.combinations(rows, n - 1):
        system = np.array([np.ones(n), *(row for row, _ in active)])
        if abs(np.linalg.det(system)) < 1e-9:
            continue
        point = np.linalg.solve(system, [1.0, *(value for _, value in active)])
        if (point >= -1e-9).all() and (normals @ points.T @ point <= offsets + 1e-9).all():
            found.append(np.clip(point, 0, 1))
    return found


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_pairs_and_triples_are_all_the_vertices_there_are(seed: int) -> None:
    batch, points, normals, offsets = scene(seed)
    pairs = pairs_within(batch.weights, excess(points, normals, offsets), batch.mask, keep=1)
    triples = triples_at(batch.weights, points, batch.mask, *corners_of(normals, offsets))
    ours = torch.cat([pairs.divergence, triples.divergence], 1).amax(-1)
    for row, keep in enumerate(batch.mask):
        alpha = batch.weights[row][keep]
        found = vertices(points[row][keep].numpy(), normals[row].numpy(), offsets[row].numpy())
        best = max(float(jensen_shannon(torch.from_numpy(vertex), alpha)) for vertex in found)
        assert float(ours[row]) == pytest.approx(best, abs=1e-6)


@given(SEEDS)
@settings(max_examples=40)
def test_corners_are_where_two_edges_meet_inside_all_the_others(seed: int) -> None:
    _, _, normals, offsets = scene(seed)
    corners, valid = corners_of(normals, offsets)
    for row in range(len(normals)):
        expected = []
        for e, f in itertools.combinations(range(1, normals.shape[1]), 2):
            corner = np.linalg.solve(normals[row, [e, f]].numpy(), offsets[row, [e, f]].numpy())
            if (normals[row].numpy() @ corner <= offsets[row].numpy() + 1e-9).all():
                expected.append(corner)
        ours = corners[row][valid[row]].numpy()
        np.testing.assert_allclose(ours, np.array(expected).reshape(-1, 2), rtol=1e-7, atol=1e-8)


@given(SEEDS)
@settings(max_examples=40)
def test_pairs_reach_the_ends_of_their_segments(seed: int) -> None:
    batch, points, normals, offsets = scene(seed)
    beyond = excess(points, normals, offsets)
    pairs = pairs_within(batch.weights, beyond, batch.mask, keep=10)
    for row in range(len(points)):
        for value, i, j, end, middle in zip(*(part[row].tolist() for part in pairs), strict=True):
            if not math.isfinite(value):
                continue
            mixed = torch.zeros(points.shape[1]).double()
            mixed[i] += end
            mixed[j] += 1 - end
            assert value == pytest.approx(float(jensen_shannon(mixed, batch.weights[row])), abs=1e-9)
            assert batch.mask[row, i]
            assert batch.mask[row, j]
            for share in (end, middle):
                assert float((share * beyond[row, i] + (1 - share) * beyond[row, j]).max()) < 1e-8


def test_three_tokens_around_a_corner_meet_on_it() -> None:
    points = torch.tensor([[[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]], dtype=torch.float64)
    alpha = torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64)
    mask = torch.ones(1, 3, dtype=torch.bool)
    corner = torch.tensor([[[1.0, 1.0], [5.0, 5.0]]], dtype=torch.float64)
    found = triples_at(alpha, points, mask, corner, torch.ones(1, 2, dtype=torch.bool))
    mixed = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
    assert float(found.divergence[0, 0]) == pytest.approx(float(jensen_shannon(mixed, alpha[0])))
    assert found.tokens[0, 0].tolist() == [0, 1, 2]
    assert float(found.divergence[0, 1]) == -math.inf
