"""Translations as steps: a row for every word to write."""

from __future__ import annotations

import numpy as np
import torch
from tests.support.translations import made_up_translations

from attentest.data.batches import Encoded, bucketed
from attentest.data.steps import stepped, with_targets
from attentest.data.vocabulary import END, Vocabulary


def test_every_word_to_write_and_the_end_is_a_row_with_the_words_before_it():
    split = made_up_translations(5)
    vocabulary = Vocabulary.from_split(split)
    rows = stepped(split, vocabulary).table.to_pylist()
    texts = split.table.to_pylist()
    assert len(rows) == sum(len(text["target"]) + 1 for text in texts)
    at = 0
    for text in texts:
        for step in range(len(text["target"]) + 1):
            row = rows[at]
            assert row["id"] == f"{text['id']}@{step}"
            assert row["sentence"] == text["id"]
            assert row["tokens"] == text["tokens"]
            assert row["second"] == text["target"][:step]
            word = text["target"][step] if step < len(text["target"]) else None
            assert row["label"] == (END if word is None else vocabulary.target.index[word])
            linked = {int(s) for s, t in (link.split("-") for link in text["alignment"]) if int(t) == step}
            assert row["rationale"] == [place in linked for place in range(len(text["tokens"]))]
            at += 1


def test_batches_hold_all_steps_of_a_text_in_the_order_of_the_split_of_steps():
    split = made_up_translations(30)
    vocabulary = Vocabulary.from_split(split)
    encoded, steps = Encoded.of(split, vocabulary), stepped(split, vocabulary)
    seen = []
    for batches in bucketed(encoded, tokens=300, chunk=8):
        for batch in batches:
            target = batch.target
            assert torch.equal(batch.labels, torch.from_numpy(steps.labels[batch.rows.numpy()]).long())
            assert torch.equal(target.of.bincount(), torch.from_numpy(encoded.steps[target.sentences.numpy()]))
            assert torch.equal(batch.text.tokens, target.text.tokens[target.of])
            seen.extend(batch.rows.tolist())
    assert sorted(seen) == list(range(len(steps)))


def test_keys_of_steps_depend_on_the_sentence_and_the_step_alone():
    split = made_up_translations(12)
    vocabulary = Vocabulary.from_split(split)
    encoded = Encoded.of(split, vocabulary)
    whole, alone = encoded.batch(np.arange(12)), encoded.batch(np.array([7]))
    there = torch.isin(whole.rows, alone.rows)
    assert torch.equal(whole.keys[there], alone.keys)
    assert len(whole.keys.unique()) == len(whole)


def test_halves_keep_the_steps_of_a_text_together():
    split = made_up_translations(7)
    encoded = Encoded.of(split, Vocabulary.from_split(split))
    batch = encoded.batch(np.arange(7))
    first, last = batch.halves()
    assert torch.equal(torch.cat([first.rows, last.rows]), batch.rows)
    assert not set(first.target.sentences.tolist()) & set(last.target.sentences.tolist())
    for half in (first, last):
        assert torch.equal(half.text.tokens, half.target.text.tokens[half.target.of])
        assert half.target.of.min() == 0
        assert half.texts == int(half.target.of.max()) + 1


def test_other_targets_take_the_place_of_the_old_ones_and_of_their_links():
    split = made_up_translations(3)
    other = with_targets(split, [["Hund"], [], ["ein", "Mann"]])
    assert other.table["target"].to_pylist() == [["Hund"], [], ["ein", "Mann"]]
    assert not other.has("alignment")
    assert other.ids == split.ids
