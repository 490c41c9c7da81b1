from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import vl_convert

from attentest.challenges import PRESENTATIONS
from attentest.challenges.adversary.figures import (
    bounded,
    certified,
    divergence_by_max_attention,
    divergence_histogram,
    searched_against_certified,
)
from attentest.challenges.agreement.figures import PAIRS, agreement_overview, tau_histograms
from attentest.challenges.permutation.figures import permutation_by_max_attention
from attentest.presentation.charts import DOT, Palette, svg
from attentest.presentation.presentation import Plot, Results
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder

#: The figures of a run of texts; that of translations has a test of its own.
OF_TEXTS = [(name, plot) for name in PRESENTATIONS for plot in PRESENTATIONS[name].figures() if name != "alignment"]
each_figure = pytest.mark.parametrize(("name", "plot"), OF_TEXTS, ids=[plot.key for _, plot in OF_TEXTS])

CLASSES = ["negative", "positive"]


def palette_of(run: RunFolder) -> Palette:
    corpus = run.record["fields"]["corpus"]
    return Palette.of(corpus["classes"], run.findings("instances").table["predicted"].to_pylist())


def results_of(run: RunFolder) -> Results:
    return Results({name: run.findings(name) for name in run.challenges}, run.record["fields"])


def chart_of(run: RunFolder, name: str, plot: Plot) -> Any:
    return plot.draw(run.findings(name), results_of(run))


def drawn(chart: Any) -> list[list[dict[str, Any]]]:
    """The rows of every data set in a chart."""
    spec = chart.to_dict()
    found = list(spec.get("datasets", {}).values())
    queue = [spec]
    while queue:
        part = queue.pop()
        if isinstance(part, dict):
            if isinstance(part.get("data"), dict) and "values" in part["data"]:
                found.append(part["data"]["values"])
            queue += part.values()
        elif isinstance(part, list):
            queue += part
    return found


def points_of(chart: Any) -> list[dict[str, Any]]:
    return next(rows for rows in drawn(chart) if rows and {"x", "y", "class"} == set(rows[0]))


@each_figure
def test_every_figure_renders_to_svg_that_is_well_formed(run: RunFolder, name: str, plot: Plot) -> None:
    text = svg(chart_of(run, name, plot))
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.slow
@each_figure
def test_every_figure_copes_with_hostile_and_with_many_classes(
    hostile_run: RunFolder, many_run: RunFolder, name: str, plot: Plot
) -> None:
    for run in (hostile_run, many_run):
        text = svg(chart_of(run, name, plot))
        assert "<script" not in text
        ElementTree.fromstring(text)


def test_dots_are_drawn_as_circles_where_the_renderer_put_them(run: RunFolder) -> None:
    chart = searched_against_certified(run.findings("adversary"), palette_of(run))
    written = str(vl_convert.vegalite_to_svg(chart.to_dict(validate=False), allowed_base_urls=[]))
    places = [(float(x), float(y)) for x, y, _ in DOT.findall(written)]
    circles = [c for c in ElementTree.fromstring(svg(chart)).iter() if c.tag.endswith("circle")]
    assert len(circles) == len(places) > len(points_of(chart)) - 1
    for circle, place in zip(circles, places, strict=True):
        assert (float(circle.get("cx", "")), float(circle.get("cy", ""))) == pytest.approx(place, abs=0.051)
    assert len(svg(chart)) < 0.7 * len(written)


@pytest.mark.slow
def test_a_class_has_one_colour_whatever_the_figure(run: RunFolder) -> None:
    palette = palette_of(run)
    for name, plot in OF_TEXTS:
        text = str(chart_of(run, name, plot).to_dict())
        if "negative" in text:
            assert palette.colours[0] in text
    assert palette.colours == ("#0072B2", "#D55E00")


def test_the_palette_keeps_the_six_most_predicted_classes_apart_and_groups_the_rest() -> None:
    palette = Palette.of([f"c{i}" for i in range(9)], [8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2])
    assert palette.names == ("c3", "c4", "c5", "c6", "c7", "c8", "3 other classes")
    assert len(set(palette.colours)) == 7
    assert palette.groups(np.array([0, 3, 8])).tolist() == [6, 0, 5]


def test_classes_that_share_a_name_and_classes_without_one_stay_apart() -> None:
    assert Palette.of(["same", "same"], [0, 1, 2]).names == ("same (0)", "same (1)", "class 2")


