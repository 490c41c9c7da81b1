from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.challenges.test_trained_models_reading import make_four
from tests.report.pages.test_figures import drawn

from attentest.challenges.adversarial_training.figures import ADVERSARY, SEED, UNIFORM, imitation_curve
from attentest.challenges.guide.figures import guide_scores
from attentest.challenges.seed_variance.figures import seed_violins
from attentest.challenges.trained_models import GUIDES
from attentest.presentation.charts import svg
from attentest.presentation.seeds import Seeds


def points_of(chart: Any) -> list[dict[str, Any]]:
    return next(rows for rows in drawn(chart) if rows and "kind" in rows[0] and len({r["kind"] for r in rows}) > 1)


@pytest.mark.slow
@pytest.mark.parametrize("texts", [2, 5, 200])
def test_every_figure_renders_to_svg_that_is_well_formed(texts: int) -> None:
    found = make_four(texts)
    beside = {name: found[name] for name in ("seed_variance", "trained_uniform")}
    charts = [seed_violins(found["seed_variance"], columns=columns) for columns in (1, 2)]
    charts += [guide_scores(found["guide"]), imitation_curve(found["adversarial_training"])]
    charts.append(imitation_curve(found["adversarial_training"], **beside))
    for chart in charts:
        assert ElementTree.fromstring(svg(chart)).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_curve_holds_adversaries_seeds_and_uniform_weights() -> None:
    found = make_four(200)
    beside = {name: found[name] for name in ("seed_variance", "trained_uniform")}
    points = points_of(imitation_curve(found["adversarial_training"], **beside))
    kinds = [row["kind"] for row in points]
    seeds = Seeds.of(found["seed_variance"])
    assert seeds is not None
    assert [kinds.count(kind) for kind in (ADVERSARY, SEED, UNIFORM)] == [5, seeds.others, 1]
    rows = found["adversarial_training"].rows({"weight": "0.01"}).to_pylist()
    third = [row for row in points if row["kind"] == ADVERSARY][2]
    for axis, column in (("x", "jsd"), ("y", "tvd")):
        assert third[axis] == pytest.approx(np.mean([row[column] for row in rows if row[column] is not None]))
    assert third["left"] <= third["x"] <= third["right"]
    assert third["low"] <= third["y"] <= third["high"]


@pytest.mark.slow
def test_violins_stay_in_their_lanes_and_hold_every_judged_text() -> None:
    found = make_four(300)["seed_variance"]
    chart = seed_violins(found)
    outline = next(rows for rows in drawn(chart) if rows and "lane" in rows[0])
    assert all(row["lane"] - 0.5 < row["low"] <= row["high"] < row["lane"] + 0.5 for row in outline)
    counts = next(rows for rows in drawn(chart) if rows and rows[0].get("n") == "texts")[1:]
    assert sum(int(row["n"]) for row in counts) == found.table["not_judged"].null_count


def test_the_guided_model_is_shown_under_every_kind_of_weights() -> None:
    rows = next(rows for rows in drawn(guide_scores(make_four(200)["guide"])) if rows and "what" in rows[0])
    assert [row["what"] for row in rows] == list(GUIDES.values())
