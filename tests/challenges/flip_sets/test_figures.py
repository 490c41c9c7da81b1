from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from tests.report.pages.test_figures import drawn

from attentest.challenges.flip_sets.examine import FlipSets
from attentest.challenges.flip_sets.figures import flip_set_boxes, times_smallest_boxes
from attentest.challenges.flip_sets.presentation import ORDERS
from attentest.presentation.charts import svg
from attentest.store.findings import Findings


def flip_sets(texts: int = 80, seed: int = 0, never: bool = False) -> Findings:
    """Every order needs more than the smallest set; some texts never flip."""
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for number in range(texts):
        tokens, smallest = int(random.integers(8, 40)), int(random.integers(1, 5))
        found = {}
        for order in ("attention", "gradient", "gradient_x_attention", "random_1", "random_2", "smallest"):
            removed = smallest + (0 if order == "smallest" else int(random.integers(0, tokens - smallest)))
            turned = not never and number % 7 != 0 and (order == "smallest" or random.random() < 0.7)
            found[order] = {
                "flip_fraction": removed / tokens if turned else None,
                "until_flip": removed / tokens if turned else 1.0,
                "never": float(not turned),
                "times_smallest": removed / smallest if turned else None,
                "times_smallest_counted": (removed if turned else tokens) / smallest
                if number % 7 and not never
                else None,
            }
        draws = [found["random_1"], found["random_2"]]
        means = {name: [draw[name] for draw in draws if draw[name] is not None] for name in draws[0]}
        found["random"] = {name: float(np.mean(values)) if values else None for name, values in means.items()}
        about = {"id": f"text-{number}", "predicted": 0, "tokens": tokens, "not_judged": None}
        rows += [about | {"order": order} | numbers for order, numbers in found.items()]
    kinds = {name: pa.float64() for name in ("flip_fraction", "times_smallest", "times_smallest_counted")}
    columns = {name: pa.array([row[name] for row in rows], kinds.get(name)) for name in rows[0]}
    columns["not_judged"] = columns["not_judged"].cast(pa.string())
    return Findings("flip_sets", FlipSets().measures, pa.table(columns))


def boxes_of(chart: Any) -> dict[str, dict[str, Any]]:
    rows = next(rows for rows in drawn(chart) if rows and "what" in rows[0])
    return {row["what"]: row for row in rows}


@pytest.mark.slow
def test_every_figure_renders_to_svg_that_is_well_formed() -> None:
    for never in ("dropped", "counted"):
        for chart in (flip_set_boxes(flip_sets(), never), times_smallest_boxes(flip_sets(), never)):
            assert ElementTree.fromstring(svg(chart)).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.slow
def test_texts_that_never_flip_leave_boxes_empty_and_are_counted_beside_them() -> None:
    found = flip_sets(never=True)
    for chart in (flip_set_boxes(found), times_smallest_boxes(found), times_smallest_boxes(found, "counted")):
        ElementTree.fromstring(svg(chart))
        assert all("median" not in row for row in boxes_of(chart).values())
    assert {row["note"] for row in boxes_of(flip_set_boxes(found)).values()} == {"100.0 %"}
    assert {row["median"] for row in boxes_of(flip_set_boxes(found, "counted")).values()} == {1.0}


@pytest.mark.parametrize(("never", "column"), [("dropped", "flip_fraction"), ("counted", "until_flip")])
def test_boxes_are_those_of_the_rows_with_whiskers_within_reach(never: Any, column: str) -> None:
    found = flip_sets()
    boxes = boxes_of(flip_set_boxes(found, never))
    assert list(boxes) == list(ORDERS.values())
    rows = found.table.to_pylist()
    for order, words in ORDERS.items():
        draws = ("random_1", "random_2") if order == "random" else (order,)
        values = np.array([row[column] for row in rows if row["order"] in draws and row[column] is not None])
        q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
        near = [v for v in values if q1 - 1.5 * (q3 - q1) <= v <= q3 + 1.5 * (q3 - q1)]
        expected = {"low": min(near), "q1": q1, "median": median, "q3": q3, "high": max(near)}
        assert {name: boxes[words][name] for name in expected} == pytest.approx(expected)
        share = np.mean([row["never"] for row in rows if row["order"] == order])
        assert boxes[words]["note"] == f"{100 * share:.1f} %"


def test_multiples_of_the_smallest_set_show_the_measure_that_tables_show() -> None:
    found = flip_sets()
    rows = found.table.to_pylist()
    boxes = boxes_of(times_smallest_boxes(found))
    assert "smallest set" not in boxes
    for order in ("attention", "gradient", "random"):
        values = [r["times_smallest"] for r in rows if r["order"] == order and r["times_smallest"] is not None]
        assert boxes[ORDERS[order]]["note"] == f"× {np.mean(values):.2f}"
