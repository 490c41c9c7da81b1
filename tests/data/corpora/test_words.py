from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentest.data.corpora.words import Words
from attentest.data.tokenizers import tokenize

TEXTS = [
    "A man's dog-sled (3 dogs), isn't it?  Mr. Smith's \"yes\"...",
    "don't; can't,won't U.S. $5.00 e-mail@host.org http://a.b/c?d=1 :-) 10km",
]


@pytest.mark.parametrize("text", TEXTS)
def test_word_by_word_the_tokens_are_those_of_the_whole_text(text: str) -> None:
    assert Words(mask_digits=True).tokens(text) == tokenize([text], mask_digits=True)[0]


@given(st.text(alphabet="aB3'.,-!\"() \n:/", max_size=40))
def test_word_by_word_the_tokens_are_those_of_any_text(text: str) -> None:
    assert Words().tokens(text) == tokenize([text])[0]


def test_a_marked_word_marks_every_token_that_comes_from_it() -> None:
    words = Words()
    assert words.tokens("The dog's bone.") == ["the", "dog", "'s", "bone", "."]
    assert words.marked("The dog's bone.", {1}) == [False, True, True, False, False]


def test_german_words_keep_their_hyphens_and_whitespace_words_are_left_alone() -> None:
    assert Words("de", lowercase=False).tokens("Das Punch-Out-Spiel, bzw.") == ["Das", "Punch-Out-Spiel", ",", "bzw."]
    assert Words("whitespace", lowercase=False).tokens("Ja, so.") == ["Ja,", "so."]
