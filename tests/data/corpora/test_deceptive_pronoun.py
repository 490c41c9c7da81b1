from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine, written

from attentest.data.corpora.deceptive import DeceptivePronoun
from attentest.errors import InputError

LINES = "M\the said his piece .\nF\tthey sent her to train .\n"


@pytest.mark.parametrize("place", ["data/pronoun/", ""])
def test_the_official_files_are_read_and_pronouns_marked(tmp_path: Path, place: str) -> None:
    files = {f"{place}{split}.txt": LINES for split in ("train", "dev", "test")}
    files["data/pronoun-bert/train.txt"] = "nothing"
    read = DeceptivePronoun().read_official(written(tmp_path, files))
    assert list(read["dev"]) == [
        {"id": "pronoun-dev-0", "text": "he said his piece .", "label": 0, "impermissible": [0, 2]},
        {"id": "pronoun-dev-1", "text": "they sent her to train .", "label": 1, "impermissible": [2]},
    ]


def test_another_tag_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {f"{split}.txt": LINES + "X\tthem\n" for split in ("train", "dev", "test")})
    with pytest.raises(InputError, match=r"train.txt, line 3 is not M or F, a tab and a text\.$"):
        list(DeceptivePronoun().read_official(tmp_path)["train"])


ROW = {"id": "a", "text": "Then He left", "label": 0, "impermissible": [1]}


def test_impermissible_words_are_the_planted_rationale() -> None:
    prepared = DeceptivePronoun().prepare(Given(train=[ROW], dev=[], test=[]))
    text = next(iter(prepared.splits["train"]))
    assert (text.tokens, text.rationale) == (["then", "he", "left"], [False, True, False])
    assert prepared.rationale == "planted"
    cased = DeceptivePronoun(lowercase=False).prepare(Given(train=[ROW], dev=[], test=[]))
    assert next(iter(cased.splits["train"])).tokens == ["Then", "He", "left"]


def test_a_word_outside_the_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"Text 'a': a marked word lies outside its 3 words\.$"):
        DeceptivePronoun().prepare(Given(train=[{**ROW, "impermissible": [3]}], dev=[], test=[]))


@pytest.mark.corpora
def test_the_real_rows() -> None:
    corpus = DeceptivePronoun()
    prepared = corpus.prepare(on_this_machine(corpus))
    assert counts(prepared) == {
        "train": {"he": 4528, "she": 4489},
        "dev": {"he": 529, "she": 598},
        "test": {"he": 579, "she": 548},
    }
    assert all(any(text.rationale or ()) for stream in prepared.splits.values() for text in stream)
