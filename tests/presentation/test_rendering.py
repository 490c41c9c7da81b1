"""Pictures come from a process of their own, and a page does without them where that process cannot live."""

from __future__ import annotations

import base64
import resource
import subprocess
import sys
from pathlib import Path

import altair as alt
import pytest
import vl_convert

from attentest.presentation import rendering
from attentest.presentation.charts import NOT_DRAWN, data_of, image, pdf, png
from attentest.presentation.rendering import NoPicture, rendered

CHART = alt.Chart(data_of([{"x": 1.25, "y": 2}, {"x": 1 / 3, "y": -1}])).mark_point().encode(x="x:Q", y="y:Q")


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A renderer of this test's own, by a script that it writes."""
    made = rendering.Renderer()
    monkeypatch.setattr(rendering, "RENDERER", made)

    def scripted(code: str) -> None:
        (tmp_path / "renderer.py").write_text(code, encoding="utf-8")
        monkeypatch.setattr(rendering, "SCRIPT", tmp_path / "renderer.py")

    yield scripted
    made.close()


def test_a_picture_is_the_one_that_the_library_draws():
    spec = CHART.to_dict(validate=False)
    assert rendered(spec, "svg").decode() == vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    assert png(CHART).startswith(b"\x89PNG")
    assert pdf(CHART).startswith(b"%PDF")


def test_a_chart_that_is_none_is_refused_and_the_next_is_drawn():
    with pytest.raises(NoPicture, match="A figure cannot be drawn: "):
        rendered({"mark": {"type": 7}, "data": 3}, "svg")
    assert rendered(CHART.to_dict(validate=False), "svg").startswith(b"<svg")


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.abort()",
        "raise SystemExit(1)",
        "print('ok 100', flush=True)",
        "print('what?', flush=True)",
        "import time; time.sleep(100)",
    ],
)
def test_a_renderer_that_ends_or_hangs_leaves_a_note_in_the_figures_place(drawing, monkeypatch, code):
    monkeypatch.setattr(rendering, "PATIENCE", 0.5)
    drawing(code)
    with pytest.raises(NoPicture, match="ulimit -v unlimited"):
        png(CHART)
    shown = base64.b64decode(image(CHART).partition(",")[2]).decode()
    assert shown == NOT_DRAWN
    assert "could not be drawn" in shown


def test_where_no_process_starts_it_is_said(drawing, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(NoPicture, match="does not start"):
        png(CHART)


@pytest.mark.slow
@pytest.mark.parametrize("gibibytes", [4, 64])
def test_a_limit_on_addresses_costs_figures_and_nothing_else(gibibytes):
    code = (
        "import base64; from tests.presentation.test_rendering import *; shown = [image(CHART), image(CHART)]\n"
        "print(shown[0] == shown[1], base64.b64decode(shown[0].partition(',')[2]).decode() == NOT_DRAWN)"
    )
    limit = gibibytes << 30
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.split() == ["True", "True"]
