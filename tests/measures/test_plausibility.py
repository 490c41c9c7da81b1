from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc, f1_score, jaccard_score, precision_recall_curve

from attentest.measures.plausibility import (
    area_under_precision_recall,
    as_many_as_marked,
    span_match,
    token_overlap,
)


@st.composite
def texts(draw):
    """A few texts of different lengths with start and end symbols, scores with ties, and marks."""
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    width = max(lengths) + 2
    mask = torch.zeros(len(lengths), width, dtype=torch.bool)
    scores, marked = torch.zeros(len(lengths), width).double(), torch.zeros_like(mask)
    for row, length in enumerate(lengths):
        mask[row, 1 : length + 1] = True
        values = draw(st.lists(st.integers(-2, 3), min_size=length, max_size=length))
        scores[row, 1 : length + 1] = torch.tensor(values).double()
        flags = draw(st.lists(st.booleans(), min_size=length, max_size=length))
        marked[row, 1 : length + 1] = torch.tensor(flags)
    return scores, marked, mask


def runs(flags: list[bool]) -> list[set[int]]:
    found: list[set[int]] = []
    for place, flag in enumerate(flags):
        if flag and place and flags[place - 1]:
            found[-1].add(place)
        elif flag:
            found.append({place})
    return found


@settings(max_examples=80, deadline=None)
@given(texts())
def test_top_tokens_are_as_many_as_the_marked_ones_and_score_no_less_than_the_others(made):
    scores, marked, mask = made
    chosen = as_many_as_marked(scores, marked, mask)
    assert (chosen.sum(-1) == marked.sum(-1)).all()
    assert not (chosen & ~mask).any()
    for row in range(len(mask)):
        others = mask[row] & ~chosen[row]
        if chosen[row].any() and others.any():
            assert scores[row][chosen[row]].min() >= scores[row][others].max()


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(texts())
def test_overlap_and_area_equal_scikit_learn(made):
    scores, marked, mask = made
    chosen = as_many_as_marked(scores, marked, mask)
    f1, iou = token_overlap(chosen, marked)
    area = area_under_precision_recall(scores, marked, mask)
    for row in range(len(mask)):
        real = mask[row]
        truth, mine = marked[row][real].numpy(), chosen[row][real].numpy()
        if not truth.any():
            assert f1[row].isnan()
            assert area[row].isnan()
            continue
        assert float(f1[row]) == pytest.approx(f1_score(truth, mine))
        assert float(iou[row]) == pytest.approx(jaccard_score(truth, mine))
        precision, recall, _ = precision_recall_curve(truth, scores[row][real].numpy())
        assert float(area[row]) == pytest.approx(auc(recall, precision))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(texts())
def test_matching_spans_equal_a_loop_over_them(made):
    scores, marked, mask = made
    chosen = as_many_as_marked(scores, marked, mask)
    found = span_match(chosen, marked)
    for row in range(len(mask)):
        ours, theirs = runs(chosen[row].tolist()), runs(marked[row].tolist())
        if not theirs:
            assert found.precision[row].isnan()
            continue
        matched = sum(any(len(a & b) >= 0.5 * len(a | b) for b in theirs) for a in ours)
        p, r = matched / len(ours), matched / len(theirs)
        assert float(found.precision[row]) == pytest.approx(p)
        assert float(found.recall[row]) == pytest.approx(r)
        assert float(found.f1[row]) == pytest.approx(2 * p * r / (p + r) if p + r else 0.0)


def test_what_stands_in_padding_does_not_matter():
    mask = torch.tensor([[False, True, True, True, False, False]])
    scores = torch.tensor([[9.0, 0.1, 0.5, 0.2, 9.0, 9.0]])
    marked = torch.tensor([[True, False, True, False, True, True]])
    assert as_many_as_marked(scores, marked, mask).tolist() == [[False, False, True, False, False, False]]
    assert float(area_under_precision_recall(scores, marked, mask)) == pytest.approx(1.0)


def test_no_texts_are_no_trouble():
    empty = torch.zeros(0, 4, dtype=torch.bool)
    assert span_match(empty, empty).f1.shape == (0,)
    assert math.isclose(float(np.sum(area_under_precision_recall(empty.double(), empty, empty).numpy())), 0.0)
