"""The families of tasks: which runs are drawn, how much each counts, and what is drawn of them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tests.papers.made_up_altered import TEXTS, altered_cell

from attentest.errors import InputError
from attentest.papers import PAPERS
from attentest.papers.claims import load_claims
from attentest.papers.headline import headline
from attentest.papers.outcomes import evaluate
from attentest.papers.vashishth_2019.families import Panel, families
from attentest.papers.vashishth_2019.families_figures import (
    changes_by_weight,
    density,
    effects_by_weight,
    quantile,
    write_chart,
)
from attentest.presentation.charts import svg
from attentest.report.claims.figures import figures_of
from attentest.report.claims.headline import HeadlineView, headline_table
from attentest.report.claims.page import claims_page
from attentest.report.claims.view import View

VASHISHTH = "vashishth_2019"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    made = [altered_cell(root, corpus="sst", seed=s, head="softmax", change=0.05) for s in range(2)]
    made += [altered_cell(root, corpus="imdb", head="softmax", change=0.1)]
    made += [altered_cell(root, corpus=c, change=0.6, delta=0.4) for c in ("snli", "babi-1")]
    made += [altered_cell(root, corpus="snli", change=0.9, head="joint")]
    made += [altered_cell(root, corpus="multi30k", change=0.8, delta=0.5, decoder="bahdanau")]
    return made


def test_runs_fall_into_families_and_every_corpus_and_seed_counts_the_same(cells):
    made = families(cells)
    single, pair, translation = made.changes
    assert [panel.family for panel in made.changes] == ["single texts", "pairs of texts", "translation"]
    assert (single.corpora, single.seeds, len(single.x)) == (("imdb", "sst"), 2, 3 * TEXTS)
    assert pair.corpora == ("babi-1", "snli")
    assert set(pair.y.tolist()) == {0.6}  # the control's head is not drawn
    for panel in (*made.changes, *made.effects):
        assert panel.weight.sum() == pytest.approx(1)
    assert single.weight[single.y == 0.1].sum() == pytest.approx(0.5)
    assert "2 seeds" in single.basis
    assert "steps of multi30k" in translation.basis


def test_translations_are_those_of_the_percentile_of_lengths(cells):
    lengths = np.arange(TEXTS) % 10 + 5
    at = families(cells)
    every = families(cells, percentile=0)
    wanted = np.percentile(lengths, 25, method="nearest")
    assert len(at.changes[2].x) == 4 * (lengths == wanted).sum()
    assert len(every.changes[2].x) == 4 * TEXTS
    with pytest.raises(InputError, match="percentile=101"):
        families(cells, percentile=101)


def test_a_paper_without_figures_of_its_own_and_one_without_runs_have_none(cells):
    assert figures_of(PAPERS["jain_wallace_2019"], cells) == ()
    assert figures_of(PAPERS[VASHISHTH], []) == ()


@pytest.mark.slow
def test_both_figures_have_a_panel_for_every_family_and_the_same_bytes_again(cells, tmp_path: Path):
    made = families(cells)
    for draw, panels in ((changes_by_weight, made.changes), (effects_by_weight, made.effects)):
        text = svg(draw(panels))
        assert text == svg(draw(panels))
        for family in ("single texts", "pairs of texts", "translation"):
            assert family in text
        assert len(text) < 400_000
    write_chart(changes_by_weight(made.changes), tmp_path / "changes.png")
    write_chart(effects_by_weight(made.effects), tmp_path / "effects.svg")
    assert (tmp_path / "changes.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"\.svg or \.png"):
        write_chart(changes_by_weight(made.changes), tmp_path / "changes.gif")


def test_a_single_point_can_be_drawn():
    one = np.array([0.9])
    panel = Panel("single texts", one, np.array([0.0]), np.array([1.0]), ("sst",), 1)
    assert svg(changes_by_weight([panel]))
    assert svg(effects_by_weight([panel]))


def test_densities_andquantiles_are_weighted():
    values, weight = np.array([0.1, 0.2, 0.9]), np.array([1.0, 1.0, 6.0])
    assert quantile(values, weight, 0.5) == 0.9
    assert quantile(values, np.ones(3), 0.5) == 0.2
    at = np.linspace(0, 1, 201)
    assert at[density(values, weight, at).argmax()] == pytest.approx(0.9, abs=0.01)
    # At an end nothing spills over: the same as two half kernels.
    assert density(np.zeros(1), np.ones(1), at)[0] == pytest.approx(2, rel=0.02)


@pytest.mark.slow
def test_the_page_and_the_terminal_begin_with_the_headline(cells):
    view = View(load_claims(VASHISHTH), evaluate(VASHISHTH, cells))
    first = HeadlineView.of(headline(VASHISHTH, cells))
    assert first is not None
    page = claims_page(view, "", first, figures_of(view.claims.paper, cells))
    assert page.index("is it about attention, or about wiring?") < page.index("How much agrees")
    assert "What permuted weights change, by the largest weight" in page
    assert "a head that sees the query, affine" in page
    assert "<script" not in page
    assert first.heads == ["ours", "joint"]
    for width in (60, 100):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(*headline_table(first, width), sep="\n")
        text = console.export_text()
        assert "uniform, train+infer" in text
        assert "SNLI · bahdanau 2015" in text
        assert max(map(len, text.splitlines())) <= width
    assert HeadlineView.of(None) is None
    assert HeadlineView.of(headline(VASHISHTH, cells), ["nothing"]) is None
