"""Is there anything to explain? A model beside the most frequent class, text by text."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from attentest.challenges.instances.presentation import accuracy_line
from attentest.store.findings import Findings, Measure


def instances(labels: list[int], predicted: list[int], sentences: list[str] | None = None) -> Findings:
    correct = np.array(labels) == np.array(predicted)
    columns = {"id": [str(i) for i in range(len(labels))], "label": pa.array(labels, pa.int32()), "correct": correct}
    columns |= {} if sentences is None else {"sentence": sentences}
    return Findings("instances", (Measure("accuracy", "correct", "fraction", ""),), pa.table(columns))


#: 90, 8 and 2 % of 200 texts.
IMBALANCED = [0] * 180 + [1] * 16 + [2] * 4


def test_always_giving_the_most_frequent_class_leaves_nothing_to_explain() -> None:
    line = accuracy_line(instances(IMBALANCED, [0] * 200))
    assert line.tone == "against"
    assert "right no more often than the most frequent class (90\u00a0%)" in line.reading


def test_worse_than_the_most_frequent_class_is_against_and_a_little_better_is_not_settled() -> None:
    worse = [1] * 30 + IMBALANCED[30:]
    assert accuracy_line(instances(IMBALANCED, [*worse[:180], *[0] * 20])).tone == "against"
    little = [*IMBALANCED[:178], 1, 1, 1, 1, 1, *[0] * 17]  # two lost, three won
    assert accuracy_line(instances(IMBALANCED, little)).tone == "unsettled"
    assert accuracy_line(instances(IMBALANCED, IMBALANCED)).tone == "context"


def test_texts_of_one_label_cannot_tell() -> None:
    line = accuracy_line(instances([1] * 40, [1] * 39 + [0]))
    assert line.tone == "unsettled"
    assert line.reading.startswith("All texts carry one label")


def test_few_texts_say_nothing_of_it() -> None:
    assert accuracy_line(instances([0] * 10 + [1] * 9, [0] * 19)).tone == "context"


@given(st.integers(0, 60), st.integers(0, 60))
def test_better_is_what_mcnemars_test_says(won: int, lost: int) -> None:
    labels = [0] * 200 + [1] * 100
    predicted = [*[1] * lost, *[0] * (200 - lost), *[1] * won, *[0] * (100 - won)]
    better = accuracy_line(instances(labels, predicted)).tone == "context"
    statistic = 0.0 if won <= lost else (won - lost) / math.sqrt(won + lost)
    assert better == (statistic > 1.959964)


def test_steps_of_one_sentence_do_not_count_as_many_texts() -> None:
    labels, predicted = [0] * 200 + [1] * 40, [0] * 200 + [1] * 40
    apart = [f"{i}" for i in range(240)]
    together = [f"{i // 2}" for i in range(200)] + ["last"] * 40
    assert accuracy_line(instances(labels, predicted, apart)).tone == "context"
    assert accuracy_line(instances(labels, predicted, together)).tone == "unsettled"


def test_rows_that_were_not_judged_are_left_out() -> None:
    found = instances(IMBALANCED, [*[1] * 30, *IMBALANCED[30:]])
    refused = pa.array(["not finite" if i < 30 else None for i in range(200)])
    table = found.table.append_column("not_judged", refused)
    assert accuracy_line(found).tone == "unsettled"
    assert accuracy_line(Findings("instances", found.measures, table)).tone == "context"
