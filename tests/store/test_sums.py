from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import sacrebleu

from attentest.measures.bleu import sentence_counts
from attentest.statistics.bootstrap import bootstrap_of_sums
from attentest.statistics.intervals import wilson
from attentest.store.findings import Findings, FindingsWriter, Measure, read_findings
from attentest.store.summary import by_sentence, estimate, sentences_of

WORDS = ["ein", "Hund", "läuft", "durch", "den", "hohen", "Schnee", "zu", "seinem", "Haus", "im", "Wald"]


def texts(count: int, seed: int, wrong: float) -> list[str]:
    generator = np.random.default_rng(seed)
    right = np.random.default_rng(0)
    return [
        " ".join("falsch" if generator.random() < wrong else word for word in right.choice(WORDS, 9))
        for _ in range(count)
    ]


def bleu_findings(count: int = 40) -> tuple[Findings, list[str], list[str], list[str]]:
    references, own, other = texts(count, 1, 0), texts(count, 2, 0.1), texts(count, 3, 0.4)
    measures = (
        Measure("own", "counts", "bleu", "", {"weights": "own"}),
        Measure("change", "counts", "bleu_change", "", {"weights": "uniform"}, against="own_counts"),
    )
    first, second = (sentence_counts(written, references, "none") for written in (own, other))
    table = pa.table(
        {
            "weights": ["own"] * count + ["uniform"] * count,
            "counts": [*first.tolist(), *second.tolist()],
            "own_counts": [*first.tolist(), *first.tolist()],
            "not_judged": pa.array([None] * (2 * count), pa.string()),
        }
    )
    return Findings("bleu", measures, table), references, own, other


@pytest.mark.slow
def test_bleu_is_sacrebleus_and_its_interval_that_of_resampled_sentences() -> None:
    findings, references, own, other = bleu_findings()
    before, after = (sacrebleu.corpus_bleu(t, [references], tokenize="none", force=True).score for t in (own, other))
    found, change = estimate(findings, "own"), estimate(findings, "change")
    assert found.value == pytest.approx(before)
    assert change.value == pytest.approx(after - before)
    assert (found.judged, found.not_judged) == (40, 0)
    generator = np.random.default_rng(0)
    draws = generator.integers(40, size=(2000, 40))
    scores, changes = [], []
    for draw in draws[:300]:
        refs = [references[i] for i in draw]
        a, b = (
            sacrebleu.corpus_bleu([t[i] for i in draw], [refs], tokenize="none", force=True).score for t in (own, other)
        )
        scores.append(a)
        changes.append(b - a)
    assert np.quantile(scores, 0.025) == pytest.approx(found.low, abs=1.5)
    assert np.quantile(changes, 0.975) == pytest.approx(change.high, abs=1.5)
    assert change.low < change.value < change.high < 0


def test_a_ratio_is_of_sums_and_texts_are_drawn_whole() -> None:
    hits, links = np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([1, 2, 1, 1, 1, 1, 1, 2])
    sentence = [4, 4, 4, 4, 7, 7, 7, 7]
    table = pa.table({"hit": hits, "links": links, "sentence": sentence, "not_judged": [None] * 7 + ["end"]})
    apart = Measure("recall", "hit", "ratio", "", against="links")
    whole = Measure("recall", "hit", "ratio", "", against="links", together="sentence")
    findings = Findings("alignment", (whole,), table)
    one, both = estimate(findings, apart), estimate(findings, whole)
    assert one.value == both.value == pytest.approx(4 / 8)
    assert (both.judged, both.not_judged) == (7, 1)
    assert (both.low, both.high) == (0, pytest.approx(4 / 5))
    assert one.low > 0


def test_of_nothing_there_is_no_number() -> None:
    table = pa.table({"hit": pa.array([], pa.int32()), "links": pa.array([], pa.int32())})
    found = estimate(Findings("a", (), table), Measure("r", "hit", "ratio", "", against="links"))
    assert (found.judged, str(found)) == (0, "not judged")
    empty = pa.table({"counts": pa.array([], pa.list_(pa.float64()))})
    assert str(estimate(Findings("a", (), empty), Measure("b", "counts", "bleu", ""))) == "not judged"


def test_no_links_at_all_give_no_recall_and_resamples_without_any_are_left_out() -> None:
    nothing = bootstrap_of_sums(np.zeros((3, 2)), lambda sums: np.full(sums.shape[:-1], np.nan))
    assert np.isnan(nothing).all()
    table = pa.table({"hit": [1, 0], "links": [1, 0]})
    found = estimate(Findings("a", (), table), Measure("r", "hit", "ratio", "", against="links"))
    assert (found.value, found.low, found.high) == (1, 1, 1)


