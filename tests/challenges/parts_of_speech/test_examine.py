from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.challenges.test_altered_weights import examined

from attentest.challenges.parts_of_speech import examine
from attentest.challenges.parts_of_speech.examine import PartsOfSpeech
from attentest.challenges.parts_of_speech.tagger import MISSING, TAGS, missing, tagged
from attentest.errors import InputError
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import DEFAULT, THOROUGH

needs_tagger = pytest.mark.skipif(missing(), reason="textblob is not installed")
NAMES = list(TAGS)


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


@needs_tagger
def test_words_are_tagged_one_by_one_in_their_text():
    words = {"the": "determiner", "funny": "adjective", "film": "noun", "never": "adverb", "loved": "verb"}
    words |= {",": "punctuation", "but": "conjunction", "3": "number", "it": "pronoun", "in": "adposition"}
    text, expected = list(words), list(words.values())
    found = [NAMES[place] for place in tagged([text, ["<unk>"], text])]
    assert found == [*expected, "noun", *expected]
    assert len(tagged([])) == 0


def test_shares_of_scores_and_of_words_equal_a_loop(monkeypatch):
    examination = examined()
    tokens = examination.tokens.to_pylist()
    number = {word: place % 5 for place, word in enumerate(sorted({word for text in tokens for word in text}))}
    monkeypatch.setattr(examine, "tagged", lambda texts: np.array([number[w] for t in texts for w in t]))
    table = PartsOfSpeech(("attention", "gradient")).examine(examination)
    rows = table.to_pylist()
    assert len(rows) == 2 * len(tokens) * len(TAGS)
    for row in rows:
        i = row["row"]
        scores = examination.scores(row["explainer"])[i, examination.mask[i]].abs()
        chosen = torch.tensor([NAMES[number[word]] == row["tag"] for word in tokens[i]])
        assert row["mass"] == pytest.approx(float(scores[chosen].sum() / scores.sum()))
        assert row["words"] == pytest.approx(float(chosen.double().mean()))
        assert row["preferred"] == pytest.approx(row["mass"] - row["words"])
    found = Findings("parts_of_speech", PartsOfSpeech().measures, table)
    assert sum(estimate(found, f"attention.{tag}.mass").value for tag in NAMES) == pytest.approx(1)
    assert sum(estimate(found, f"{tag}.words").value for tag in NAMES) == pytest.approx(1)


def test_weights_that_are_even_prefer_nothing(monkeypatch):
    examination = examined()
    even = examination.mask.float() / examination.lengths[:, None]
    examination = replace(examination, reading=replace(examination.reading, weights=even))
    monkeypatch.setattr(examine, "tagged", lambda texts: np.array([len(w) % 5 for t in texts for w in t]))
    for row in PartsOfSpeech(("attention",)).examine(examination).to_pylist():
        assert row["preferred"] == pytest.approx(0, abs=1e-7)


def test_without_a_tagger_it_says_what_to_install(monkeypatch):
    assert "parts_of_speech" not in (*DEFAULT, *THOROUGH)
    monkeypatch.setattr(examine, "missing", lambda: True)
    assert PartsOfSpeech().objection(examined().subject, has_rationale=True) == MISSING
    assert "pip install 'attentest[tagger]'" in MISSING
    with pytest.raises(InputError, match="must name at least one"):
        PartsOfSpeech(())
