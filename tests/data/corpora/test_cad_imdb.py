from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine, written

from attentest.data.corpora.cad_imdb import CADIMDB
from attentest.data.corpora.cad_snli import edited
from attentest.errors import InputError

TSV = 'Sentiment\tText\tbatch_id\nNegative\tLong, boring.\t4\nPositive\t"Long, ""fine""."\t4\n'
WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


def pair(name: str) -> list[dict[str, object]]:
    return [
        {"id": f"{name}-o", "text": "Long,<br />boring. Never", "label": 0, "pair": name, "version": "original"},
        {"id": f"{name}-r", "text": "Long, fine and good. Never", "label": 1, "pair": name, "version": "revised"},
    ]


def test_the_official_files_are_read(tmp_path: Path) -> None:
    files = {f"sentiment/combined/paired/{split}_paired.tsv": TSV for split in ("train", "dev", "test")}
    first, second = CADIMDB().read_official(written(tmp_path, files))["dev"]
    assert first == {"id": "4-o", "text": "Long, boring.", "label": 0, "pair": "4", "version": "original"}
    assert (second["id"], second["text"], second["label"]) == ("4-r", 'Long, "fine".', 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tc\n", r"begins with 'a b c', not 'Sentiment Text batch_id'\.$"),
        ("Sentiment\tText\tbatch_id\nMixed\tx\t1\n", r"record 2: sentiment 'Mixed' is not Negative or Positive\.$"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    files = {f"{split}_paired.tsv": text for split in ("train", "dev", "test")}
    with pytest.raises(InputError, match=message):
        list(CADIMDB().read_official(written(tmp_path, files))["train"])


def test_words_the_other_version_does_not_keep_are_marked() -> None:
    prepared = CADIMDB().prepare(Given(train=pair("1"), dev=pair("2"), test=pair("3")))
    marked = {
        text.id: [token for token, flag in zip(text.tokens, text.rationale or (), strict=True) if flag]
        for text in prepared.splits["train"]
    }
    assert marked == {"1-o": ["boring"], "1-r": ["fine", "and", "good"]}
    assert prepared.rationale == "human"


def test_one_version_can_be_asked_for() -> None:
    prepared = CADIMDB(version="original").prepare(Given(train=pair("1"), dev=[], test=[]))
    assert [text.id for text in prepared.splits["train"]] == ["1-o"]
    with pytest.raises(InputError, match=r"version='new' is not one of both, original, revised\.$"):
        CADIMDB(version="new")


def test_half_a_pair_is_refused() -> None:
    with pytest.raises(InputError, match=r"Pair '1' has original: it needs an original and a revised\.$"):
        CADIMDB().prepare(Given(train=pair("1")[:1], dev=[], test=[]))


@given(WORDS, WORDS)
def test_what_is_kept_is_the_same_on_both_sides(before: list[str], after: list[str]) -> None:
    lost, gained = edited(before, after)
    kept = [word for place, word in enumerate(before) if place not in lost]
    assert kept == [word for place, word in enumerate(after) if place not in gained]
    assert edited(before, before) == (set(), set())


@pytest.mark.corpora
def test_the_real_rows() -> None:
    corpus = CADIMDB()
    prepared = corpus.prepare(on_this_machine(corpus))
    assert counts(prepared) == {
        "train": {"negative": 1707, "positive": 1707},
        "dev": {"negative": 245, "positive": 245},
        "test": {"negative": 488, "positive": 488},
    }
