"""Answers are derived again from the sentences' words alone, by a solver that knows the world but not its code."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from attentest.data.corpora.stories import Stories, Stories1, Stories2, Stories3
from attentest.data.corpora.story_world import OBJECTS, PEOPLE, PLACES, WORDING
from attentest.data.corpus import Corpus
from attentest.errors import InputError

KINDS = (Stories1, Stories2, Stories3)
DEEDS = {phrase: deed for deed, phrases in WORDING.items() for phrase in phrases}
Sentence = tuple[str, str, str]


@cache
def corpus(kind: type[Stories]) -> Corpus:
    return kind(train=600, dev=120, test=300).load()


def sentences(tokens: list[str]) -> list[Sentence]:
    """Who did what with what, read from the words."""
    found = re.findall(r"(\w+) ([a-z ]+ the) (\w+) \.", " ".join(tokens))
    assert sum(len(f"{a} {b} {c}".split()) + 1 for a, b, c in found) == len(tokens)
    return [(person, DEEDS[phrase], what) for person, phrase, what in found]


def solve(story: list[Sentence], question: list[str]) -> str:
    """Play the story, keeping where everybody and everything has been."""
    at: dict[str, str] = {}
    carrier: dict[str, str] = {}
    track: dict[str, list[str]] = {}
    for person, deed, what in story:
        if deed == "move":
            at[person] = what
            moved = [thing for thing, by in carrier.items() if by == person]
        elif deed == "take":
            carrier[what], moved = person, [what]
        else:
            del carrier[what]
            moved = []
        for thing in moved:
            if person in at and track.get(thing, [""])[-1] != at[person]:
                track.setdefault(thing, []).append(at[person])
    text = " ".join(question)
    if before := re.fullmatch(r"which place was the (\w+) in before the (\w+) \?", text):
        past = track[before[1]]
        return past[max(i for i, place in enumerate(past) if place == before[2] and i) - 1]
    asked = re.fullmatch(r"which place is (?:the )?(\w+) in \?", text)
    assert asked
    return at[asked[1]] if asked[1] in PEOPLE else track[asked[1]][-1]


def solve_from_facts(facts: list[Sentence], question: list[str]) -> str:
    """The answer from the flagged sentences: the place moved to, other than one that the question names."""
    person = {who for who, _, _ in facts}
    assert len(person) == 1
    assert all(what in question for _, deed, what in facts if deed != "move")
    (place,) = [what for _, deed, what in facts if deed == "move" and what not in question]
    return place


def rows(kind: type[Stories]) -> list[tuple[str, dict[str, object]]]:
    return [(name, row) for name, split in corpus(kind).splits.items() for row in split.table.to_pylist()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_follows_from_the_whole_story_and_from_the_flagged_sentences_alone(kind: type[Stories]) -> None:
    for _, row in rows(kind):
        tokens, flags, question, label = row["tokens"], row["rationale"], row["second"], row["label"]
        told = sentences(tokens)  # type: ignore[arg-type]
        answer = PLACES[label]  # type: ignore[call-overload]
        assert solve(told, question) == answer  # type: ignore[arg-type]
        marked = sentences([t for t, flag in zip(tokens, flags, strict=True) if flag])  # type: ignore[call-overload]
        assert len(marked) == kind.facts
        assert solve_from_facts(marked, question) == answer  # type: ignore[arg-type]
        if kind is not Stories2:
            assert solve(marked, question) == answer  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_no_story_is_told_twice_and_answers_are_equally_frequent(kind: type[Stories]) -> None:
    every = [(tuple(row["tokens"]), tuple(row["second"])) for _, row in rows(kind)]  # type: ignore[arg-type]
    assert len(set(every)) == len(every) == 1_020
    assert len({row["id"] for _, row in rows(kind)}) == 1_020
    for name, split in corpus(kind).splits.items():
        counts = Counter(split.labels.tolist())
        assert len(counts) == len(PLACES)
        assert max(counts.values()) - min(counts.values()) <= 1, name


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_place_of_the_story_is_seldom_the_answer(kind: type[Stories]) -> None:
    every = [row for _, row in rows(kind)]
    last = [next(t for t in reversed(row["tokens"]) if t in PLACES) for row in every]  # type: ignore[call-overload]
    right = sum(PLACES[row["label"]] == place for row, place in zip(every, last, strict=True))  # type: ignore[call-overload]
    assert right / len(every) < 0.5


@pytest.mark.slow
def test_the_same_fields_give_the_same_stories_and_the_test_split_does_not_hang_on_the_others() -> None:
    assert corpus(Stories2).digest == Stories2(train=600, dev=120, test=300).load().digest
    alone = Stories2(train=1, dev=1, test=300).load()["test"]
    assert alone.table.equals(corpus(Stories2)["test"].table)
    other = Stories2(train=1, dev=1, test=300, seed=12).load()["test"]
    assert other.table["tokens"].to_pylist() != alone.table["tokens"].to_pylist()


def test_the_first_story_of_each_task_never_changes() -> None:
    assert {kind.name: corpus(kind).digest for kind in KINDS} == DIGESTS


def test_the_world_is_our_own() -> None:
    facebook = "mary john daniel sandra bathroom hallway garden office bedroom kitchen football milk apple"
    assert set(facebook.split()).isdisjoint((*PEOPLE, *PLACES, *OBJECTS))
    assert set(facebook.split()).isdisjoint(t for _, row in rows(Stories3) for t in row["tokens"])  # type: ignore[attr-defined]


def test_the_task_and_the_rationale_are_named() -> None:
    for kind in KINDS:
        made = corpus(kind)
        assert (made.task, made.provenance.rationale, made.classes) == ("answer", "planted", PLACES)


def test_sizes_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(InputError, match="dev=0 is not a size"):
        Stories1(dev=0).load()
    with pytest.raises(InputError, match="more than the 100000"):
        Stories1(train=100_000).load()


DIGESTS = {"stories-1": "43c80c3ffb24fdda", "stories-2": "080be7253b00fd30", "stories-3": "75ddd4d92b858495"}
