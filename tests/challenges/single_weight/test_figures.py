from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from tests.report.pages.test_figures import drawn

from attentest.challenges.single_weight.examine import SingleWeight
from attentest.challenges.single_weight.figures import FEWEST, delta_js_by_weight, flip_square
from attentest.presentation.charts import Palette, svg
from attentest.store.findings import Findings

CLASSES = ["negative", "positive"]


def single_weights(texts: int = 120, classes: int = 2, seed: int = 0) -> Findings:
    """Larger weights matter more, up to noise; every tenth text has one token."""
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for number in range(texts):
        row: dict[str, Any] = {"id": f"text-{number}", "predicted": int(random.integers(classes)), "not_judged": None}
        if number % 10 == 9:
            rows.append(row | {"not_judged": "fewer than two tokens"})
            continue
        difference = float(random.beta(2, 4))
        top, other = random.random() < difference, random.random() < 0.1
        row |= {"weight_difference": difference, "delta_js": difference * float(random.normal(0.3, 0.2))}
        row |= {"both_flip": top and other, "only_top_flips": top and not other}
        rows.append(row | {"only_other_flips": other and not top, "neither_flips": not (top or other)})
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    return Findings("single_weight", SingleWeight().measures, table)


def palette(classes: list[str]) -> Palette:
    return Palette.of(classes, range(len(classes)))


@pytest.mark.slow
def test_every_figure_renders_to_svg_that_is_well_formed() -> None:
    hostile = ["<script>document.title='owned'</script>", "po\u202esi\x00tive [bold]", *map(str, range(9))]
    charts = [delta_js_by_weight(single_weights(), palette(CLASSES)), flip_square(single_weights())]
    charts.append(delta_js_by_weight(single_weights(classes=11), palette(hostile)))
    for chart in charts:
        text = svg(chart)
        assert "<script" not in text
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_cells_of_the_square_are_shares_with_intervals() -> None:
    found = single_weights()
    cells = next(rows for rows in drawn(flip_square(found)) if rows and "share" in rows[0])
    judged = [row for row in found.table.to_pylist() if row["not_judged"] is None]
    assert {(cell["top"], cell["other"]): cell["share"] for cell in cells} == pytest.approx(
        {
            ("flips", "flips"): np.mean([row["both_flip"] for row in judged]),
            ("flips", "stays"): np.mean([row["only_top_flips"] for row in judged]),
            ("stays", "flips"): np.mean([row["only_other_flips"] for row in judged]),
            ("stays", "stays"): np.mean([row["neither_flips"] for row in judged]),
        }
    )
    assert all(cell["text"].endswith(" %") and cell["interval"].startswith("[") for cell in cells)


def test_the_running_median_follows_all_rows_however_few_points_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    found = single_weights(400)

    def line() -> list[dict[str, Any]]:
        chart = delta_js_by_weight(found, palette(CLASSES))
        return next(rows for rows in drawn(chart) if rows and set(rows[0]) == {"x", "y"})

    whole = line()
    monkeypatch.setattr("attentest.presentation.charts.POINTS", 5)
    assert line() == whole
    assert [point["x"] for point in whole] == sorted(point["x"] for point in whole)
    rows = [row for row in found.table.to_pylist() if row["not_judged"] is None]
    first = sorted(rows, key=lambda row: row["weight_difference"])[:FEWEST]
    assert whole[0]["y"] == pytest.approx(np.median([row["delta_js"] for row in first]))


@pytest.mark.parametrize("texts", [1, 2, 30])
def test_few_texts_have_a_running_median_too(texts: int) -> None:
    chart = delta_js_by_weight(single_weights(texts), palette(CLASSES))
    assert any(rows and set(rows[0]) == {"x", "y"} for rows in drawn(chart))
    assert ElementTree.fromstring(svg(chart)).tag.endswith("svg")