def test_points_are_thinned_out_by_id_and_not_by_the_order_of_rows(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attentest.presentation.charts.POINTS", 50)
    found = run.findings("adversary")
    backwards = Findings(found.challenge, found.measures, found.table[::-1])
    once = points_of(divergence_by_max_attention(found, palette_of(run)))
    again = points_of(divergence_by_max_attention(backwards, palette_of(run)))
    assert len(once) == 50
    assert sorted(map(str, once)) == sorted(map(str, again))


@pytest.mark.slow
def test_medians_and_counts_stand_on_all_rows_however_few_points_are_drawn(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def boxes() -> list[dict[str, Any]]:
        chart = permutation_by_max_attention(run.findings("permutation"), palette_of(run))
        return next(rows for rows in drawn(chart) if rows and "n" in rows[0])

    whole = boxes()
    monkeypatch.setattr("attentest.presentation.charts.POINTS", 5)
    assert boxes() == whole
    judged = sum(reason is None for reason in run.findings("permutation").table["not_judged"].to_pylist())
    assert sum(int(box["n"]) for box in whole[1:]) == judged


def test_the_medians_of_the_permutation_figure_are_the_medians_of_the_findings(run: RunFolder) -> None:
    palette = palette_of(run)
    rows = [r for r in run.findings("permutation").table.to_pylist() if r["not_judged"] is None]
    expected = [
        np.median([r["median_change"] for r in rows if r["predicted"] == c and int(r["max_attention"] * 4) == b])
        for b in (0, 1)
        for c in (0, 1)
    ]
    chart = permutation_by_max_attention(run.findings("permutation"), palette)
    boxes = next(rows for rows in drawn(chart) if rows and "n" in rows[0])
    assert [box["median"] for box in boxes[1:5]] == pytest.approx(expected)


@pytest.mark.slow
def test_histogram_shares_of_a_class_add_up_to_one(run: RunFolder) -> None:
    chart = tau_histograms(run.findings("agreement"), palette_of(run))
    steps = [rows for rows in drawn(chart) if rows and "share" in rows[0]]
    assert steps
    for rows in steps:
        for name in CLASSES:
            assert sum(row["share"] for row in rows if row["class"] == name) == pytest.approx(1)


def test_histograms_say_on_how_many_texts_they_stand(run: RunFolder) -> None:
    agreement, adversary = (run.findings(name) for name in ("agreement", "adversary"))
    for pair in PAIRS:
        rows = agreement.rows({"pair": pair})
        judged = rows.filter(pc.is_valid(rows["tau"]))
        for number, name in enumerate(CLASSES):
            count = pc.sum(pc.equal(judged["predicted"], number)).as_py()
            assert f"{name}, n {count:,}: mean" in svg(tau_histograms(agreement, palette_of(run)))
    count = len(adversary.table.filter(pc.is_valid(adversary.table["lower"])))
    assert f"certified, n {count:,}" in svg(divergence_histogram(adversary))


def test_a_search_that_was_not_run_leaves_the_certified_histogram(run: RunFolder) -> None:
    found = run.findings("adversary")
    place = found.table.column_names.index("searched_divergence")
    empty = pa.nulls(len(found.table), pa.float64())
    table = found.table.set_column(place, "searched_divergence", empty)
    chart = divergence_histogram(Findings("adversary", found.measures, table))
    shares = {rows[0]["class"]: sum(r["share"] for r in rows) for rows in drawn(chart) if rows and "share" in rows[0]}
    assert shares["certified"] == pytest.approx(1)
    assert "found by the search" not in shares


def searched_only(run: RunFolder) -> Findings:
    """The adversary's findings where the head is not affine: nothing is proved."""
    found = run.findings("adversary")
    place = found.table.column_names.index("upper")
    unproved = pa.array([None if one is None else np.nan for one in found.table["upper"].to_pylist()], pa.float64())
    return Findings("adversary", found.measures, found.table.set_column(place, "upper", unproved))


def test_where_nothing_is_certified_no_figure_says_so(run: RunFolder) -> None:
    found = searched_only(run)
    assert certified(run.findings("adversary"))
    assert not certified(found)
    for chart in (divergence_histogram(found), divergence_by_max_attention(found, palette_of(run))):
        text = str(chart.to_dict())
        assert "certified" not in text
        assert "found" in text
    shares = [rows for rows in drawn(divergence_histogram(found)) if rows and "share" in rows[0]]
    assert [rows[0]["class"] for rows in shares] == ["found by searching"]
    search = next(plot for _, plot in OF_TEXTS if plot.key == "search")
    assert search.applies(run.findings("adversary"))
    assert not search.applies(found)


def test_the_overview_lists_attention_before_the_controls_with_its_interval(run: RunFolder) -> None:
    chart = agreement_overview(run.findings("agreement"))
    rows = next(rows for rows in drawn(chart) if rows and "low" in rows[0] and len(rows) > 6)
    assert rows[0]["what"] == "attention ↔ gradient"
    assert [row["what"] for row in rows if row["what"].endswith("(control)")] == [
        "gradient ↔ leave-one-out (control)"
    ] * 2
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)


@pytest.mark.slow
def test_where_the_bounds_meet_on_some_texts_only_no_figure_says_certified(run: RunFolder) -> None:
    found = run.findings("adversary")
    place = found.table.column_names.index("certified")
    some = pa.array([None if one is None else row > 0 for row, one in enumerate(found.table["certified"].to_pylist())])
    partly = Findings("adversary", found.measures, found.table.set_column(place, "certified", some))
    assert bounded(partly)
    assert not certified(partly)
    charts = divergence_histogram(partly), divergence_by_max_attention(partly, palette_of(run))
    for chart in (*charts, searched_against_certified(partly, palette_of(run))):
        assert "certified" not in str(chart.to_dict())
        assert "reached" in str(chart.to_dict())