def test_measures_keep_their_second_column_on_disk_and_are_left_out_without_it(tmp_path: Path) -> None:
    findings, *_ = bleu_findings(4)
    for columns, names in ((findings.table.column_names, ["own", "change"]), (["weights", "counts"], ["own"])):
        path = tmp_path / f"{len(columns)}.parquet"
        with FindingsWriter(path, "bleu", findings.measures) as writer:
            writer.write(findings.table.select(columns))
        assert [measure.name for measure in read_findings(path).measures] == names
    assert read_findings(tmp_path / "4.parquet").measures[1].against == "own_counts"


def steps_of(sentences: int, steps: int, share: float, alike: bool) -> Findings:
    """Steps of sentences, right or wrong; all of a sentence alike, or each by itself."""
    generator = np.random.default_rng(1)
    drawn = generator.random((sentences, 1 if alike else steps)) < share
    values = np.broadcast_to(drawn, (sentences, steps)).ravel()
    ids = [f"s{i}@{j}" for i in range(sentences) for j in range(steps)]
    measures = (Measure("share", "right", "fraction", ""), Measure("mean", "right", "mean", ""))
    columns = {"id": ids, "sentence": [f"s{i}" for i in range(sentences) for _ in range(steps)], "right": values}
    return Findings("it", measures, pa.table(columns | {"not_judged": pa.nulls(len(ids), pa.string())}))


@pytest.mark.parametrize("measure", ["share", "mean"])
def test_steps_that_are_alike_say_no_more_than_their_sentences(measure: str) -> None:
    alike, apart = (estimate(steps_of(60, 8, 0.7, alike), measure) for alike in (True, False))
    assert alike.judged == apart.judged == 480
    assert alike.method.endswith("by sentence")
    of_sentences = steps_of(60, 8, 0.7, alike=True).table.slice(0, 480).to_pandas().iloc[::8]["right"]
    _, low, high = wilson(int(of_sentences.sum()), 60)
    assert (alike.low, alike.high) == pytest.approx((low, high), abs=0.02)
    assert apart.high - apart.low < 0.5 * (alike.high - alike.low)


def test_a_share_of_all_steps_is_as_sure_as_so_many_sentences() -> None:
    found = estimate(steps_of(20, 7, 1.1, alike=True), "share")
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(wilson(20, 20).low)


def test_texts_are_drawn_one_by_one_whatever_their_ids_look_like() -> None:
    values = np.arange(40) < 30
    named = {"right": values, "not_judged": pa.nulls(40, pa.string())}
    shops, plain = ({"id": [f"shop{at}{i}" for i in range(40)], **named} for at in ("@", "-"))
    for measure in (Measure("share", "right", "fraction", ""), Measure("mean", "right", "mean", "")):
        found, expected = (estimate(Findings("it", (), pa.table(table)), measure) for table in (shops, plain))
        assert found == expected
    assert (found.low, found.high) == pytest.approx((0.6, 0.875), abs=0.03)


def test_the_sentence_of_a_step_stands_in_a_column() -> None:
    assert sentences_of(pa.table({"id": ["a@0", "a@1", "b@0"]})) is None
    steps = pa.table({"id": ["1", "2", "3"], "sentence": ["a", "a", "b"]})
    assert sentences_of(steps).tolist() == [0, 0, 1]  # type: ignore[union-attr]
    means = by_sentence(np.array([1.0, np.nan, 3.0, np.nan]), np.array([0, 0, 1, 2]))
    np.testing.assert_array_equal(means, [1.0, 3.0, np.nan])


@pytest.mark.parametrize("statistic", ["mean", "fraction"])
def test_rows_of_one_text_are_drawn_together(statistic: str) -> None:
    """Ten copies of every text say no more than one; without ``together`` they would seem to."""
    values = np.random.default_rng(0).random(60) < 0.4
    table = pa.table({"id": [f"t{i}" for i in range(60)] * 10, "yes": np.tile(values, 10)})
    one = Findings("heads", (), table[:60])
    every = Findings("heads", (), table)
    apart, together = Measure("", "yes", statistic, ""), Measure("", "yes", statistic, "", together="id")
    alone, blind, found = estimate(one, together), estimate(every, apart), estimate(every, together)
    assert alone == estimate(one, apart)
    assert found.value == pytest.approx(values.mean())
    assert found.method.endswith("by text")
    assert found.high - found.low == pytest.approx(alone.high - alone.low, rel=0.15)
    assert found.high - found.low > 2 * (blind.high - blind.low)
