"""Tasks side by side: what is left when more and more layers are permuted, over seeds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.papers.made_up_altered import altered_cell
from tests.papers.made_up_cells import MadeUpCell
from tests.papers.made_up_layers import MULTI30K, layered_cell

from attentest.papers.claims import load_claims
from attentest.papers.outcomes import evaluate
from attentest.papers.vashishth_2019.families_figures import write_chart
from attentest.papers.vashishth_2019.figures import figures
from attentest.papers.vashishth_2019.layer_curves import layer_curves
from attentest.papers.vashishth_2019.layer_panels import BLEU, LayerPanel, layer_panels
from attentest.presentation.charts import svg
from attentest.report.claims.page import claims_page
from attentest.report.claims.view import View


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[MadeUpCell]:
    root = tmp_path_factory.mktemp("runs")
    made = [layered_cell(root, seed=s, own=0.8 + 0.02 * s) for s in range(3)]
    made += [layered_cell(root, corpus="snli", seed=s, layers=2) for s in range(3)]
    made += [layered_cell(root, corpus="snli", own=0.1, limit=100)]
    made += [layered_cell(root, corpus=MULTI30K, seed=s) for s in range(2)]
    return made


def test_every_task_has_its_panels_and_every_kind_of_attention_two_curves(cells: list[MadeUpCell]) -> None:
    panels = layer_panels(cells)
    assert [(panel.task, panel.corpus, panel.score) for panel in panels] == [
        ("single texts", "sst", "correct predictions"),
        ("pairs of texts", "snli", "correct predictions"),
        ("translation", "multi30k", "correct next words"),
        ("translation", "multi30k", BLEU),
    ]
    single, pair, words, texts = panels
    assert [(curve.attention, curve.direction) for curve in single.curves] == [("self", "first"), ("self", "last")]
    assert [len(curve.points) for curve in single.curves] == [4, 4]
    assert [point.value for point in single.curves[0].points] == pytest.approx([0.82, 0.7133, 0.6067, 0.5], abs=0.002)
    assert single.curves[0].points[0].figures == pytest.approx((0.8, 0.82, 0.84))
    assert single.curves[0].points[0].half > 0
    assert pair.seeds == 3
    assert pair.curves[0].points[0].value == pytest.approx(0.8)
    for panel in (words, texts):
        assert list(dict.fromkeys(curve.attention for curve in panel.curves)) == ["encoder", "decoder", "cross"]
        assert math.isnan(panel.curves[0].points[0].half)
    assert texts.curves[0].points[0].value == pytest.approx(80)
    assert texts.curves[-1].points[-1].value == pytest.approx(10)
    assert single.basis == "single texts, correct predictions: sst, 3 seeds"


def test_weights_replaced_otherwise_and_runs_without_layers_are_not_drawn(tmp_path: Path) -> None:
    even = layered_cell(tmp_path, challenge="layers(replacement='uniform')")
    assert layer_panels([even, altered_cell(tmp_path)]) == ()


@pytest.mark.slow
def test_the_curves_are_drawn_the_same_again_and_stand_on_the_page(cells: list[MadeUpCell], tmp_path: Path) -> None:
    panels = layer_panels(cells)
    text = svg(layer_curves(panels))
    assert text == svg(layer_curves(panels))
    for said in ("single texts", "pairs of texts", "translation", "BLEU", "cross", "from the last layer"):
        assert said in text
    write_chart(layer_curves(panels, columns=1), tmp_path / "layers.svg")
    assert (tmp_path / "layers.svg").stat().st_size < 400_000
    view = View(load_claims("vashishth_2019"), evaluate("vashishth_2019", cells))
    page = claims_page(view, "", None, list(figures(cells)))
    assert "What is left when more and more layers lose their attention" in page
    assert "translation, BLEU: multi30k, 2 seeds" in page


def test_one_panel_alone_can_be_drawn(cells: list[MadeUpCell]) -> None:
    panels: tuple[LayerPanel, ...] = layer_panels(cells[:1])
    assert svg(layer_curves(panels))
