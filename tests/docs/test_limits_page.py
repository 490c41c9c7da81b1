"""The page on the limits of saliency shows what its table holds, judged by rules that are older than the runs."""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.papers.test_pages import letters, passages, sources

from attentest.statistics.seeds import half_width

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "limits" / "limits.csv"
PAGE = ROOT / "docs" / "explanation" / "limits-of-saliency.md"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def script(name: str) -> Any:
    folder = str(ROOT / "scripts" / "limits")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def test_every_figure_lies_in_its_interval_and_stands_once(rows):
    keys = [(row["part"], row["corpus"], row["explainer"], row["at"], row["measure"]) for row in rows]
    assert len(set(keys)) == len(rows)
    for row in rows:
        value, low, high = (float(row[name]) for name in ("value", "low", "high"))
        assert low - 1e-3 <= value <= high + 1e-3, row
        own = [float(part) for part in row["by_seed"].split("; ") if part]
        assert not own or (len(own) == int(row["seeds"]) and sum(own) / len(own) == pytest.approx(value, abs=1e-3))


def test_the_pages_tables_are_those_of_the_table(rows):
    page = PAGE.read_text("utf-8")
    module = script("limits_page")
    for name in module.tables(rows):
        assert f"<!-- {name} -->" in page
    assert module.put_tables(page, rows) == page


def test_the_sentences_say_what_the_table_holds(rows):
    judged = script("limits_judged")
    value = judged.Table(rows).value
    page = " ".join(PAGE.read_text("utf-8").split())
    real, every = judged.CORPORA, judged.EXPLAINERS
    edited = every | judged.OTHERS

    def shown(number: float) -> str:
        return f"{number:.2f}".replace("0.", ".").replace("-", "−")

    def percent(share: float) -> str:
        return f"{100 * share:.0f}"

    def bounds(*where: str) -> str:
        return f"{shown(value(*where))} [{', '.join(map(shown, judged.Table(rows).bounds(*where)))}]"

    def span(numbers: list[float], form: Callable[[float], str] = shown) -> str:
        return f"{form(min(numbers))} to {form(max(numbers))}"

    def roar(explainer: str, at: str) -> float:
        return value("roar", "imdb", explainer, at, "correct")

    def edits(explainer: str, at: str = "followed", measure: str = "average_precision") -> float:
        return value("edits", "cad_imdb", explainer, at, measure)

    random = max(value("randomisation", c, e, "everything", "spearman") for c in real for e in every)
    head = [value("randomisation", c, e, "head", "spearman") for c in real for e in every if e != "attention"]
    methods = ("gradient_norm", "gradient_x_input", "integrated_gradients")
    moved = {e: [value("fragility", c, e, "searched 0.1", "overlap") for c in real] for e in ("attention", *methods)}
    other = [
        value("input_invariance", c, e, "", "top_changed")
        for c in real
        for e in ("gradient_x_input", "integrated_gradients", "lrp")
    ]
    slope = [value(judged.GRADIENT, c, "gradient", "searched 0.1", "overlap") for c in real]
    relayed = {
        e: {c: value(judged.RELEVANCE, c, e, "searched 0.1", "overlap") for c in real}
        for e in ("attention", "gradient_x_input", *judged.RELAYED)
    }
    smoothed, lifted = (
        bounds(judged.RELEVANCE, c, f"{e} − gradient_x_input", "searched 0.1", "overlap")
        for c, e in (("yelp_hat", "smooth_grad"), ("imdb", "deep_lift"))
    )
    kept = [[shown(relayed[e][c]) for c in ("20news", "imdb")] for e in ("deep_lift", "attention")]
    whole = "given to the model of whole texts"
    pairs = [value("interactions", c, "pairwise_occlusion", "", "interacting") for c in real]
    top = [1 - value("interactions", c, "pairwise_occlusion", "", "top_pair") for c in real]
    follow = {c: value("edits", c, "", "", "followed") for c in judged.EDITED}
    followed = ("edits", judged.BY_SNLI, "attention", "followed", "average_precision")
    for said in (
        f"no score's ρ with the old one is above {shown(random)}.",
        f"leave explainers {span([n for ns in moved.values() for n in ns])} of their top words",
        f"right of {percent(roar('gradient_x_input', whole))} % of texts, but one that was trained with such gaps of "
        f"{percent(roar('gradient_x_input', 'retrained'))} %, hardly fewer than without random words "
        f"({percent(roar('random', 'retrained'))} %)",
        f"attention's words {shown(roar('attention', whole))} and {shown(roar('attention', 'retrained'))} on IMDB",
        f"their top word in {span(other, percent)} % of texts",
        f"leave {span([n for e in methods for n in moved[e]])} of gradient methods' top words",
        f"keeps {span(slope)} of its top words at .1",
        f"keep {span([n for e in judged.RELAYED[1:] for n in relayed[e].values()])} of their top words at .1",
        f"SmoothGrad on Yelp-HAT alone (by {smoothed}), of DeepLIFT on IMDB alone (by {lifted}), and of LRP nowhere",
        f"({' and '.join(kept[0])} beside {' and '.join(kept[1])})",
        f"(ρ from {shown(min(head))} to {shown(max(head))})",
        f"as gradient × input ({shown(edits('attention'))} and {shown(edits('gradient_x_input'))}) and better than "
        f"gradient norm ({shown(edits('gradient_norm'))})",
        f"in {percent(edits('attention_x_gradient', measure='hit'))} % of texts, and still an average precision of "
        f"{shown(edits('attention_x_gradient'))} only (chance {shown(edits('chance'))})",
        f"{span(pairs, percent)} % of pairs of words interact. Yet in {span(top, percent)} % of texts",
        f"{percent(follow['cad_imdb'])} % of people's edits of IMDB, and {percent(follow['cad_snli'])} % of SNLI's",
        f"falls to {span([edits(e, 'not followed') for e in edited])}, for all twenty",
        f"(LIME, KernelSHAP: {shown(edits('lime'))}) finds the edits better than leave one out "
        f"({shown(edits('leave_one_out'))})",
        f"are right of {bounds('accuracy', judged.BY_SNLI, '', '', 'correct')} of the edited ones, and follow "
        f"{percent(follow[judged.BY_SNLI])} % [3, 8] of the edits",
        f"In {percent(1 - value('edits', judged.BY_SNLI, '', '', 'flipped'))} % an edit does not turn",
        f"where the prediction follows ({judged.Table(rows)(*followed)['texts']})",
    ):
        assert said in page, said
    assert len(edited) == 20
    assert max(edited, key=edits) == "attention_x_gradient"
    assert sorted(edited, key=edits)[:2] == ["gradient_norm", "leave_one_out"]
    snli = {e: value("edits", judged.BY_SNLI, e, "followed", "average_precision") for e in edited}
    assert min(snli, key=lambda e: snli[e]) == "attention_x_gradient"
    outcomes = {words: cases for _, words, _, cases in judged.predictions(rows)}
    steadier = [
        outcome
        for words, cases in outcomes.items()
        if words.startswith("Attention is less fragile than gradient ×")
        for _, outcome in cases
    ]
    assert f"in {steadier.count('met')} of {len(steadier)} comparisons and more in none" in page
    assert "missed" not in steadier
    beside = {words: [one for _, one in cases] for words, cases in outcomes.items() if "than gradient ×" in words}
    assert [ones.count("met") for words, ones in beside.items() if not words.startswith("Attention")] == [1, 1]
    for corpus in ("sst", "20news"):
        assert relayed["smooth_grad"][corpus] < relayed["gradient_x_input"][corpus]


