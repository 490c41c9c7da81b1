from __future__ import annotations

import os
import re

import pytest
from tests.conftest import made_up_corpus

from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.marking import listed_words, with_marks
from attentest.errors import InputError


def corpus() -> Corpus:
    texts = [["She", "said", "he", "left"], ["the", "sherry"], ["HER", "hat"]]
    split = Split.of(["1", "2", "3"], texts, [0, 1, 0])
    return Corpus("notes", ("a", "b"), {"train": split, "test": split}, Provenance("", ""))


def marked(*given: str) -> list[list[bool]]:
    found = with_marks(corpus(), given)["train"]
    return found.table["rationale"].to_pylist()


def test_words_are_marked_whatever_their_case():
    assert marked("she", "her") == [[True, False, False, False], [False, False], [True, False]]


@pytest.mark.parametrize("pattern", ["s?he", "sh.*|left", "[^h]+", "h.."])
def test_a_pattern_marks_words_that_it_matches_as_a_whole(pattern):
    words = corpus()["train"].table["tokens"].to_pylist()
    expected = [[re.fullmatch(pattern, word.lower()) is not None for word in text] for text in words]
    assert marked(f"/{pattern}/") == expected


def test_a_file_names_a_word_a_line(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("hat\n\n  HE \n")
    assert marked(f"@{file}") == [[False, False, True, False], [False, False], [False, True]]


def test_marks_take_the_place_of_the_corpus_s_own_and_change_its_digest():
    own = made_up_corpus()
    word = own["train"].table["tokens"][0].as_py()[0]
    found = with_marks(own, word)
    assert found.provenance.rationale == "listed"
    assert found.digest != own.digest
    assert with_marks(own, None) is own
    for text, flags in zip(*(found["test"].table[name].to_pylist() for name in ("tokens", "rationale")), strict=True):
        assert flags == [token.lower() == word.lower() for token in text]


@pytest.mark.parametrize(
    ("given", "says"),
    [("", "must be a word"), ("/(/", "no regular expression"), ("@nowhere.txt", "cannot be read"), ("zebra", "zebra")],
)
def test_what_marks_nothing_is_refused_in_one_line(given, says):
    with pytest.raises(InputError, match=re.escape(says)):
        with_marks(corpus(), given)


def test_a_pattern_that_never_ends_elsewhere_ends_here():
    split = Split.of(["1"], [["a" * 50_000 + "!"]], [0])
    long = Corpus("long", ("a",), {"train": split}, Provenance("", ""))
    with pytest.raises(InputError, match="name words that it has"):
        with_marks(long, "/(a+)+/")
    assert listed_words(["/(a+)+/"]).patterns == ("(a+)+",)


@pytest.mark.parametrize("endless", ["pipe", "/dev/zero"])
def test_a_pipe_or_device_is_no_file_of_words(tmp_path, endless):
    path = tmp_path / "words"
    if endless == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(endless)
    with pytest.raises(InputError, match="no file but a pipe or a device"):
        listed_words(f"@{path}")
