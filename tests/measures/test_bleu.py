from __future__ import annotations

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from attentest.measures.bleu import corpus_bleu, sentence_counts, signature

PAIRS = st.lists(st.tuples(st.text("ab .,'", max_size=24), st.text("ab .,'", max_size=24)), min_size=1, max_size=5)


@given(PAIRS, st.sampled_from(["13a", "none"]))
def test_bleu_of_summed_counts_is_sacrebleus(pairs: list[tuple[str, str]], tokenize: str) -> None:
    hypotheses, references = ([pair[side] for pair in pairs] for side in (0, 1))
    expected = sacrebleu.corpus_bleu(hypotheses, [references], tokenize=tokenize, force=True).score
    counts = sentence_counts(hypotheses, references, tokenize)
    assert counts.shape == (len(pairs), 10)
    assert corpus_bleu(counts.sum(0)) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=6), st.integers(0, 9))
def test_many_sums_at_once_are_each_sacrebleus(matches: list[list[int]], written: int) -> None:
    sums = np.array([[written, 5, *row, *(max(0, written - n) for n in range(4))] for row in matches])
    expected = [
        sacrebleu.BLEU.compute_bleu(list(s[2:6]), list(s[6:]), int(s[0]), int(s[1]), smooth_method="exp").score
        for s in sums
    ]
    np.testing.assert_allclose(corpus_bleu(sums), expected, atol=1e-9)


def test_known_text() -> None:
    counts = sentence_counts(["Ein Hund läuft durch den Schnee ."], ["Ein Hund rennt durch den Schnee ."], "none")
    assert counts.tolist() == [[7, 7, 6, 4, 2, 1, 7, 6, 5, 4]]
    assert sentence_counts(["ein Hund."], ["ein Hund."])[0, 0] == 3


def test_the_signature_says_how_text_was_cut() -> None:
    assert signature().startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert "tok:none" in signature("none")


def test_every_text_needs_a_reference() -> None:
    with pytest.raises(ValueError, match="2 texts stand beside 1 references"):
        sentence_counts(["a", "b"], ["a"])
