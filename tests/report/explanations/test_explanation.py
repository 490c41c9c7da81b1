"""An explanation in the terminal, as a page, as a frame and as values: complete, and safe whatever the words are."""

from __future__ import annotations

import html
import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.report.rendered import render

from attentest.errors import InputError
from attentest.report.explanations.explanation import Explanation, Pairs, Scored, excerpt
from attentest.report.explanations.terminal import ExplanationView

HOSTILE = ("<script>alert(1)</script>", "{{ 7 * 7 }}", "[bold red]x[/]", "\u202eevil\u202c", "a" * 300, "&amp;", "\x07")


def explanation(**changes: Any) -> Explanation:
    made: dict[str, Any] = {
        "text": "it was not good",
        "tokens": ("it", "was", "not", "good"),
        "unknown": (False, False, False, True),
        "classes": ("negative", "positive"),
        "probabilities": (0.9, 0.1),
        "target": "negative",
        "methods": (
            Scored("attention", "the weight", "Someone 2015", "one pass", False, (0.1, 0.0, 0.6, 0.3)),
            Scored(
                "integrated_gradients(n_steps=9)",
                "collected gradients",
                "Others 2017",
                "nine passes",
                True,
                (0.0, 0.25, 1.5, -0.75),
                {"completeness_gap": 0.0, "difference": 1.0, "steps": 9.0, "complete": 1.0},
            ),
        ),
        "pairs": Pairs("by hand", "two together", "—", "nothing", _matrix(4, {(2, 3): -0.42, (0, 1): 0.1})),
        "run": "runs/reviews-1",
        "model": "bilstm, additive attention",
        "tokenisation": "words between spaces",
        "notes": ("Mind the gap.",),
    }
    return Explanation(**(made | changes))


def _matrix(size: int, pairs: dict[tuple[int, int], float]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(pairs.get((min(i, j), max(i, j)), 0.0) for j in range(size)) for i in range(size))


def hostile() -> Explanation:
    zeros = tuple(i / len(HOSTILE) for i in range(len(HOSTILE)))
    method = Scored(f"m(file={HOSTILE[0]!r})", HOSTILE[0], HOSTILE[0], HOSTILE[2], True, zeros, {HOSTILE[0]: 1.0})
    return explanation(
        text=" ".join(HOSTILE),
        tokens=HOSTILE,
        unknown=(True,) * len(HOSTILE),
        classes=(HOSTILE[0], HOSTILE[2]),
        target=HOSTILE[0],
        methods=(method,),
        pairs=Pairs(HOSTILE[0], HOSTILE[0], HOSTILE[0], HOSTILE[0], _matrix(len(HOSTILE), {(0, 1): 1.0})),
        run=HOSTILE[0],
        model=HOSTILE[2],
        tokenisation=HOSTILE[0],
        notes=(HOSTILE[0],),
    )


# ── values ──


def test_the_predicted_class_is_the_most_probable_one():
    assert explanation().predicted == "negative"
    assert explanation(probabilities=(0.2, 0.8)).predicted == "positive"


def test_a_frame_has_a_row_for_every_word_and_a_column_for_every_method():
    frame = explanation().to_frame()
    assert list(frame.columns) == ["token", "unknown", "attention", "integrated_gradients(n_steps=9)"]
    assert frame["token"].tolist() == ["it", "was", "not", "good"]
    assert frame["attention"].tolist() == [0.1, 0.0, 0.6, 0.3]


def test_the_record_is_json_and_numbers_that_do_not_exist_are_null():
    broken = Scored("m", "s", "r", "c", True, (math.nan, 1.0, -math.inf, 0.0), {"gap": math.nan})
    record = json.loads(json.dumps(explanation(methods=(broken,)).to_record(), allow_nan=False))
    assert record["methods"][0]["scores"] == [None, 1.0, None, 0.0]
    assert record["methods"][0]["certificate"] == {"gap": None}
    assert record["probabilities"] == {"negative": 0.9, "positive": 0.1}
    assert record["interactions"]["scores"][2][3] == -0.42


def test_the_strongest_pairs_come_first_each_once():
    pairs = explanation().pairs
    assert pairs is not None
    assert pairs.strongest(9) == [(2, 3, -0.42), (0, 1, 0.1)]
    assert pairs.strongest(1) == [(2, 3, -0.42)]


def test_a_word_that_occurs_twice_is_told_apart_by_its_place():
    made = explanation(tokens=("not", "very", "not", "good"))
    assert [made.label(i) for i in range(4)] == ["not (1)", "very", "not (3)", "good"]


def test_certificates_are_sentences():
    assert explanation().certificates["integrated_gradients(n_steps=9)"][0].startswith("The scores add up")


@given(st.lists(st.floats(-1, 1), max_size=60), st.integers(1, 30))
def test_an_excerpt_accounts_for_every_word_in_order(weights, most):
    found: list[int] = []
    for place in excerpt(len(weights), [weights], most):
        found += place if isinstance(place, range) else [place]
    assert found == list(range(len(weights)))


