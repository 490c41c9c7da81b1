"""Models that are not one affine classifier, in a browser: another head, a translator, a checkpoint of many heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.conftest import made_up_corpus
from tests.explorer.pages.conftest import ready
from tests.explorer.pages.test_access import WINDOWS, reach_every_control, serious
from tests.explorer.pages.test_flow import shown
from tests.support.pairs import made_up_questions
from tests.support.pretrained import tiny, tokenizer_of

from attentest.explorer.server import explorer
from attentest.explorer.serving import served
from attentest.models.huggingface.checkpoint import quietly
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SMALL: dict[str, Any] = {"encoder": "bigru(hidden=6)", "embedding": 8, "epochs": 1, "limit": 4}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kinds")


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    with served(explorer(root)) as found:
        yield found


def audited(root: Path, **choices: Any) -> str:
    run = describe_run(challenges=("uniform",), **choices)
    execute(run, root)
    return f"/runs/{run.id}"


def for_everyone(window: Callable[..., Any], address: str, part: str) -> None:
    """Nothing serious by axe-core's rules, light, dark and narrow."""
    for how in WINDOWS.values():
        page = ready(window(**how), address)
        page.wait_for_selector(part)
        assert serious(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def typed(page: Any, place: int, value: float) -> list[float]:
    """Give one word another weight; all weights that then stand there."""
    page.locator(".bar").nth(place).focus()
    field = page.get_by_label("Weight of the chosen word")
    field.fill(str(value))
    with page.expect_response(lambda response: "reread" in response.url):
        field.press("Enter")
    return [float(bar.get_attribute("aria-valuenow")) for bar in page.locator(".bar").all()]


def test_a_head_that_is_not_affine_is_asked_each_time(window: Callable[..., Any], address: str, root: Path) -> None:
    at = audited(root, corpus=made_up_questions(40), head="joint_tanh", **SMALL)
    page = ready(window(), f"{address}{at}/texts/1")
    weights = typed(page, 0, 0.9)
    page.wait_for_timeout(300)
    asked = httpx.post(f"{address}{at}/reread.json", json={"row": 1, "weights": weights}, headers={"Origin": address})
    expected = asked.json()
    found = shown(page)
    assert found["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-4)
    assert found["tvd"] == pytest.approx(expected["tvd"], abs=1e-4)
    assert page.complaints == []


def test_a_translation_is_a_matrix_whose_rows_open(window: Callable[..., Any], address: str, root: Path) -> None:
    corpus, decoder = "dates(train=60, dev=8, test=12)", "bahdanau(hidden=8, dropout=0.0)"
    at = audited(root, corpus=corpus, decoder=decoder, **SMALL | {"limit": 3})
    text = httpx.get(f"{address}{at}/texts/2.json").json()
    page = ready(window(), f"{address}{at}/texts/2")
    rows = page.locator(".matrix tbody tr")
    assert rows.count() == len(text["matrix"]["target"])
    assert rows.first.locator("td").count() == len(text["matrix"]["source"])
    heights = rows.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    assert page.locator(".matrix tr.chosen").count() == 1
    assert max(heights) - min(heights) <= 1
    reach_every_control(page)
    for_everyone(window, page.url, ".matrix")
    rows.nth(0).get_by_role("button").click()
    page.wait_for_url(f"**/texts/{text['matrix']['rows'][0]}*")
    page.wait_for_selector(".editor .bar")
    assert page.locator(".bar").count() == len(text["matrix"]["source"])
    assert page.complaints == []


def test_a_checkpoint_opens_every_head_and_is_edited_there(
    window: Callable[..., Any], address: str, root: Path, tmp_path: Path
) -> None:
    tokenizer = tokenizer_of()
    with quietly():
        tiny("bert", size=len(tokenizer), sharp=1.0).save_pretrained(tmp_path / "tiny")
        tokenizer.save_pretrained(tmp_path / "tiny")
    at = audited(root, corpus=made_up_corpus(count=40), fine_tune=tmp_path / "tiny", epochs=1, limit=4)
    page = ready(window(), f"{address}{at}/texts/1?layers=1")
    page.wait_for_selector(".head")
    grid = httpx.get(f"{address}{at}/texts/1/heads.json").json()
    sites = [head["site"] for layer in grid["layers"] for head in layer["heads"]]
    assert [head.get_attribute("data-site") for head in page.locator(".head").all()] == sites
    reach_every_control(page)
    for_everyone(window, page.url, ".head")
    page.locator(".head").nth(1).click()
    page.get_by_role("button", name="edit the weights here").click()
    page.get_by_text(f"Read at {sites[1]}").wait_for()
    weights = [float(bar.get_attribute("aria-valuenow")) for bar in page.locator(".bar").all()]
    assert weights == pytest.approx(grid["layers"][0]["heads"][1]["weights"], abs=1e-4)
    assert page.complaints == []
