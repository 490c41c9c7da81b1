from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.measures.human_agreement import (
    Annotations,
    between_people,
    one_against_the_others,
    with_each_person,
)


@st.composite
def annotated(draw):
    """A few texts with start and end symbols, scores with ties, and none to five people who marked some words."""
    texts = draw(st.lists(st.tuples(st.integers(1, 7), st.integers(0, 5)), min_size=1, max_size=4))
    width, most = max(length for length, _ in texts) + 2, max(people for _, people in texts)
    mask = torch.zeros(len(texts), width, dtype=torch.bool)
    scores = torch.zeros(len(texts), width).double()
    flags = torch.zeros(len(texts), most, width, dtype=torch.bool)
    there = torch.zeros(len(texts), most, dtype=torch.bool)
    for row, (length, people) in enumerate(texts):
        mask[row, 1 : length + 1] = True
        scores[row, 1 : length + 1] = torch.tensor(
            draw(st.lists(st.integers(-2, 3), min_size=length, max_size=length))
        ).double()
        for person in range(people):
            there[row, person] = True
            marks = draw(st.lists(st.booleans(), min_size=length, max_size=length))
            flags[row, person, 1 : length + 1] = torch.tensor(marks)
    return scores, Annotations(flags, there), mask


def marked(made: Annotations, row: int) -> list[set[int]]:
    """The places that each person marked."""
    people = made.flags[row][made.there[row]].tolist()
    return [{place for place, flag in enumerate(one) if flag} for one in people]


def f1(a: set[int], b: set[int]) -> float:
    precision, recall = (len(a & b) / len(c) if c else 0.0 for c in (a, b))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def iou(a: set[int], b: set[int]) -> float:
    return len(a & b) / len(a | b)


def same(found: tuple[torch.Tensor, torch.Tensor], row: int, pairs: list[tuple[set[int], set[int]]]) -> None:
    """Both numbers of a text are the means of the literal ones, or not a number where there is no pair."""
    for value, literal in zip(found, (f1, iou), strict=True):
        if pairs:
            assert float(value[row]) == pytest.approx(sum(literal(a, b) for a, b in pairs) / len(pairs))
        else:
            assert math.isnan(float(value[row]))


@settings(max_examples=100, deadline=None)
@given(annotated())
def test_people_against_one_another_equal_a_loop_over_pairs(made):
    _, people, mask = made
    found = between_people(people)
    for row in range(len(mask)):
        pairs = [(a, b) for a, b in itertools.combinations(marked(people, row), 2) if a and b]
        same(found, row, pairs)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(annotated())
def test_one_person_against_most_of_the_others_equals_a_loop(made):
    _, people, mask = made
    found = one_against_the_others(people)
    for row in range(len(mask)):
        every, pairs = marked(people, row), []
        for person, own in enumerate(every):
            others = every[:person] + every[person + 1 :]
            most = {t for t in range(mask.shape[1]) if sum(t in one for one in others) > len(others) / 2}
            if own and len(others) >= 2 and most:
                pairs.append((own, most))
        same(found, row, pairs)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(annotated())
def test_scores_against_each_person_equal_a_loop(made):
    scores, people, mask = made
    found = with_each_person(scores, people, mask)
    for row in range(len(mask)):
        places = [t for t in range(mask.shape[1]) if mask[row, t]]
        order = sorted(places, key=lambda t: (-float(scores[row, t]), t))
        same(found, row, [(set(order[: len(one)]), one) for one in marked(people, row) if one])


@settings(max_examples=50, deadline=None)
@given(annotated(), st.integers(1, 3), st.integers(1, 3))
def test_room_for_more_people_and_more_tokens_changes_nothing(made, people, tokens):
    scores, given_, mask = made
    wide = Annotations(
        torch.nn.functional.pad(given_.flags, (0, tokens, 0, people)),
        torch.nn.functional.pad(given_.there, (0, people)),
    )
    more, longer = torch.nn.functional.pad(scores, (0, tokens)), torch.nn.functional.pad(mask, (0, tokens))
    for first, second in (
        (between_people(given_), between_people(wide)),
        (one_against_the_others(given_), one_against_the_others(wide)),
        (with_each_person(scores, given_, mask), with_each_person(more, wide, longer)),
    ):
        for a, b in zip(first, second, strict=True):
            assert torch.allclose(a, b, atol=1e-12, equal_nan=True)


def test_people_who_marked_the_same_words_agree_fully_and_nobody_is_compared_with_nothing():
    flags = torch.tensor([[[True, False, True]] * 3, [[True, False, False], [False] * 3, [False] * 3]])
    people = Annotations(flags, torch.ones(2, 3, dtype=torch.bool))
    assert between_people(people).token_f1[0] == 1.0
    assert between_people(people).token_f1[1].isnan()
    assert one_against_the_others(people).iou[0] == 1.0
    assert one_against_the_others(people).iou[1].isnan()
