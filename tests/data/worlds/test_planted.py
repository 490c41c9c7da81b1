"""Shortcuts in real texts: what is planted decides, and what stands around it can be drawn anew as a whole."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
import pytest
from tests.conftest import made_up_split

from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus, Provenance
from attentest.data.worlds.planted import Planted
from attentest.data.worlds.shortcuts import SHORTCUTS
from attentest.errors import InputError

SIZES = {"train": 120, "dev": 30, "test": 40}
NAMES = sorted(name for name in CORPORA if name.startswith("planted-"))


class Made(Planted):
    """Words planted in texts that a test made up."""

    name: ClassVar[str] = "planted-made"
    classes: ClassVar[tuple[str, ...]] = ("one", "two", "three")

    @cached_property
    def real(self) -> Corpus:
        """Texts of 5 to 20 words."""
        splits = {split: made_up_split(150, 3, 20, seed, 3) for seed, split in enumerate(SIZES)}
        return Corpus("made", self.classes, splits, Provenance("made up", "none"))


def world(**about) -> Planted:
    return Made(**SIZES, **about)


each_kind = pytest.mark.parametrize("kind", SHORTCUTS)


def check_texts(planted: Planted) -> None:
    """What every planted corpus promises."""
    corpus, shortcut = planted.load(), planted.shortcut
    for split in ("train", "test"):
        texts = planted.texts(split)
        assert [list(text.words) for text in texts] == corpus[split].table["tokens"].to_pylist()
        assert [text.label for text in texts] == corpus[split].labels.tolist()
        assert [list(text.deciding) for text in texts] == corpus[split].table["rationale"].to_pylist()
    for text in texts:
        places = sorted(place for unit in text.units for place in unit.places)
        assert places == list(range(len(text.words)))
        said = [unit.words for unit in text.units if unit.decides]
        assert not said or shortcut.label_of(said) == text.label
    assert set(corpus["train"].labels.tolist()) == set(range(len(corpus.classes)))


@each_kind
def test_the_planted_words_decide_and_the_texts_are_those_of_the_corpus(kind):
    planted = world(kind=kind)
    check_texts(planted)
    assert all(any(text.deciding) for text in planted.texts())


@each_kind
def test_what_stands_around_is_a_real_text_whichever_option_is_drawn(kind):
    planted = world(kind=kind)
    real = {tuple(words) for words in planted.real["test"].table["tokens"].to_pylist()}
    for text in planted.texts():
        joint = [unit for unit in text.units if unit.joint]
        for option in range(len(joint[0].options)):
            words = tuple(unit.options[option][0] for unit in joint)
            assert any(whole[: len(words)] == words for whole in real)
        assert len(joint[0].options) >= 20


def test_texts_without_planted_words_keep_their_label():
    planted = world(share=0.5)
    check_texts(planted)
    real = {tuple(row["tokens"]): row["label"] for row in planted.real["test"].table.to_pylist()}
    plain = [text for text in planted.texts() if not any(text.deciding)]
    assert 8 <= len(plain) <= 32
    for text in plain:
        assert text.label in {label for words, label in real.items() if words[: len(text.words)] == text.words}


def test_a_token_out_of_context_tells_nothing():
    for text in world(kind="context").texts():
        (token,), _ = (unit.words for unit in text.units if unit.decides)
        shortcut = SHORTCUTS["context"](3)
        labels = {shortcut.label_of([(token,), option]) for option in shortcut.units[1]}
        assert text.label in labels
        assert 0 in labels


def test_the_order_of_a_pair_decides():
    changed = []
    for text in world(kind="pair").texts():
        one, other = next(unit.words for unit in text.units if unit.decides)
        changed.append(SHORTCUTS["pair"](3).label_of([(other, one)]) != text.label)
    assert np.all(changed)


def test_other_seeds_give_other_texts_and_the_same_seed_the_same():
    one, same, other = (world(seed=seed).load()["test"].table["tokens"].to_pylist() for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize(
    ("about", "value"),
    [({"kind": "word"}, "kind='word'"), ({"share": 0.0}, "share=0.0"), ({"length": 2}, "length=2")],
)
def test_what_cannot_be_is_refused_with_its_value(about, value):
    with pytest.raises(InputError, match=value):
        world(**about)


def test_more_texts_than_there_are_is_refused():
    with pytest.raises(InputError, match="test=5000"):
        Made(train=10, dev=10, test=5000).load()


def test_a_corpus_that_is_not_here_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    monkeypatch.setenv("ATTENTEST_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"'sst' is not on this machine: .*attentest corpora get sst"):
        CORPORA.parse("planted-sst").load()


@pytest.mark.parametrize("name", NAMES)
def test_the_real_corpora_have_them(name):
    planted = CORPORA.parse(f"{name}(train=200, dev=50, test=60)")
    try:
        real = planted.real
    except InputError as error:
        pytest.skip(str(error))
    assert real.classes == planted.classes
    check_texts(planted)
