from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.files.labels import MOST_CLASSES, classes_of, is_number, one_spelling
from attentest.errors import InputError


@pytest.mark.parametrize("label", ["0", "-1", "+2", "1.5", ".5", "3.", "1e-3", " 7 "])
def test_numbers_are_numbers(label: str) -> None:
    assert is_number(label)


@pytest.mark.parametrize("label", ["", "nan", "inf", "1_000", "1e999", "one", "1 2", "٣"])
def test_what_only_python_takes_for_a_number_is_none(label: str) -> None:
    assert not is_number(label)


def test_equal_numbers_are_one_class() -> None:
    assert one_spelling(["1", "1.0", "01", " 0 ", "0.50"]) == ["1", "1", "1", "0", "0.5"]


def test_numbers_beside_words_stay_as_they_are() -> None:
    assert one_spelling(["1", "1.0", " pos "]) == ["1", "1.0", "pos"]


def test_numbers_are_sorted_as_numbers_and_words_as_words() -> None:
    assert classes_of(["10", "9", "-1", "9"], "x") == ("-1", "9", "10")
    assert classes_of(["10", "9", "b", "a"], "x") == ("10", "9", "a", "b")


@settings(deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=2).filter(lambda numbers: len(set(numbers)) > 1))
def test_classes_are_the_different_labels(numbers: list[int]) -> None:
    labels = one_spelling([str(number) for number in numbers])
    assert [int(name) for name in classes_of(labels, "x")] == sorted(set(numbers))


def test_one_class_only_is_refused() -> None:
    with pytest.raises(InputError, match=r"one class only: every label in column 'y' of a.csv is 'pos'"):
        classes_of(["pos"] * 9, "column 'y' of a.csv")


def test_a_thousand_classes_are_taken_and_more_are_refused() -> None:
    assert len(classes_of([f"c{i}" for i in range(MOST_CLASSES)] * 3, "x")) == MOST_CLASSES == 1000
    with pytest.raises(InputError, match="1001 classes in x are more than 1000"):
        classes_of([f"c{i}" for i in range(MOST_CLASSES + 1)] * 3, "x")


def test_a_column_of_ids_is_no_column_of_classes() -> None:
    assert len(classes_of([f"c{i}" for i in range(100)], "x")) == 100
    with pytest.raises(InputError, match=r"101 classes in x have fewer than 3 of the 202 texts each .* --label-column"):
        classes_of([f"c{i}" for i in range(101)] * 2, "x")


def test_measurements_are_refused_and_half_stars_are_not() -> None:
    with pytest.raises(InputError, match=r"look continuous .* --label-column"):
        classes_of([str(i / 7) for i in range(60)], "x")
    assert len(classes_of([str(i % 10 / 2) for i in range(60)], "x")) == 10
