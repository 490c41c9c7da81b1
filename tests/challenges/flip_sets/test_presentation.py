from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.challenges.flip_sets.test_figures import flip_sets

from attentest.challenges import PRESENTATIONS
from attentest.challenges.flip_sets.presentation import ORDERS, erasure_table, order_line
from attentest.report.pages.run import basis_of
from attentest.store.findings import Findings
from attentest.store.summary import Estimate


def with_attention_as(order: str, found: Findings) -> Findings:
    """The findings, attention's rows filled with another order's."""
    rows = [row for row in found.table.to_pylist() if row["order"] != "attention"]
    rows += [row | {"order": "attention"} for row in rows if row["order"] == order]
    return Findings(found.challenge, found.measures, pa.Table.from_pylist(rows, found.table.schema))


@pytest.mark.parametrize(
    ("order", "share", "tone", "words"),
    [
        # The smallest set's own order is necessary, not sufficient.
        ("smallest", 1.0, "context", "necessary, not sufficient"),
        ("random", 0.0, "against", "hardly earlier"),
    ],
)
def test_attention_is_placed_between_a_random_order_and_the_smallest_set(
    order: str, share: float, tone: str, words: str
) -> None:
    line = order_line(with_attention_as(order, flip_sets(300)))
    assert line is not None
    assert line.tone == tone
    assert words in line.reading
    assert line.estimate.value == pytest.approx(share)


@pytest.mark.parametrize(("order", "tone"), [("smallest", "context"), ("random", "unsettled")])
def test_where_little_attention_lies_on_words_an_order_speaks_not_against_it(order: str, tone: str) -> None:
    found = with_attention_as(order, flip_sets(300))
    line = order_line(found, Estimate(0.2, 0.1, 0.3, 0.1, 300, 0, ""))
    usual = order_line(found)
    assert line is not None
    assert usual is not None
    assert line.tone == tone
    assert line.reading.startswith("Cannot say: only") == (usual.tone == "against")
    most = order_line(found, Estimate(0.75, 0.7, 0.8, 0.1, 300, 0, ""))
    assert most is not None
    assert most.tone == usual.tone
    assert "Removed are weights of words; what lies on no word (25\u00a0%) was held." in most.reading


def test_the_share_is_that_of_the_means_with_never_flipped_texts_counted_whole() -> None:
    found = flip_sets(120)
    line = order_line(found)
    assert line is not None
    own, chance, best = (
        np.mean(found.rows({"order": order})["until_flip"].to_numpy()) for order in ("attention", "random", "smallest")
    )
    assert line.estimate.value == pytest.approx((chance - own) / (chance - best))
    assert line.estimate.low < line.estimate.value < line.estimate.high


def test_steps_that_are_alike_say_no_more_than_their_sentences() -> None:
    """Eight copies of every text as the steps of a sentence: the interval is that of the texts."""
    found = flip_sets(120)
    steps = pa.concat_tables([found.table] * 8)
    steps = steps.append_column("sentence", steps["id"]).sort_by([("order", "ascending"), ("id", "ascending")])
    alone, copied = order_line(found), order_line(Findings(found.challenge, found.measures, steps))
    assert alone is not None
    assert copied is not None
    assert copied.estimate.value == pytest.approx(alone.estimate.value)
    assert (copied.estimate.low, copied.estimate.high) == pytest.approx(
        (alone.estimate.low, alone.estimate.high), abs=0.02
    )
    assert copied.estimate.judged == 8 * alone.estimate.judged


def test_texts_that_flip_under_nothing_are_not_judged() -> None:
    """Of 40 texts one flips: its number has no interval, and the others are counted as what they are."""
    rows = flip_sets(40).table.to_pylist()
    ids = sorted({row["id"] for row in rows})
    flips = next(row["id"] for row in rows if row["order"] == "smallest" and not row["never"])
    assert len(ids) == 40
    none = {"never": True, "until_flip": 1.0, "flip_fraction": None, "times_smallest": None}
    rows = [row if row["id"] == flips else row | none for row in rows]
    found = flip_sets(40)
    found = Findings(found.challenge, found.measures, pa.Table.from_pylist(rows, found.table.schema))
    line = order_line(found)
    assert line is not None
    assert (line.estimate.judged, line.estimate.not_judged) == (1, 39)
    assert np.isnan(line.estimate.low)
    assert line.tone == "unsettled"
    (plot,) = (plot for plot in PRESENTATIONS["flip_sets"].figures() if plot.key == "flip_sets")
    basis = basis_of(found.table, plot)
    assert (basis["judged"], basis["texts"]) == (1, 40)
    assert basis["reasons"] == {"no set of weights flips the decision": 39}


def test_where_nothing_flips_there_is_no_line_and_the_table_says_so() -> None:
    found = flip_sets(60, never=True)
    assert order_line(found) is None
    table = erasure_table(with_proof(found))
    assert table is not None
    assert table["never"].startswith("In 100.0 % of texts no set")
    assert {row["cells"][1] for row in table["rows"]} == {("–", "")}
    assert erasure_table(None) is None


def with_proof(found: Findings, share: float = 1.0) -> Findings:
    count = len(found.table)
    proved = pa.array(np.arange(count) < share * count)
    return Findings(found.challenge, found.measures, found.table.append_column("proved", proved))


def test_both_papers_ways_of_counting_stand_side_by_side() -> None:
    found = with_proof(flip_sets(90))
    table = erasure_table(found)
    assert table is not None
    assert [row["words"] for row in table["rows"]] == list(ORDERS.values())
    assert "Serrano & Smith" in table["heads"][1]
    assert "Mohankumar" in table["heads"][2]
    for order, row in zip(ORDERS, table["rows"], strict=True):
        rows = found.rows({"order": order})
        never, dropped, counted, _ = (value for value, _ in row["cells"])
        assert never == f"{100 * pc.mean(rows['never']).as_py():.1f} %"
        assert dropped == f"{pc.mean(rows['flip_fraction']).as_py():.3f}"
        assert counted == f"{pc.mean(rows['until_flip']).as_py():.3f}"
    assert "elsewhere" not in table["proved"]
    partly = erasure_table(with_proof(flip_sets(90), 0.99))
    assert partly is not None
    assert "elsewhere" in partly["proved"]
    assert "no order" in partly["never"]
