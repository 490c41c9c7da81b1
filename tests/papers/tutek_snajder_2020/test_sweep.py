"""The weight of a term is chosen on dev, for every corpus and attention by itself."""

from __future__ import annotations

from attentest.papers.tutek_snajder_2020.sweep import Tried, chosen


def one(term: str, score: float, *, corpus: str = "sst", attention: str = "additive") -> Tried:
    return Tried(corpus, attention, term, score, 3, f"{corpus}-{term}")


def marked(*found: Tried) -> set[str]:
    return {f"{one.corpus}: {one.term}" for one in chosen(found) if one.chosen}


def test_the_highest_dev_score_of_its_kind_is_chosen() -> None:
    found = (
        one("tying(weight=1.0)", 0.80),
        one("tying(weight=10.0)", 0.82),
        one("mlm(weight=0.1)", 0.79),
        one("mlm(weight=5.0)", 0.70),
        one("tying(weight=1.0)", 0.91, corpus="imdb"),
        one("tying(weight=10.0)", 0.90, corpus="imdb"),
    )
    assert marked(*found) == {"sst: tying(weight=10.0)", "sst: mlm(weight=0.1)", "imdb: tying(weight=1.0)"}


def test_of_equal_scores_the_larger_weight_is_chosen() -> None:
    assert marked(one("tying(weight=20.0)", 0.8), one("tying(weight=3.0)", 0.8)) == {"sst: tying(weight=20.0)"}


def test_sums_over_a_text_are_shown_and_never_chosen() -> None:
    found = (one("mlm(weight=1.0, per='text')", 0.9), one("mlm(weight=1.0)", 0.8))
    assert marked(*found) == {"sst: mlm(weight=1.0)"}
    assert len(chosen(found)) == 2


def test_a_weight_that_is_the_default_is_read_too() -> None:
    assert one("tying", 0.8).weight == 10
    assert marked(one("tying", 0.82), one("tying(weight=1.0)", 0.8)) == {"sst: tying"}
