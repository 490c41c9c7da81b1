from __future__ import annotations

import dataclasses
import gzip
import json
import os
from pathlib import Path

import pytest

from attentest.data.corpora import CORPORA
from attentest.data.files.new_texts import RULES, USUAL, cut_like
from attentest.errors import UnknownName

#: Corpora whose rows hold the text as their authors published it.
REAL = {
    **{name: name for name in ("sst", "imdb", "ag_news", "eraser_movies", "yelp_hat", "cad_imdb")},
    **{name: name for name in ("hatexplain", "deceptive_pronoun", "deceptive_sst_wiki")},
    "20news": "20news_sports",
    "imdb(tokens='keras')": "imdb",
    "imdb(tokens='words')": "imdb",
}


@pytest.mark.slow
def test_texts_of_the_built_in_corpus_are_cut_as_they_were_made():
    corpus = CORPORA.parse("reviews(train=1, dev=1, test=200)").load()
    rows = corpus["test"].table["tokens"].to_pylist()
    cut = cut_like([" ".join(tokens) for tokens in rows], dataclasses.asdict(corpus.provenance))
    assert cut.tokens == rows
    assert cut.warning == ""


@pytest.mark.corpora
@pytest.mark.skipif(not os.environ.get("ATTENTEST_DATA"), reason="ATTENTEST_DATA is not set")
@pytest.mark.parametrize("name", REAL)
def test_texts_of_a_corpus_by_name_are_cut_as_it_was_prepared(name):
    corpus = CORPORA.parse(name).load()
    rows = {row["id"]: row["tokens"] for row in corpus["test"].table.slice(0, 100).to_pylist()}
    texts: dict[str, str] = {}
    files = (Path(os.environ["ATTENTEST_DATA"]) / REAL[name]).glob("*.jsonl.gz")
    for file in sorted(files, key=lambda file: "test" not in file.name):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["id"] in rows:
                    texts[row["id"]] = row["text"]
                if len(texts) == len(rows):
                    break
    cut = cut_like([texts[key] for key in rows], dataclasses.asdict(corpus.provenance))
    assert cut.tokens == list(rows.values())


def test_a_file_is_cut_by_the_tokenizer_that_its_run_recorded():
    recorded = {"tokenizer": "whitespace", "lowercase": False, "preparation": "whitespace tokens, at most 1000 a text"}
    assert cut_like(["It isn't."], recorded).tokens == [["It", "isn't."]]
    assert cut_like(["It isn't."], {**recorded, "lowercase": True}).tokens == [["it", "isn't."]]
    assert cut_like(["It isn't."], recorded, "english").tokens == [["It", "is", "n't", "."]]


def test_what_cannot_be_cut_alike_says_so():
    assert cut_like(["No."], {"preparation": "by a machine that nobody knows"}).warning == USUAL.warning != ""
    assert cut_like(["No."], {}).tokens == [["no", "."]]
    spaced = {"preparation": "words between spaces as released"}
    assert "spaces around punctuation" in cut_like(["No."], spaced).warning
    assert cut_like(["No ."], spaced).warning == ""


def test_an_unknown_tokenizer_is_named():
    with pytest.raises(UnknownName, match="whitespace"):
        cut_like(["No."], {}, "whitespce")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.words)
def test_every_rule_can_be_reached_and_gives_nothing_for_white_space(rule):
    assert next(r for r in RULES if r.words in f"x {rule.words} y") == rule
    assert cut_like([" \n\t "], {"preparation": rule.words}).tokens == [[]]
