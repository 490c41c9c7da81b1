from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.tokenizers import LONGEST_RUN, TOKENIZERS, tokenize
from attentest.errors import UnknownName


def test_english_splits_contractions_and_punctuation() -> None:
    assert tokenize(["Don't stop, it's GREAT!"]) == [["do", "n't", "stop", ",", "it", "'s", "great", "!"]]


def test_whitespace_keeps_words_whole() -> None:
    assert tokenize(["Don't  stop,\tnow\n"], "whitespace") == [["don't", "stop,", "now"]]


def test_characters_are_tokens_where_words_have_no_spaces() -> None:
    assert tokenize(["这部电影很好看，iPhone 15 不错！"], "characters") == [
        [*"这部电影很好看", "，", "iphone", "15", *"不错", "！"]
    ]
    assert tokenize(["日本語のテスト。"], "characters") == [[*"日本語のテスト", "。"]]
    assert tokenize(["ที่นี่ดีมาก"], "characters") == [["ที่", "นี่", "ดี", "ม", "า", "ก"]]
    assert tokenize(["Don't stop, é-mail: हिन्दी"], "characters") == [["don't", "stop", ",", "é-mail", ":", "हिन्दी"]]


def test_case_is_kept_on_request() -> None:
    assert tokenize(["A Film"], lowercase=False) == [["A", "Film"]]


def test_lower_casing_follows_splitting() -> None:
    # Lower-cased first, "id" would be spaCy's "I'd" without its apostrophe.
    assert tokenize(["My ID card"]) == [["my", "id", "card"]]
    assert tokenize(["my id card"]) == [["my", "i", "d", "card"]]


def test_a_token_with_a_digit_becomes_qqq_only_on_request() -> None:
    text = ["won 3 of B2B in 2019"]
    assert "qqq" not in tokenize(text)[0]
    assert tokenize(text, mask_digits=True) == [["won", "qqq", "of", "qqq", "in", "qqq"]]


@pytest.mark.parametrize("tokenizer", sorted(TOKENIZERS))
def test_an_empty_text_has_no_tokens(tokenizer: str) -> None:
    assert tokenize(["", " \n\t\u3000 "], tokenizer) == [[], []]


def test_an_unknown_tokenizer_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"No tokenizer is called 'englsh'. Did you mean 'english'?"):
        tokenize(["a"], "englsh")


@settings(deadline=None)
@given(st.lists(st.text(max_size=60), max_size=4), st.sampled_from(sorted(TOKENIZERS)))
def test_tokens_are_the_text_without_its_white_space(texts: list[str], tokenizer: str) -> None:
    for text, tokens in zip(texts, tokenize(texts, tokenizer, lowercase=False), strict=True):
        assert "".join(tokens) == "".join(text.split())
        assert not any(token.isspace() for token in tokens)


def test_english_is_spacy_s_own_tokenizer() -> None:
    import spacy

    own = spacy.blank("en")
    text = 'He said: "I can\'t pay $3.50 (U.S.) for www.example.com/x?y=1 :-) — no way!!!"\nBye.'
    assert tokenize([text], lowercase=False) == [[token.text for token in own(text) if not token.is_space]]


def test_a_run_without_spaces_is_cut_so_that_time_stays_linear() -> None:
    (tokens,) = tokenize(["a" * (2 * LONGEST_RUN + 1)])
    assert tokens == ["a" * LONGEST_RUN, "a" * LONGEST_RUN, "a"]
    assert len(tokenize(["(" * 20_000])[0]) == 20_000
