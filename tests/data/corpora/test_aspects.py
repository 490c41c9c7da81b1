"""The judgement of the aspect asked for is derived again from the marked words alone, by a reader of its own."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest

from attentest.data.corpora import CORPORA
from attentest.data.corpora.aspect_words import ASPECTS, OPINIONS, SLOTS
from attentest.data.corpora.aspects import Aspects
from attentest.data.corpus import Corpus
from attentest.errors import InputError

PRAISE, BLAME = ({word for sides in (*OPINIONS.values(), *SLOTS.values()) for word in sides[i].split()} for i in (0, 1))
NAMES = {name for name, _, _ in ASPECTS}


@cache
def corpus() -> Corpus:
    return Aspects(train=600, dev=120, test=300).load()


def rows() -> list[dict[str, Any]]:
    return [row for split in corpus().splits.values() for row in split.table.to_pylist()]


def judged(words: list[str]) -> int:
    """What the words of one judgement say: a negation turns the opinion round."""
    (opinion,) = [word for word in words if word in PRAISE | BLAME]
    return int((opinion in PRAISE) != any(word in ("not", "never") for word in words))


def judgements(tokens: list[str]) -> dict[str, int]:
    """What a text says of each thing: every clause has one thing and one opinion."""
    found: dict[str, int] = {}
    words: list[str] = []
    for token in tokens:
        words.append(token)
        thing = [word for word in words if word in NAMES]
        if thing and any(word in PRAISE | BLAME for word in words):
            found[thing[0]] = judged(words)
            words = []
    return found


def test_the_label_is_what_the_text_says_of_the_aspect_and_the_marked_words_decide_it() -> None:
    for row in rows():
        (asked,) = row["second"]
        marked = [word for word, mark in zip(row["tokens"], row["rationale"], strict=True) if mark]
        assert 1 <= len(marked) <= 2
        assert judged(marked) == row["label"]
        assert judgements(row["tokens"])[asked] == row["label"]


def test_a_text_with_several_judgements_has_praise_and_blame() -> None:
    counts = Counter(len(judgements(row["tokens"])) for row in rows())
    assert set(counts) == {1, 2, 3}
    assert 0.3 < counts[1] / counts.total() < 0.4
    assert all(len(set(said.values())) == 2 for row in rows() if len(said := judgements(row["tokens"])) > 1)


def test_neither_text_tells_the_label_alone() -> None:
    several = [row for row in rows() if len(judgements(row["tokens"])) == 3]
    most = [int(sum(judgements(row["tokens"]).values()) > 1) == row["label"] for row in several]
    assert 0.4 < sum(most) / len(most) < 0.6
    for name in NAMES:
        labels = [row["label"] for row in rows() if row["second"] == [name]]
        assert 0.35 < sum(labels) / len(labels) < 0.65
    for split in corpus().splits.values():
        assert abs(2 * int(split.labels.sum()) - len(split)) <= 1


def test_no_text_is_asked_the_same_twice_and_ids_differ() -> None:
    assert len({(*row["tokens"], *row["second"]) for row in rows()}) == len({row["id"] for row in rows()}) == 1020


def test_the_same_fields_give_the_same_texts_and_the_test_split_does_not_hang_on_the_others() -> None:
    again = Aspects(train=600, dev=120, test=300).load()
    assert again.digest == corpus().digest == "75df9dcab11f380a"
    alone = Aspects(train=1, dev=1, test=300).load()["test"]
    assert alone.table.equals(corpus()["test"].table)
    assert Aspects(train=1, dev=1, test=300, seed=6).load()["test"].table["tokens"] != alone.table["tokens"]


def test_it_is_listed_and_says_what_it_is() -> None:
    made = CORPORA.parse("aspects(train=6, dev=2, test=2)").load()
    assert (made.task, made.classes, made.provenance.rationale) == ("pair", ("negative", "positive"), "planted")


def test_sizes_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(InputError, match="dev=0 is not a size"):
        Aspects(dev=0).load()
    with pytest.raises(InputError, match="more than the 20000"):
        Aspects(train=20_000).load()
