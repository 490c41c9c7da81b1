"""Serrano & Smith: the square of decision flips, the orders of removal, and which models stand for which."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.papers.made_up_cells import MadeUpCell, run_folder, write

from attentest.challenges import CHALLENGES
from attentest.cli.claims import reproducible
from attentest.papers.claims import Claim, Direction
from attentest.papers.outcomes import Outcome, evaluate, rate

SERRANO = "serrano_smith_2019"
SQUARE = ("both_flip", "only_top_flips", "only_other_flips", "neither_flips")
DESCRIBED, RELEASED = "single_weight", "single_weight(draw='released')"


def square(counts: Mapping[str, int]) -> pa.Table:
    """So many texts in each of the four cells."""
    texts = sum(counts.values())
    cell = np.repeat(SQUARE, [counts[name] for name in SQUARE])
    rng = np.random.default_rng(0)
    difference = rng.random(texts)
    return pa.table(
        {
            "id": [f"t{i:03d}" for i in range(texts)],
            "predicted": pa.array(np.arange(texts) % 2, pa.int32()),
            **{name: cell == name for name in SQUARE},
            "top_flips": np.isin(cell, SQUARE[:2]),
            "other_flips": (cell == "both_flip") | (cell == "only_other_flips"),
            "js_top": np.where(np.isin(cell, SQUARE[:2]), 0.3, 0.01),
            "js_other": np.zeros(texts),
            "delta_js": difference**2 - 0.01,
            "weight_difference": difference,
            "other_matters_more": difference < 0.1,
            "not_judged": pa.nulls(texts, pa.string()),
        }
    )


def flip_sets(removed: Mapping[str, float], texts: int = 100) -> pa.Table:
    """Every order's removed share, around its mean; the smallest set has a tenth of the items."""
    rng = np.random.default_rng(1)
    orders = ("smallest", "attention", "gradient", "gradient_x_attention", "random")
    shares = {order: removed.get(order, 0.5) + rng.normal(0, 0.05, texts) for order in orders}
    return pa.table(
        {
            "id": [f"t{i:03d}" for _ in orders for i in range(texts)],
            "predicted": pa.array(np.zeros(texts * len(orders)), pa.int32()),
            "order": np.repeat(orders, texts),
            "until_flip": np.concatenate(list(shares.values())),
            "times_smallest_counted": np.concatenate([share / 0.1 for share in shares.values()]),
            "not_judged": pa.nulls(texts * len(orders), pa.string()),
        }
    )


def cell(
    root: Path,
    *,
    corpus: str = "imdb",
    encoder: str = "bigru",
    structure: str = "hierarchical",
    seed: int = 0,
    described: Mapping[str, int] | None = None,
    released: Mapping[str, int] | None = None,
    removed: Mapping[str, float] | None = None,
    **choices: Any,
) -> MadeUpCell:
    """A run with the findings that the paper's claims are read from."""
    folder = run_folder(
        root, f"{corpus.partition('(')[0]}-{encoder}-{structure}-{seed}-{len(list(root.glob('*')))}", corpus
    )
    usual = dict(zip(SQUARE, (2, 12, 2, 84), strict=True))
    measures = CHALLENGES.parse("single_weight").measures
    write(folder, "single_weight", DESCRIBED, measures, square(described or usual))
    if released is not None:
        write(folder, "single_weight-draw=-released--0123ab", RELEASED, measures, square(released))
    if removed is not None:
        write(folder, "flip_sets", "flip_sets", CHALLENGES.parse("flip_sets").measures, flip_sets(removed))
    made = {"corpus": corpus, "encoder": encoder, "structure": structure, "seed": seed, "preset": "serrano"}
    return MadeUpCell({**made, **choices}, folder)


def figure(outcomes: list[Outcome], group: str, corpus: str = "IMDB (10 classes)") -> Outcome:
    return next(
        o for o in outcomes if isinstance(o.claim, Claim) and (o.claim.group, o.claim.corpus) == (group, corpus)
    )


def direction(outcomes: list[Outcome], name: str, corpus: str = "IMDB (10 classes)") -> Outcome:
    return next(
        o for o in outcomes if isinstance(o.claim, Direction) and (o.claim.rule.name, o.claim.corpus) == (name, corpus)
    )


def test_the_square_is_read_from_the_draw_of_the_released_code_and_the_described_one_stands_beside_it(
    tmp_path: Path,
) -> None:
    shares = dict(zip(SQUARE, (80, 220, 20, 1_680), strict=True))
    outcomes = evaluate(SERRANO, [cell(tmp_path, released=shares)])
    found = [figure(outcomes, f"top {a}, random {b}") for a in ("flips", "keeps") for b in ("flips", "keeps")]
    assert [outcome.ours for outcome in found] == pytest.approx([4, 11, 1, 84])
    assert [outcome.status for outcome in found] == ["agrees"] * 4
    assert "% 2.000" in found[0].also
    assert all(outcome.low <= outcome.ours <= outcome.high for outcome in found)
    missed = evaluate(SERRANO, [cell(tmp_path, released=dict(zip(SQUARE, (4, 30, 1, 65), strict=True)), seed=1)])
    assert figure(missed, "top flips, random keeps").status == "differs"