def test_the_heaviest_word_of_a_long_text_is_in_the_excerpt():
    weights = [0.0] * 500
    weights[333] = -2.0
    shown = [place for place in excerpt(500, [weights], 50) if not isinstance(place, range)]
    assert 333 in shown
    assert len(shown) <= 60


@pytest.mark.parametrize("name", ["x.txt", "x", "x.pdf"])
def test_an_ending_that_is_neither_page_nor_values_is_refused(name, tmp_path):
    with pytest.raises(InputError, match=r"\.html"):
        explanation().save(tmp_path / name)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        explanation().save(tmp_path / "nowhere" / "x.html")


def test_saved_are_the_page_and_the_values(tmp_path):
    made = explanation()
    assert made.save(tmp_path / "x.html").read_text(encoding="utf-8") == made.to_html()
    assert json.loads(made.save(tmp_path / "x.json").read_text(encoding="utf-8")) == made.to_record()


# ── terminal ──


@pytest.mark.parametrize("width", [40, 80, 120])
def test_without_colours_the_top_words_are_in_print(width):
    shown = render(ExplanationView(explanation()), width=width)
    assert all(len(line) <= width for line in shown.splitlines())
    flat = " ".join(shown.split())
    for words in ("not 0.600 good 0.300", "not +1.50", "good −0.750", "negative 90.0 %", "not + good: −0.420", "Mind"):
        assert words in flat
    assert "it was not good" in flat
    assert "good: the model has never met it" in flat
    assert "✓ The scores add up" in flat


def test_with_colours_a_sign_has_a_colour_of_its_own():
    shown = render(ExplanationView(explanation()), colour=True)
    blue, orange, amber = ("\x1b[38;2;0;0;0;48;2;92;165;230m", "48;2;", "48;2;245;190;70m")
    assert f"{blue}not" in shown
    assert f"{amber}not" in shown
    assert orange in shown
    assert "Colours:" in shown


def test_no_color_is_honoured():
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="truecolor", no_color=True)
    with console.capture() as capture:
        console.print(ExplanationView(explanation()))
    assert "48;2;" not in capture.get()
    assert "it was not" in capture.get()


def test_hostile_words_are_words_in_the_terminal():
    shown = render(ExplanationView(hostile()))
    assert "[bold red]x[/]" in shown
    assert "‹U+202E›evil‹U+202C›" in shown
    assert "\x07" not in shown


def test_scores_that_are_all_zero_or_not_numbers_are_said_to_be_none():
    nothing = Scored("m", "s", "r", "c", True, (0.0, math.nan, 0.0, 0.0))
    shown = render(ExplanationView(explanation(methods=(nothing,), pairs=None)))
    assert "no word has a score" in shown


def test_many_classes_are_not_all_listed():
    classes = tuple(f"class{i}" for i in range(20))
    shown = render(ExplanationView(explanation(classes=classes, probabilities=(0.05,) * 20, target="class3")))
    assert "16 other classes" in shown


# ── page ──


def test_the_page_has_every_word_score_certificate_and_reference():
    page = html.unescape(explanation().to_html())
    for words in (
        "Which words mattered?",
        "negative, 90.0\N{NO-BREAK SPACE}%",
        "Someone 2015",
        "Others 2017",
        "−0.750",
    ):
        assert words in page
    assert "The scores add up" in page
    assert page.count('class="word most') == 4
    assert page.count('<rect class="cell') == 4
    assert "not + good: −0.420" in page


def test_the_page_runs_and_loads_nothing():
    page = hostile().to_html()
    assert "default-src 'none'" in page
    assert "<script" not in page.lower()
    assert not re.search(r"\b(?:src|href)=\"(?!data:)", page)
    assert not re.search(r"\son\w+=", re.sub(r">[^<]*<", "><", page))
    assert "{{ 7 * 7 }}" in html.unescape(page)


def test_the_notebook_s_frame_is_sandboxed_and_holds_the_page():
    made = explanation()
    frame = made._repr_html_()
    assert frame.startswith("<iframe sandbox")
    held = re.search(r'srcdoc="([^"]*)"', frame)
    assert held is not None
    assert html.unescape(held[1]) == made.to_html()


def test_of_a_long_text_the_page_shows_parts_and_all_of_it_on_request():
    tokens = tuple(f"w{i}" for i in range(300))
    scores = tuple(float(i == 200) for i in range(300))
    page = explanation(
        tokens=tokens,
        unknown=(False,) * 300,
        methods=(Scored("m", "s", "r", "c", False, scores),),
        pairs=Pairs("p", "s", "r", "c", _matrix(300, {(5, i): i / 300 for i in range(6, 300)})),
    ).to_html()
    assert "words …" in page
    assert "All 300 words" in page
    assert page.count("<text x=") == 40


CHROMIUM = Path("/usr/bin/chromium")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed at /usr/bin/chromium")
@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_in_a_browser_nothing_runs_is_fetched_or_scrolls_sideways(browser, tmp_path, width, colours):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=colours)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(hostile().save(tmp_path / "x.html").as_uri())
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert page.locator("script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert HOSTILE[0] in page.locator("body").inner_text()
    page.close()
