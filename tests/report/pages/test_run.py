from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from tests.report.made_up import HOSTILE, MEASURES
from tests.report.made_up_verdict import made_up_verdict
from tests.report.rendered import render

from attentest.challenges import PRESENTATIONS
from attentest.challenges.adversary import presentation as adversary
from attentest.challenges.certificates.checks import checks_table, checks_terminal
from attentest.papers.outcome_files import committed
from attentest.presentation.presentation import Plot, Results
from attentest.report.pages.published import published_beside
from attentest.report.pages.run import basis_of, figures_of, page
from attentest.report.results import results_of
from attentest.report.verdict.verdict import Goal, Verdict
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder


class Outline(HTMLParser):
    """The tags, the attributes and the text of a page, as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data.replace("\u00a0", " ")

    def count(self, tag: str, **attributes: str) -> int:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return sum(t == tag and wanted.items() <= a.items() for t, a in self.tags)


def test_the_page_says_the_whole_verdict(report: Path) -> None:
    verdict = made_up_verdict()
    outline = Outline(report.read_text("utf-8"))
    said = [verdict.headline, verdict.closing, *verdict.limits]
    said += [part for line in verdict.lines for part in (line.question, line.result, line.reading)]
    said += [part for goal in verdict.goals for part in (goal.goal, goal.reader, goal.words)]
    for words in said:
        assert words in outline.text
    for words in ("speaks against it", "mixed", "speaks for it", "for context", "With care", "Cannot say"):
        assert words in outline.text


def test_what_limits_the_data_stands_at_the_head_of_the_page(report: Path) -> None:
    head = Outline(report.read_text("utf-8").partition("<main>")[0])
    assert "2 texts carry more than one label & count as they are" in head.text


def test_the_page_loads_nothing_and_runs_nothing(report: Path) -> None:
    html = report.read_text("utf-8")
    outline = Outline(html)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert outline.count("meta", content=policy) == 1
    assert outline.count("script") == 0
    for tag, attributes in outline.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "srcset", "href"):
            assert (attributes.get(name) or "data:").startswith(("data:", "#") if tag == "a" else "data:")


def test_the_contents_lead_to_sections_that_are_there_and_say_the_three_answers(report: Path) -> None:
    outline = Outline(report.read_text("utf-8"))
    links = [(attributes.get("href") or "").removeprefix("#") for tag, attributes in outline.tags if tag == "a"]
    there = [attributes.get("id") for tag, attributes in outline.tags if tag == "section"]
    assert {*links} == {each for each in there if each}
    assert {"goals", "evidence", "figures", "tests", "saliency", "examples", "numbers", "limits"} <= {*links}
    bar = Outline(report.read_text("utf-8").partition('<nav class="contents"')[2].partition("<details>")[0])
    for goal in made_up_verdict().goals:
        assert goal.answer.capitalize() in bar.text
        assert goal.goal in bar.text


def test_ids_are_unique_and_every_figure_is_named_by_its_title(report: Path) -> None:
    outline = Outline(report.read_text("utf-8"))
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len({*ids})
    named = [attributes.get("aria-labelledby") for tag, attributes in outline.tags if tag == "figure"]
    assert named
    assert {*named} <= {*ids}


def test_every_figure_has_alt_text_and_says_on_how_many_texts_it_stands(run: RunFolder, report: Path) -> None:
    outline = Outline(report.read_text("utf-8"))
    images = [attributes for tag, attributes in outline.tags if tag == "img"]
    plots = [plot for name in run.challenges for plot in PRESENTATIONS[name].figures()]
    assert len(images) == len(plots), "a figure is missing: made_up.py must simulate what its challenge finds"
    assert all(image["alt"] for image in images)
    judged = run.findings("permutation").table["not_judged"].null_count
    refused = len(run.findings("permutation").table) - judged
    assert f"Stands on {judged} of {judged + refused} texts." in outline.text
    assert f"only one token ({refused} texts)." in outline.text


OF_TEXTS = [(name, plot) for name in PRESENTATIONS for plot in PRESENTATIONS[name].figures() if name != "alignment"]


@pytest.mark.parametrize(("name", "plot"), OF_TEXTS, ids=[plot.key for _, plot in OF_TEXTS])
def test_every_text_is_in_a_figure_or_counted_with_why_it_is_not(run: RunFolder, name: str, plot: Plot) -> None:
    basis = basis_of(run.findings(name).table, plot)
    assert basis["texts"] == 240
    assert basis["judged"] + sum(basis["reasons"].values()) == basis["texts"]
    assert sum(basis["in_part"].values()) <= basis["judged"]


def test_a_text_without_a_number_is_named_by_what_its_figure_lacks() -> None:
    columns = {
        "id": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "not_judged": [None, None, "too short", "too short", None, None, None, "constant"],
        "times_smallest": [1.0, None, None, None, None, float("nan"), 2.0, None],
    }
    basis = basis_of(pa.table(columns), next(plot for _, plot in OF_TEXTS if plot.key == "times"))
    assert basis == {
        "judged": 2,
        "texts": 4,
        "in_part": {"constant": 1},
        "reasons": {"too short": 1, "no set of weights flips the decision": 1},
    }


@pytest.mark.parametrize("column", ["upper", "searched_divergence"])
def test_a_search_alone_or_none_is_not_shown_as_falling_short_of_a_proof(run: RunFolder, column: str) -> None:
    found = run.findings("adversary")
    empty = pa.nulls(len(found.table), pa.float64())
    table = found.table.set_column(found.table.column_names.index(column), column, empty)
    shown = {
        figure["plot"].key: figure["caption"]
        for figure in figures_of(Results({"adversary": Findings("adversary", found.measures, table)}, {}))
    }
    proved = column != "upper"
    assert shown == {
        "divergence": adversary.DIVERGENCE_PROVED if proved else adversary.DIVERGENCE_FOUND,
        "max_attention": adversary.MAX_ATTENTION if proved else adversary.MAX_ATTENTION_FOUND,
    }


@pytest.mark.slow
def test_points_left_out_of_a_figure_are_owned_up_to(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attentest.report.pages.run.POINTS", 100)
    monkeypatch.setattr("attentest.presentation.charts.POINTS", 100)
    plots = [plot for name in run.challenges for plot in PRESENTATIONS[name].figures() if plot.points]
    assert page(run, made_up_verdict()).count("100 of them are drawn as points") == len(plots)


def test_hostile_text_stays_text(hostile_report: Path) -> None:
    html = hostile_report.read_text("utf-8")
    outline = Outline(html)
    assert outline.count("script") == 0
    assert outline.count("img", src="x") == 0
    assert HOSTILE[0] in outline.text
    assert HOSTILE[1] in outline.text
    assert "‹U+202E›evil‹U+202C›" in outline.text
    assert "nul‹U+0000›bell‹U+0007›" in outline.text
    assert "{{ 7 * 7 }}" in outline.text
    assert "👩‍👩‍👧‍👦" in outline.text
    assert not set(html) & set("\u202e\u202c\x00\x07")


def test_a_hostile_verdict_stays_text(small_run: RunFolder) -> None:
    goal = Goal("<b>x</b>", '" onclick="alert(1)', "no", "<style>*{display:none}</style>")
    outline = Outline(page(small_run, Verdict("<script>1</script>", (), (goal,), "a\n\nb", ("<i>",))))
    assert outline.count("script") == 0
    assert outline.count("style") == 1
    assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]


def test_ten_texts_are_shown_each_with_two_attentions_where_another_one_was_found(report: Path) -> None:
    outline = Outline(report.read_text("utf-8"))
    assert outline.count("article", class_="example") == outline.count("section", class_="map attention") == 10
    none = outline.text.count("No other attention was found that leaves the prediction as it is.")
    assert outline.count("section", class_="map adversary") == 10 - none
    assert none < 3


@pytest.mark.slow
def test_the_same_run_gives_the_same_page(run: RunFolder, report: Path) -> None:
    assert page(run, made_up_verdict()) == report.read_text("utf-8")


@pytest.mark.slow
def test_a_long_text_is_shown_as_an_excerpt_and_whole_on_request(make_run: Callable[..., RunFolder]) -> None:
    run = make_run(
        instances=12, longest=300, without=[name for name in MEASURES if name not in ("instances", "adversary")]
    )
    outline = Outline(page(run, made_up_verdict()))
    assert outline.count("span", class_="gap") > 0
    assert outline.count("details") > 0


@pytest.mark.slow
@pytest.mark.parametrize("kept", [*MEASURES, ""])
def test_the_page_copes_with_a_run_of_one_challenge_or_none(make_run: Callable[..., RunFolder], kept: str) -> None:
    run = make_run(instances=12, without=[name for name in MEASURES if name != kept])
    assert "The run’s particulars" in page(run, made_up_verdict())


@pytest.mark.slow
def test_the_page_copes_with_texts_that_nobody_could_judge(make_run: Callable[..., RunFolder]) -> None:
    run = make_run(instances=6, longest=1)
    assert "No text could be judged, so nothing is drawn." in page(run, made_up_verdict())


@pytest.mark.slow
def test_the_page_copes_with_a_record_that_says_almost_nothing(make_run: Callable[..., RunFolder]) -> None:
    run = make_run(instances=12)
    record = run.record
    record["fields"] = {"corpus": {"name": "bare", "classes": []}, "seed": 1}
    run._write(record)
    outline = Outline(page(run, made_up_verdict()))
    assert "predicted class 1" in outline.text


def test_the_particulars_hold_every_field_and_file(run: RunFolder, report: Path) -> None:
    outline = Outline(report.read_text("utf-8"))
    for words in ("5f2c9a0d41b7e836", "3 rows without text", "1 row with an unknown label", "bilstm", run.path.name):
        assert words in outline.text
    finished = {name: about for name, about in run.record["finished"].items() if name != report.name}
    for name, about in finished.items():
        assert name in outline.text
        assert about["sha256"][:16] in outline.text


def test_a_report_is_written_whole_in_place_and_small(run: RunFolder, report: Path) -> None:
    assert not list(report.parent.glob(".*.part"))
    assert report.stat().st_size < 1_100_000


@pytest.mark.slow
def test_reporting_does_not_import_torch() -> None:
    code = "import sys, attentest.report.pages.run, attentest.report.tables; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"), [("planted", "Which scores find the rationale?"), ("human", "This is plausibility")]
)
def test_marks_by_people_are_not_called_the_deciding_words(
    make_run: Callable[..., RunFolder], kind: str, words: str
) -> None:
    run = make_run(instances=12, without=[name for name in MEASURES if name not in ("instances", "rationale")])
    record = run.record
    record["fields"]["corpus"]["rationale"] = kind
    run._write(record)
    assert words in Outline(page(run, made_up_verdict())).text


def test_texts_that_never_flip_are_a_category_of_their_own_under_both_papers(report: Path) -> None:
    text = " ".join(Outline(report.read_text("utf-8")).text.split())
    assert "no set of weights flips the decision" in text
    for words in ("Never flips", "dropped (Serrano & Smith)", "counted as 1 (Mohankumar et al.)"):
        assert words in text


def test_the_four_tests_are_read_against_the_seeds(report: Path) -> None:
    outline = Outline(report.read_text("utf-8"))
    assert outline.count("section", id="tests") == 1
    for words in ("Seed variance is the yardstick", "7 other seeds", "λ = 0.01", "the adversary’s weights"):
        assert words in outline.text


@pytest.mark.slow
def test_a_run_without_the_four_tests_has_no_section_for_them(make_run: Callable[..., RunFolder]) -> None:
    four = ("trained_uniform", "seed_variance", "guide", "adversarial_training")
    outline = Outline(page(make_run(instances=12, without=(*four, "flip_sets", "single_weight")), made_up_verdict()))
    assert outline.count("section", id="tests") == outline.count("section", id="erasure") == 0


def test_page_and_terminal_say_the_same_of_checks(run: RunFolder, report: Path) -> None:
    outline = Outline(report.read_text("utf-8"))
    shown = render(checks_terminal(results_of(run)), width=400)
    assert "Do scores change when the model is randomised?" in outline.text
    for row in checks_table(results_of(run)):
        assert row["sentence"] in outline.text
        assert row["sentence"] in shown
    assert "largest gap 2e−7" in outline.text


def test_a_run_that_checked_nothing_says_nothing(small_run: RunFolder) -> None:
    assert checks_terminal(results_of(small_run)) is None
    assert "What was checked" not in Outline(page(small_run, made_up_verdict())).text


def test_a_run_behind_a_paper_s_figures_shows_them_beside_ours(small_run: RunFolder, tmp_path: Path) -> None:
    first = next(o for o in committed("jain_wallace_2019") or () if o.settled and o.run_ids and o.status == "agrees")
    shutil.copytree(small_run.path, tmp_path / first.run_ids[0])
    outline = Outline(page(RunFolder(tmp_path / first.run_ids[0]), made_up_verdict()))
    assert outline.count("section", id="published") == 1
    assert outline.count("a", href="#published") == 1
    assert "Beside published figures" in outline.text
    rows = next(p["rows"] for p in published_beside(first.run_ids[0]) if "Jain" in p["citation"])
    for row in rows:
        assert row["measure"] in outline.text
        assert row["ours"] in outline.text
    assert published_beside(small_run.path.name) == []
