"""The front end's modules by themselves: their mathematics is Python's, and any text survives them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.explorer.pages.conftest import STATIC
from tests.report.made_up import HOSTILE

import attentest.report
from attentest.explorer.data.selection import CORNERS, inside
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.presentation.text import visible_token

pytestmark = pytest.mark.browser

MATHS = """async ([name, given]) => {
  const maths = await import("/static/maths.js");
  return maths[name](...given);
}"""


@pytest.fixture
def maths(modules: Callable[..., Any]) -> Callable[..., Any]:
    page = modules()
    return lambda name, *given: page.evaluate(MATHS, [name, list(given)])


def draw(seed: int, length: int) -> list[float]:
    return np.random.default_rng(seed).dirichlet(np.full(length, 0.2)).tolist()


@pytest.mark.parametrize("length", [1, 2, 7, 400])
def test_divergences_are_pythons(maths: Callable[..., Any], length: int) -> None:
    p, q = draw(0, length), draw(1, length)
    p[0] = 0.0
    zeroed = torch.tensor(p, dtype=torch.float64), torch.tensor(q, dtype=torch.float64)
    assert maths("jsd", p, q) == pytest.approx(jensen_shannon(*zeroed).item(), abs=1e-14)
    assert maths("tvd", p, q) == pytest.approx(total_variation(*zeroed).item(), abs=1e-14)


def test_divergences_of_distributions_that_share_nothing(maths: Callable[..., Any]) -> None:
    assert maths("jsd", [1, 0], [0, 1]) == math.log(2)
    assert maths("tvd", [1, 0], [0, 1]) == 1
    assert maths("jsd", [0.3, 0.7], [0.3, 0.7]) == 0


def test_a_prediction_from_the_logits_of_tokens(maths: Callable[..., Any]) -> None:
    weights, logits = np.array(draw(2, 50)), np.random.default_rng(3).normal(scale=9, size=(50, 3))
    mixed = maths("mixed", weights.tolist(), logits.tolist())
    assert mixed == pytest.approx((weights @ logits).tolist(), abs=1e-12)
    expected = torch.softmax(torch.tensor(weights @ logits), -1).tolist()
    assert maths("softmax", mixed) == pytest.approx(expected, abs=1e-14)
    assert maths("softmax", [1000, 0]) == [1, 0]


def test_an_edited_word_keeps_its_weight_and_the_others_scale(maths: Callable[..., Any]) -> None:
    before = np.array(draw(4, 9))
    after = np.array(maths("withWeight", before.tolist(), 3, 0.4))
    assert after[3] == 0.4
    assert after.sum() == pytest.approx(1, abs=1e-14)
    others = [i for i in range(9) if i != 3]
    np.testing.assert_allclose(after[others] / before[others], 0.6 / (1 - before[3]), rtol=1e-12)


def test_weights_at_the_ends(maths: Callable[..., Any]) -> None:
    assert maths("withWeight", [1], 0, 0.2) == [1]
    assert maths("withWeight", [1, 0, 0], 0, 0) == [0, 0.5, 0.5]
    assert maths("withWeight", [0.5, 0.5], 0, 7) == [1, 0]
    assert maths("spread", [0.5, 0.25, 0.25], 0) == [0, 0.5, 0.5]
    assert maths("without", [0.5, 0.25, 0.25], [0]) == [0, 0.5, 0.5]
    assert maths("normalised", [0, 0]) == [0.5, 0.5]


def test_a_permutation_keeps_the_weights_and_is_the_same_for_the_same_number(maths: Callable[..., Any]) -> None:
    weights = draw(5, 30)
    first, again, other = (maths("permuted", weights, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first) == sorted(weights)
    assert first != weights


def test_edits_survive_the_address(maths: Callable[..., Any]) -> None:
    edits = [{"place": 4, "value": 0.25}, {"place": 7, "even": True}, {"place": 0, "value": 0}]
    text = maths("written", "adversary", edits)
    assert text == "adversary~4:0.25~7:even~0:0"
    assert maths("parsed", text, 8) == {"base": "adversary", "edits": edits}
    assert maths("parsed", "own~99:0.5~x:1~3:y", 8) == {"base": "own", "edits": []}


def test_colours_and_type_are_the_reports() -> None:
    report = Path(attentest.report.__file__).parent / "templates"
    tokens = {
        token.strip()
        for name in ("page.css", "explanation.css")
        for line in (report / name).read_text("utf-8").splitlines()
        for token in line.replace("{", ";").replace("}", ";").split(";")
        if token.strip().startswith("--") and "var(" not in token
    }
    assert len(tokens) >= 30
    ours = (STATIC / "explorer.css").read_text("utf-8")
    assert [
        token for token in sorted(tokens) if token not in ours and token.partition(":")[0] not in ("--a", "--c")
    ] == []


DRAW = """async ([tokens, rows, mode]) => {
  const { heatmap } = await import("/static/heatmap.js");
  heatmap(document.getElementById("page"), { tokens, rows, mode, onWord: () => {} });
}"""
LONG = "x" * 5_000


@pytest.mark.parametrize("mode", ["aligned", "texts"])
@pytest.mark.parametrize("width", [390, 1280])
def test_any_text_is_shown_as_text(modules: Callable[..., Any], mode: str, width: int) -> None:
    page = modules(width=width)
    tokens = [*HOSTILE, LONG, "", " ", "مرحبا", "العالم"]
    page.evaluate(DRAW, [tokens, [{"name": "attention", "scores": list(range(len(tokens)))}], mode])
    shown = page.locator("button.column, button.token").all_inner_texts()
    assert len(shown) == len(tokens)
    for token, text in zip(tokens, shown, strict=True):
        word = visible_token(token)[:30]
        assert text.strip()[: len(word)] == word
    assert page.complaints == []
    assert page.locator("#page script, #page img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_text_from_right_to_left_runs_so(modules: Callable[..., Any]) -> None:
    page = modules()
    page.evaluate(DRAW, [["שלום", "עולם"], [{"name": "attention", "scores": [1, 2]}], "aligned"])
    first, second = (one.bounding_box()["x"] for one in page.locator("button.column").all())
    assert first > second


@pytest.mark.parametrize("mode", ["aligned", "texts"])
def test_numbers_are_there_for_eyes_hands_and_ears(modules: Callable[..., Any], mode: str) -> None:
    page = modules()
    page.evaluate(DRAW, [["good", "film"], [{"name": "gradient", "scores": [0.5, -0.25]}], mode])
    cell = page.locator(".heat").nth(1)
    value = cell.locator(".value")
    assert value.inner_text().strip() == "−0.250"
    assert value.bounding_box()["width"] <= 1
    cell.hover()
    assert value.bounding_box()["width"] > 10
    page.mouse.move(0, 0)
    page.locator(".heat").first.focus()
    page.keyboard.press("ArrowRight")
    assert cell.evaluate("one => one === document.activeElement")
    assert value.bounding_box()["width"] > 10
    assert "against" in cell.get_attribute("class")


CONTRAST = """async ([colour]) => {
  const { heatmap } = await import("/static/heatmap.js");
  const other = { name: "other", scores: [1, 0], hue: "other" };
  const rows = [{ name: "sizes", scores: [1, 0] }, { name: "signs", scores: [1, -1] }, other];
  heatmap(document.getElementById("page"), { tokens: ["a", "b"], rows, mode: "texts" });
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const parts = [...canvas.getImageData(0, 0, 1, 1).data].map((x) => x / 255);
    const [r, g, b] = parts.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll(".token")].map((one) => {
    const style = getComputedStyle(one);
    light(getComputedStyle(document.body).backgroundColor);
    const [a, b] = [light(style.backgroundColor), light(style.color)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}"""


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_words_can_be_read_on_the_darkest_shade(modules: Callable[..., Any], colours: str) -> None:
    page = modules(colours=colours)
    assert min(page.evaluate(CONTRAST, [colours])) >= 4.5


LASSO = """async ([name, given]) => {
  const lasso = await import("/static/lasso.js");
  return typeof lasso[name] === "function" ? lasso[name](...given) : lasso[name];
}"""


def test_the_browser_and_the_server_find_the_same_points_inside(modules: Callable[..., Any]) -> None:
    page, draw = modules(), np.random.default_rng(5)
    corners = draw.uniform(-1, 1, (20, 2)).round(2)
    points = draw.uniform(-1.1, 1.1, (400, 2)).round(2)  # some lie on the line
    code = """async ([loop, points]) => {
      const { holds } = await import("/static/lasso.js");
      return points.map(([x, y]) => holds({ loop }, x, y));
    }"""
    assert page.evaluate(code, [corners.tolist(), points.tolist()]) == inside(corners, *points.T).tolist()
    assert page.evaluate(LASSO, ["CORNERS", []]) == CORNERS


def test_a_drawn_line_keeps_its_shape_with_few_corners(modules: Callable[..., Any]) -> None:
    page, draw = modules(), np.random.default_rng(6)
    angle = np.linspace(0, 2 * np.pi, 700)
    line = np.stack([150 + 90 * np.cos(angle), 120 + 60 * np.sin(3 * angle)], -1) + draw.normal(
        scale=0.4, size=(700, 2)
    )
    kept = np.array(page.evaluate(LASSO, ["simplified", [line.tolist()]]))
    assert 12 < len(kept) <= CORNERS
    ends = np.stack([kept[:-1], kept[1:]], 1)
    along = ends[:, 1] - ends[:, 0]
    share = np.clip(((line[:, None] - ends[:, 0]) * along).sum(-1) / (along**2).sum(-1), 0, 1)
    far = np.linalg.norm(line[:, None] - ends[:, 0] - share[..., None] * along, axis=-1).min(-1)
    assert far.max() < 4
    straight = [[float(i), 2.0 * i] for i in range(50)]
    assert page.evaluate(LASSO, ["simplified", [straight]]) == [straight[0], straight[-1]]


@pytest.mark.parametrize(
    "text",
    ["a:0,1,0,1", "a:-1.5,1,0,0.25", "a:loop:0,0,1,0,1,1", "a:loop:0.1,0.2,0.3,-0.4,5,6,7,8"],
)
def test_a_selection_is_read_as_it_was_written(modules: Callable[..., Any], text: str) -> None:
    page = modules()
    assert page.evaluate(LASSO, ["writtenChoice", [page.evaluate(LASSO, ["parsedChoice", [text]])]]) == text


@pytest.mark.parametrize(
    "text", ["", "a", "a:", "a:0,1,0", "a:0,1,0,x", "a:loop:0,1,2", "a:ring:0,1,0,1,2,3", ":0,1,0,1"]
)
def test_what_is_no_selection_is_none(modules: Callable[..., Any], text: str) -> None:
    assert modules().evaluate(LASSO, ["parsedChoice", [text]]) is None