def test_other_texts_than_the_papers_are_named_and_never_counted(tmp_path: Path) -> None:
    shares = dict(zip(SQUARE, (2, 12, 2, 84), strict=True))
    cells = [cell(tmp_path, released=shares), cell(tmp_path, corpus="yelp_sample(five=True)", released=shares)]
    outcomes = evaluate(SERRANO, cells)
    for corpus, said in (("IMDB (10 classes)", "ten ratings"), ("Yelp (5 classes)", "instead of 650,000")):
        found = figure(outcomes, "top keeps, random keeps", corpus)
        assert found.settled
        assert said in found.difference
        assert "prepared as" not in found.difference
    assert rate(outcomes).compared == 0
    assert figure(outcomes, "top keeps, random keeps", "Amazon (5 classes)").status == "unavailable"


def test_whoever_has_the_whole_of_yelp_is_compared_like_for_like(tmp_path: Path) -> None:
    shares = dict(zip(SQUARE, (40, 180, 40, 1_740), strict=True))
    made = [cell(tmp_path, corpus=corpus, released=shares) for corpus in ("yelp_sample(five=True)", "yelp(five=True)")]
    found = figure(evaluate(SERRANO, made), "top flips, random keeps", "Yelp (5 classes)")
    assert (found.status, found.like_for_like) == ("agrees", True)
    assert found.run_ids == (made[1].folder.path.name,)


def test_without_the_released_draw_no_figure_of_the_table_is_compared(tmp_path: Path) -> None:
    found = figure(evaluate(SERRANO, [cell(tmp_path)]), "top flips, random keeps")
    assert (found.status, "single_weight(draw='released')" in found.reason) == ("not run", True)


def test_a_flat_model_never_stands_for_a_hierarchical_one(tmp_path: Path) -> None:
    shares = dict(zip(SQUARE, (2, 12, 2, 84), strict=True))
    outcomes = evaluate(SERRANO, [cell(tmp_path, structure="flat", released=shares, removed={})])
    assert figure(outcomes, "top flips, random keeps").status == "not run"
    assert direction(outcomes, "gradients rank better than weights, recurrent FLAN").settled
    assert direction(outcomes, "gradients rank better than weights, recurrent HAN").status == "not run"


@pytest.mark.parametrize(("product", "status"), [(0.3, "agrees"), (0.7, "differs"), (0.5, "unsettled")])
def test_orders_are_compared_text_by_text(tmp_path: Path, product: float, status: str) -> None:
    removed = {"attention": 0.5, "gradient_x_attention": product, "gradient": 0.4}
    yelp = {"corpus": "yelp_sample(five=True)", "removed": removed}
    outcomes = evaluate(SERRANO, [cell(tmp_path, seed=seed, **yelp) for seed in range(2)])
    found = direction(outcomes, "attention misses the sets that matter, recurrent HAN", "Yelp (5 classes)")
    assert found.status == status
    assert found.ours == pytest.approx(0.5 - product, abs=0.02)
    better = direction(outcomes, "gradients rank better than weights, recurrent HAN", "Yelp (5 classes)")
    assert better.status == "agrees"


def test_the_single_weight_directions_are_read_from_the_described_draw(tmp_path: Path) -> None:
    upside_down = dict(zip(SQUARE, (0, 0, 90, 10), strict=True))
    outcomes = evaluate(SERRANO, [cell(tmp_path, released=upside_down)])
    for name in (
        "the top weight matters more than a random one",
        "higher weights, greater impact",
    ):
        assert direction(outcomes, f"{name}, recurrent HAN").status == "agrees", name


def test_the_bilstm_is_not_the_papers_and_says_so(tmp_path: Path) -> None:
    made = cell(tmp_path, corpus="sst", encoder="bilstm", structure="flat", removed={}, preset="released")
    found = direction(evaluate(SERRANO, [made]), "gradients rank better than weights, BiLSTM", "SST")
    assert not found.like_for_like
    assert not found.claim.counts
    for said in ("not a corpus of the paper", "which the paper does not have", "preset released instead of serrano"):
        assert said in found.difference


def test_the_study_has_every_architecture_on_reviews_and_the_bilstm_on_its_own_corpora() -> None:
    cells = [cell.choices for cell in reproducible(SERRANO)[0].cells()]
    assert len(cells) == 2 * 2 * 3 * 3 + 4 * 3
    assert {c["preset"] for c in cells if c["encoder"] == "bilstm"} == {"released"}
    assert {c["structure"] for c in cells if c["encoder"] == "bilstm"} == {"flat"}
    assert {c["corpus"] for c in cells if c["structure"] == "hierarchical"} == {"imdb", "yelp_sample(five=True)"}
    table = [cell.choices for cell in reproducible(SERRANO, "2")[0].cells()]
    assert {(c["structure"], c["encoder"]) for c in table} == {("hierarchical", "bigru")}
    assert {text.partition("(")[0] for text in table[0]["challenges"]} == {"instances", "single_weight"}
