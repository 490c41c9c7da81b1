"""Claims in the terminal and on the page: complete, readable when narrow, and safe with hostile text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.papers.made_up_cells import cell
from tests.report.pages.test_browser import CHROMIUM, FLAGS
from tests.report.pages.test_run import Outline
from tests.report.rendered import render

from attentest.papers.claims import Claim, load_claims
from attentest.papers.outcome_files import committed
from attentest.papers.outcomes import evaluate
from attentest.presentation.charts import svg
from attentest.report.claims.figures import drawn, scatter
from attentest.report.claims.page import claims_page, write_claims_page
from attentest.report.claims.tables import claims_table, papers_table
from attentest.report.claims.view import MARKS, View

JAIN = "jain_wallace_2019"
HOSTILE = "<script>alert(1)</script> \u202eevil [bold]x[/]"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    """SST like for like, 20 Newsgroups not, the rest not run."""
    root = tmp_path_factory.mktemp("runs")
    cells = [cell(root, seed=s, tau=0.36 + 0.04 * s) for s in range(2)]
    cells.append(cell(root, encoder="average", tau=0.65))
    cells.append(cell(root, corpus="20news", tau=0.10, vectors=None))
    return View(load_claims(JAIN), evaluate(JAIN, cells))


@pytest.fixture(scope="module")
def hostile(view: View) -> View:
    def poisoned(outcome: Any) -> Any:
        if not outcome.settled:
            return dataclasses.replace(outcome, reason=f"{outcome.reason} {HOSTILE}")
        return dataclasses.replace(outcome, difference=HOSTILE, like_for_like=False, also=HOSTILE, reason=HOSTILE)

    return View(view.claims, [poisoned(outcome) for outcome in view.outcomes])


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_terminal_shows_every_compared_claim_in_any_width(view: View, width: int) -> None:
    text = render(claims_table(view, width=width, released=True), width=width)
    assert max(map(len, text.splitlines())) <= width
    flat = " ".join(text.split())
    for status, mark in MARKS.items():
        shown = flat.count(f"{mark[0]} {status}")
        assert shown == sum(outcome.status == status for outcome in view.outcomes if outcome.settled)
    assert "no pretrained vectors instead of fastText vectors of Simple English Wikipedia" in flat
    assert "CNN's articles and questions are not on this machine" in flat


def test_the_terminal_says_both_rates_and_never_mixes_them(view: View) -> None:
    text = " ".join(render(claims_table(view)).split())
    like, unlike = view.rates(view.figures)
    assert like.compared > 0
    assert unlike.compared > 0
    assert f"Figures like for like: {like}; not like for like: {unlike};" in text


@pytest.mark.slow
def test_recalled_claims_are_counted_so_that_the_numbers_add_up(view: View) -> None:
    assert view.recalled == ""
    outcomes = [
        dataclasses.replace(o, claim=recalled(o.claim)) if o.settled and place % 3 == 0 else o
        for place, o in enumerate(view.outcomes)
    ]
    some = View(view.claims, outcomes)
    known = sum(one.compared for found in (some.figures, some.directions) for one in some.rates(found))
    figures, directions = (
        sum(o.settled and o.claim.recalled for o in found) for found in (some.figures, some.directions)
    )
    assert figures > 1
    assert directions > 1
    assert known + figures + directions == sum(o.settled for o in some.outcomes)
    words = f"Recalled, unverified: {figures} figures and {directions} directions compared, in no rate"
    assert words in " ".join(render(claims_table(some)).split())
    assert words in Outline(claims_page(some)).text


def recalled(claim: Any) -> Any:
    if isinstance(claim, Claim):
        return dataclasses.replace(claim, source="recalled")
    return dataclasses.replace(claim, rule=dataclasses.replace(claim.rule, recalled=True))


def made(view: View, *ways: tuple[str, int]) -> str:
    """What is said of intervals that were made in these ways from so many seeds."""
    some = next(o for o in view.outcomes if o.interval)
    each = [dataclasses.replace(some, interval=way, seeds=tuple(range(seeds))) for way, seeds in ways]
    said = View(view.claims, each).intervals
    assert f"None is corrected for their number: of {sum(bool(way) for way, _ in ways)} at 95 %" in said
    return said.partition(" None is")[0]


def test_what_is_said_of_intervals_is_how_they_were_made(view: View) -> None:
    both = "Intervals are over seeds and texts drawn again, no narrower than Student’s t over seeds"
    assert made(view, ("wider", 3), ("wider", 5), ("", 3)) == f"{both}."
    assert made(view, ("bootstrap", 1), ("", 0)) == (
        "Intervals are over texts drawn again: each is of one seed, and says nothing of others."
    )
    assert made(view, ("bootstrap", 3)) == (
        "Intervals are over seeds and texts drawn again, not widened to Student’s t over seeds: "
        "from a few seeds too narrow."
    )
    mixed = made(view, ("wider", 3), ("bootstrap", 3), ("bootstrap", 3), ("bootstrap", 1))
    assert mixed == (
        f"{both} (but 1 of one seed: over texts alone; 2 not widened to Student’s t over their seeds: too narrow)."
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("jain_wallace_2019", "no narrower than Student’s t over seeds. None"),
        ("wiegreffe_pinter_2019", "over seeds (but 11 of one seed: over texts alone)"),
        ("serrano_smith_2019", "(but 36 not widened to Student’s t over their seeds"),
    ],
)
def test_the_committed_tables_say_how_their_intervals_were_made(name: str, said: str) -> None:
    assert said in View(load_claims(name), committed(name) or []).intervals


def test_a_direction_with_a_mark_shows_what_was_measured_beside_it(view: View) -> None:
    marked = [o for o in view.directions if o.settled and o.claim.rule.value]
    assert marked
    for outcome in marked:
        assert view.published(outcome).endswith(f"{outcome.claim.rule.value:g}".replace("-", "−"))
        measured = float(view.ours(outcome).replace("−", "-"))
        assert measured == pytest.approx(outcome.ours + outcome.claim.rule.value, abs=6e-4)
        assert f"{measured:.3f} against the mark" in outcome.also


@pytest.mark.slow
def test_released_figures_and_those_without_ours_are_counted_unless_asked_for(view: View) -> None:
    brief, whole = render(claims_table(view)), render(claims_table(view, everything=True))
    assert "'--table \"released results\"' lists them" in " ".join(brief.split())
    assert "CNN · bilstm" not in brief
    assert "CNN · bilstm" in whole
    assert len(whole.splitlines()) > 3 * len(brief.splitlines())


def test_a_list_of_papers_has_a_line_for_each(view: View) -> None:
    text = render(papers_table({JAIN: view}, {JAIN: "from 4 runs in runs"}))
    assert "1,332 figures, 150 directions" in text
    assert "Attention is not Explanation" in text
    assert "from 4 runs in runs" in " ".join(text.split())


def test_published_figures_stand_as_they_are_printed(view: View) -> None:
    shown = {
        (o.claim.measure, o.claim.group): view.published(o)
        for o in view.figures
        if isinstance(o.claim, Claim)
        and (o.claim.table, o.claim.corpus, o.claim.model)
        in (("Table 2", "SST", "bilstm"), ("Table 1", "SST", "bilstm"))
    }
    assert shown["tau_gradient", "0"] == "0.40 ± 0.21"
    assert shown["vocabulary", ""] == "16,175"
    assert shown["train_size", "0"] == "3034"


@pytest.mark.slow
def test_the_page_has_directions_first_then_the_scatter_then_every_figure(view: View) -> None:
    outline = Outline(claims_page(view, "from 4 runs"))
    places = [
        outline.text.index(words) for words in ("Directions:", "Published against ours", "Figures, table by table")
    ]
    assert places == sorted(places)
    assert outline.count("img") == 1
    rows = (
        outline.count("tr", class_="agrees")
        + outline.count("tr", class_="differs")
        + outline.count("tr", class_="unsettled")
    )
    assert rows == sum(outcome.settled for outcome in view.outcomes)
    absent = outline.count("tr", class_="not-run") + outline.count("tr", class_="unavailable")
    assert absent == sum(not outcome.settled for outcome in view.figures)
    for words in (*view.notes, view.claims.paper.conclusion, "from 4 runs", "89 % of the mean correlations"):
        assert words in outline.text


@pytest.mark.slow
def test_the_page_loads_nothing_runs_nothing_and_shows_hostile_text_as_text(hostile: View) -> None:
    html = claims_page(hostile, HOSTILE)
    outline = Outline(html)
    assert outline.count("meta", content="default-src 'none'; style-src 'unsafe-inline'; img-src data:") == 1
    assert outline.count("script") == 0
    assert "<script>alert(1)</script> ‹U+202E›evil [bold]x[/]" in outline.text
    assert "\u202e" not in html
    for _, attributes in outline.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "srcset", "href"):
            assert (attributes.get(name) or "data:").startswith(("data:", "#note-"))


def test_the_terminal_shows_hostile_text_as_text(hostile: View) -> None:
    text = render(claims_table(hostile, released=True))
    assert "\u202e" not in text
    assert "[bold]x[/]" in text


@pytest.mark.slow
def test_the_same_outcomes_give_the_same_page(view: View) -> None:
    assert claims_page(view) == claims_page(view)


@pytest.mark.slow
def test_a_paper_without_runs_or_figures_has_its_page_too() -> None:
    for name in (JAIN, "wiegreffe_pinter_2019"):
        empty = View(load_claims(name), evaluate(name))
        page = Outline(claims_page(empty))
        assert page.count("img") == 0
        assert "none compared" in page.text
        assert render(claims_table(empty))


@pytest.mark.slow
def test_the_scatter_draws_every_compared_figure_that_has_a_scale(view: View) -> None:
    panels = drawn(view)
    assert set(panels) == {rule.panel for rule in view.claims.rules.measures.values() if rule.panel}
    chart = scatter(view).to_dict(validate=False)
    drawn_points = sum(
        len(layer["data"]["values"])
        for panel in chart["concat"]
        for layer in panel["layer"]
        if layer["mark"]["type"] == "point"
    )
    assert drawn_points == sum(map(len, panels.values()))
    assert all(tolerance_of(view, outcomes) for outcomes in panels.values())
    assert "<svg" in svg(scatter(view, columns=1))


def tolerance_of(view: View, outcomes: list[Any]) -> bool:
    """One band for a panel is true only when all its measures have one tolerance."""
    return len({view.claims.rules.measures[o.claim.measure].tolerance for o in outcomes}) == 1


@pytest.fixture(params=[("light", 1280), ("dark", 1280), ("light", 390)], ids=["light", "dark", "phone"])
def window(request: pytest.FixtureRequest) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    colours, width = request.param
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=colours)
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("request", lambda sent: page.requests.append(sent.url))
        yield page
        browser.close()


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed at /usr/bin/chromium")
def test_the_page_opens_in_a_browser_and_never_scrolls_sideways(window: Any, hostile: View, tmp_path: Path) -> None:
    write_claims_page(hostile, tmp_path / "claims.html")
    window.goto((tmp_path / "claims.html").as_uri())
    assert window.complaints == []
    assert [url for url in window.requests if not url.startswith(("file:", "data:"))] == []
    assert window.evaluate("document.documentElement.scrollWidth") <= window.viewport_size["width"]
    image = window.locator("figure img")
    assert image.evaluate("image => image.naturalWidth") > 200
    box = image.bounding_box()
    assert box["x"] + box["width"] <= window.viewport_size["width"]