def test_students_t_over_the_seeds_settles_as_much_as_the_page_says(rows):
    judged = script("limits_judged")
    of = judged.Table(rows)

    def surely(*differences: tuple[tuple[str, ...], tuple[str, ...]]) -> int:
        """How many differences keep their sign over Student's 95 % interval."""
        settled = 0
        for one, other in differences:
            apart = np.subtract(*([float(x) for x in of(*where)["by_seed"].split("; ")] for where in (one, other)))
            settled += abs(apart.mean()) > half_width([(1.0, apart)])
        return settled

    def of_both(part: str, at: str, measure: str, corpus: str, explainers: tuple[str, str]) -> Any:
        return [(part, corpus, explainer, at, measure) for explainer in explainers]

    moved = ("attention", "gradient_x_input")
    steady = surely(
        *(of_both("fragility", f"searched {s}", "overlap", c, moved) for c in judged.CORPORA for s in judged.SIZES)
    )
    needed = surely(*(of_both("roar", "retrained", "correct", c, ("attention", "random")) for c in judged.CORPORA))
    page = " ".join(PAGE.read_text("utf-8").split())
    assert f"in {steady} of 12 comparisons where they count 8" in page
    assert f"on {needed} corpora where they count 3" in page


def test_what_the_slides_say_stands_in_them():
    text, quoted = sources(), list(passages(PAGE.read_text("utf-8")))
    assert len(quoted) >= 6
    assert not [quote for quote in quoted if not all(letters(part) in text for part in quote.split("…"))]


def test_rules_are_applied_as_they_are_written():
    judged = script("limits_judged")
    assert [judged.below(b, 0.3) for b in ((0.1, 0.29), (0.31, 0.4), (0.2, 0.3))] == ["met", "missed", "unsettled"]
    assert [judged.at_least(b, 0.6) for b in ((0.6, 0.7), (0.5, 0.59), (0.5, 0.6))] == ["met", "missed", "unsettled"]
    assert [judged.above(b) for b in ((0.01, 0.1), (-0.1, 0.0), (-0.1, 0.1))] == ["met", "missed", "unsettled"]
    assert [judged.within(b, 0.1) for b in ((-0.1, 0.1), (0.11, 0.3), (-0.3, -0.11), (0.0, 0.2))] == [
        *("met", "missed", "missed", "unsettled")
    ]
    assert judged.both("met", "unsettled") == "unsettled"
    assert judged.both("met", "unsettled", "missed") == "missed"


def test_pairs_interact_by_the_rule_and_sums_do_not():
    import torch

    module = script("limits_interactions")
    adds = torch.diag(torch.tensor([3.0, 2.0, 1.0]))
    assert module.interacting(adds).sum() == 0
    assert module.top_pair(adds)
    together = adds.clone()
    together[0, 2] = together[2, 0] = -4.0  # deleting both takes 3 + 1 + 4
    assert module.interacting(together).tolist() == [0.0, 1.0, 0.0]
    assert not module.top_pair(together)
