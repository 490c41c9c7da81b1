"""A reader's way through the explorer, in a browser; what it shows is what Python computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from tests.explorer.pages.conftest import Site, quiet, ready
from tests.report.made_up import write_run

from attentest.explorer.server import explorer
from attentest.explorer.serving import served
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.presentation.calibrated import calibrated
from attentest.presentation.text import visible_token

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def instance(run: Path, row: int) -> dict[str, Any]:
    return pq.read_table(run / "findings" / "instances.parquet").slice(row, 1).to_pylist()[0]


def computed(text: dict[str, Any], weights: np.ndarray) -> dict[str, Any]:
    """What Python makes of other weights."""
    own, logits = np.array(text["attention"]), np.array(text["token_logits"])
    before, after = (torch.softmax(torch.tensor(w @ logits), -1) for w in (own, weights))
    return {
        "probabilities": after.tolist(),
        "jsd": jensen_shannon(torch.tensor(own), torch.tensor(weights)).item(),
        "tvd": total_variation(before, after).item(),
    }


def shown(page: Any) -> dict[str, Any]:
    """What the editor shows."""
    figure = "name => Number(document.querySelector(`[data-figure='${name}']`).dataset.value)"
    return {
        "probabilities": page.locator(".results .p").evaluate_all("all => all.map(one => Number(one.dataset.value))"),
        "jsd": page.evaluate(figure, "jsd"),
        "tvd": page.evaluate(figure, "tvd"),
    }


def equal(found: dict[str, Any], expected: dict[str, Any], within: float = 1e-12) -> None:
    assert found["probabilities"] == pytest.approx(expected["probabilities"], abs=within)
    assert found["jsd"] == pytest.approx(expected["jsd"], abs=within)
    assert found["tvd"] == pytest.approx(expected["tvd"], abs=within)


def weighted(text: dict[str, Any], place: int, value: float) -> np.ndarray:
    own = np.array(text["attention"])
    weights = own * (1 - value) / (own.sum() - own[place])
    weights[place] = value
    return weights


def test_from_home_to_a_plot_to_a_text_to_a_weight(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), site.address)
    page.get_by_role("link", name=site.real.name).click()
    point = page.locator(".plot .point").first
    point.wait_for()
    rows = page.locator(".plot").first.locator(".point").evaluate_all("all => all.map(one => one.dataset.row)")
    point.click(force=True)
    page.wait_for_selector(".editor .bar")
    address, _, row = urlsplit(page.url).path.rpartition("/")
    assert address == f"/runs/{site.real.name}/texts"
    assert row in rows
    text = instance(site.real, int(row))
    equal(shown(page), computed(text, np.array(text["attention"])))

    bar = page.locator(".bar").nth(1)
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.3, steps=5)
    page.mouse.up()
    value = float(bar.get_attribute("aria-valuenow"))
    assert 0.05 < value < 1
    equal(shown(page), computed(text, weighted(text, 1, value)), within=1e-6)
    assert parse_qs(urlsplit(page.evaluate("location.href")).query)["w"] == [f"own~1:{value:g}"]
    quiet(page, site)


def test_a_weight_typed_stepped_zeroed_spread_and_reset(window: Callable[..., Any], site: Site) -> None:
    page, text = ready(window(), site.text(site.real)), instance(site.real, 0)
    own = np.array(text["attention"])
    page.locator(".bar").nth(2).focus()
    field = page.get_by_label("Weight of the chosen word")
    field.fill("0.5")
    field.press("Enter")
    equal(shown(page), computed(text, weighted(text, 2, 0.5)))
    page.locator(".bar").nth(2).focus()
    page.keyboard.press("ArrowUp")
    equal(shown(page), computed(text, weighted(text, 2, 0.51)))
    page.get_by_role("button", name="zero it").click()
    equal(shown(page), computed(text, weighted(text, 2, 0)))
    page.get_by_role("button", name="reset it").click()
    equal(shown(page), computed(text, own), within=1e-9)
    page.get_by_role("button", name="the model’s own").click()
    page.get_by_role("button", name="spread it evenly").click()
    evenly = own + own[2] / (len(own) - 1)
    evenly[2] = 0
    equal(shown(page), computed(text, evenly))
    quiet(page, site)


def test_weights_to_begin_from(window: Callable[..., Any], site: Site) -> None:
    page, text = ready(window(), site.text(site.real)), instance(site.real, 0)
    own = np.array(text["attention"])
    page.get_by_role("button", name="uniform").click()
    equal(shown(page), computed(text, np.full(len(own), 1 / len(own))))
    page.get_by_role("button", name="permuted").click()
    first = shown(page)
    page.get_by_role("button", name="permuted").click()
    assert shown(page) != first
    attack = pq.read_table(next((site.real / "findings").glob("adversary*.parquet"))).to_pylist()
    mine = next(found for found in attack if found["id"] == text["id"])
    page.get_by_role("button", name="adversary").click()
    equal(shown(page), computed(text, np.array(mine["adversarial_attention"])), within=1e-9)
    assert shown(page)["jsd"] == pytest.approx(mine["lower"], abs=1e-6)
    assert "the prediction is kept" in page.locator("[data-figure=within]").inner_text()
    quiet(page, site)


def test_the_smallest_flip_set_flips(window: Callable[..., Any], site: Site) -> None:
    sets = pq.read_table(next((site.real / "findings").glob("flip_sets*.parquet"))).to_pylist()
    found = next(one for one in sets if one["order"] == "smallest" and one["items"])
    ids = pq.read_table(site.real / "findings" / "instances.parquet")["id"].to_pylist()
    page = ready(window(), site.text(site.real, ids.index(found["id"])))
    page.get_by_role("button", name="smallest flip set").click()
    assert "instead of" in page.locator(".decision").inner_text()
    for place, bar in enumerate(page.locator(".bar").all()):
        assert (float(bar.get_attribute("aria-valuenow")) == 0) == (place in found["items"])
    quiet(page, site)


def test_a_link_shows_the_same_in_another_browser(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), site.text(site.real))
    page.get_by_role("button", name="adversary").click()
    page.locator(".bar").nth(1).focus()
    page.keyboard.press("PageUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Delete")
    page.get_by_role("button", name="as running texts").click()
    again = ready(window(), page.evaluate("location.href"))
    assert shown(again) == shown(page)
    assert again.locator(".heatmap.texts").count() == 1
    weights = "all => all.map(one => one.getAttribute('aria-valuenow'))"
    assert again.locator(".bar").evaluate_all(weights) == page.locator(".bar").evaluate_all(weights)


def test_ones_own_text_and_a_word_taken_out(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/runs/{site.real.name}")
    page.get_by_label("Your own text").fill("it was <b>good</b> w1 good")
    page.get_by_role("button", name="read it").click()
    page.wait_for_selector(".editor .bar")
    assert page.locator("button.column").all_inner_texts() == ["it", "was", "<b>good</b>", "w1", "good"]
    before = shown(page)["probabilities"]
    page.locator("button.column").nth(4).click()
    page.get_by_role("button", name="take it out").click()
    page.locator("button.column").nth(4).wait_for(state="detached")
    assert shown(page)["probabilities"] != before
    quiet(page, site)


def test_words_exchanged_are_in_the_address_and_can_be_taken_back(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), site.text(site.real, 1))
    words = page.locator("button.column").all_inner_texts()
    page.locator("button.column").nth(1).click()
    page.get_by_label("Another word").fill("~=&good")
    page.get_by_role("button", name="exchange").click()
    page.wait_for_selector("#changes")
    expected = [words[0], "~=&good", *words[2:]]
    assert page.locator("button.column").all_inner_texts() == expected
    again = ready(window(), page.evaluate("location.href"))
    assert again.locator("button.column").all_inner_texts() == expected
    again.get_by_role("button", name="back to the text as it is").click()
    again.wait_for_selector("#changes", state="detached")
    assert again.locator("button.column").all_inner_texts() == words
    quiet(page, site)


def test_two_models_on_the_same_text(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.text(site.real)}?with={site.other.name}")
    page.wait_for_selector("#other-says")
    assert page.get_by_label("Another run").input_value() == site.other.name
    rows = page.locator(".aligned table").first.locator("tbody th").all_inner_texts()
    assert "beside: attention" in rows
    quiet(page, site)


def test_a_hostile_corpus_is_text(window: Callable[..., Any], site: Site) -> None:
    for width in (1280, 390):
        page = window(width=width)
        for path in ("", f"/runs/{site.hostile.name}", *(f"/runs/{site.hostile.name}/texts/{row}" for row in (0, 7))):
            ready(page, site.address + path)
            assert page.locator("script:not([src^='/static/'])").count() == 0
            assert page.locator("img").count() == 0
            assert page.title() != "owned"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        text = instance(site.hostile, 7)
        words = page.locator("button.column").all_inner_texts()
        assert [word[:30] for word in words] == [visible_token(token)[:30].strip() for token in text["tokens"]]
        quiet(page, site)


def test_a_class_without_end_keeps_the_page_narrow(window: Callable[..., Any], tmp_path: Path) -> None:
    write_run(tmp_path / "wide", 12, ("W" * 60, "no"))
    with served(explorer(tmp_path, judging=False)) as at:
        page = ready(window(width=390), f"{at}/runs/wide")
        assert "W" * 60 in page.locator(".keys").first.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_words_without_end_and_from_right_to_left(window: Callable[..., Any], site: Site) -> None:
    table = pq.read_table(site.real / "findings" / "instances.parquet").to_pylist()
    for wanted in ("x" * 5_000, "مرحبا"):
        row = next((i for i, text in enumerate(table) if wanted in text["tokens"]), None)
        if row is None:
            continue
        for width in (1280, 390):
            page = ready(window(width=width), f"{site.text(site.real, row)}?view=texts")
            assert wanted in page.locator(".texts .token").nth(table[row]["tokens"].index(wanted)).inner_text()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            quiet(page, site)


def test_layers_and_heads_are_refused_in_one_line_where_there_are_none(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.text(site.real)}?layers=1")
    assert page.locator("#layers").count() == 0
    quiet(page, site)


def test_a_study_is_a_grid_whose_pictures_are_doors(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), site.address)
    page.get_by_role("link", name="A <i>small</i> study").click()
    page.wait_for_selector(".grid")
    heads = page.locator(".grid thead th").all_inner_texts()
    assert heads == ["bilstm(hidden=6), additive", "average(hidden=6), additive", "<b>none</b>"]
    page.get_by_label("Experiment").select_option("uniform")
    page.locator(".multiple .point").first.wait_for()
    changes = pq.read_table(site.other / "findings" / "uniform.parquet")["change"].to_numpy()
    assert float(page.locator(".multiple b").nth(1).inner_text()) == pytest.approx(changes.mean(), rel=0.05, abs=0.005)
    again = ready(window(), page.evaluate("location.href"))
    assert again.get_by_label("Experiment").input_value() == "uniform"
    again.locator("a.multiple").nth(1).click()
    again.wait_for_url(f"**/runs/{site.other.name}")
    quiet(page, site)


def test_the_first_page_shows_the_grid_of_a_study(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/?experiment=uniform")
    page.locator("#grid .multiple .point").first.wait_for()
    assert page.locator("#grid h3").inner_text() == "A <i>small</i> study"
    page.get_by_label("Experiment").select_option("attention")
    page.wait_for_url("**/?experiment=attention")
    page.locator("#grid a.multiple").nth(1).click()
    page.wait_for_url(f"**/runs/{site.other.name}")
    quiet(page, site)


def test_every_point_of_a_roc_is_a_model(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/calibration?test=adversary.ratio")
    page.locator("#roc .plot").first.wait_for()
    titles = page.locator("#roc h3").all_inner_texts()
    assert titles[0] == f"To say which words mattered: AUROC {calibrated().auroc['adversary.ratio']['words'][0]:.2f}"
    points, models = (page.locator("#roc .plot").first.locator(what).count() for what in (".point", ".members li"))
    assert points == models > 50
    page.get_by_role("button", name="adversary · searched", exact=True).click()
    page.locator("#roc h2", has_text="adversary · searched").wait_for()
    assert "test=adversary.searched" in page.evaluate("location.href")
    quiet(page, site)


def test_claims_are_sorted_and_filtered_in_the_address(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/claims/serrano_smith_2019")
    page.get_by_role("button", name="Ours [95 %]").click()
    ours = page.locator("td[data-head='Ours [95 %]']").all_inner_texts()
    numbers = [float(one.split()[0].replace("−", "-").replace(",", "")) for one in ours if one[0] != "–"]
    assert numbers == sorted(numbers)
    page.locator("[data-filter=status]").select_option("differs")
    again = ready(window(), page.evaluate("location.href"))
    assert set(again.locator("td[data-head=Status] .chip").all_inner_texts()) == {"differs"}
    assert again.locator("th[aria-sort=ascending]").inner_text().startswith("Ours")
    quiet(page, site)


def test_the_model_says_the_same_as_the_browser(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.text(site.real)}?w=adversary~1:0.3")
    weights = page.evaluate(
        """async () => {
          const text = await (await fetch(location.pathname + ".json")).json();
          const { edited } = await import("/static/maths.js");
          return edited(text.adversary.weights, [{ place: 1, value: 0.3 }]);
        }"""
    )
    address = f"{site.address}/runs/{site.real.name}/reread.json"
    answer = page.request.post(address, data={"row": 0, "weights": weights})
    equal(shown(page), answer.json(), within=1e-6)
