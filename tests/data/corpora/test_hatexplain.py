"""No test here prints a real post: assertions are on counts only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine, written

from attentest.data.corpora.hatexplain import HateXplain
from attentest.errors import InputError


def post(labels: str, marks: list[list[int]]) -> dict[str, Any]:
    names = {"h": "hatespeech", "n": "normal", "o": "offensive"}
    return {
        "annotators": [{"label": names[label], "annotator_id": 1, "target": ["None"]} for label in labels],
        "rationales": marks,
        "post_tokens": ["w1", "w2", "w3"],
    }


POSTS = {
    "1_gab": post("hho", [[0, 1, 0], [1, 1, 0], [0, 0, 1]]),
    "2_gab": post("nnn", []),
    "3_gab": post("hno", [[1, 0, 0], [1, 0, 0]]),
}


def official(folder: Path, posts: object = POSTS, **divisions: list[str]) -> Path:
    division = {"train": ["1_gab", "2_gab", "3_gab"], "val": [], "test": [], **divisions}
    files = {"Data/dataset.json": json.dumps(posts), "Data/post_id_divisions.json": json.dumps(division)}
    return written(folder, files)


def test_majorities_of_labels_and_of_marks_are_read_and_undecided_posts_are_not(tmp_path: Path) -> None:
    read = HateXplain().read_official(official(tmp_path))
    assert list(read["train"]) == [
        {
            "id": "1_gab",
            "text": "w1 w2 w3",
            "label": "hatespeech",
            "rationale": [1],
            "annotations": [[1], [0, 1], [2]],
        },
        {"id": "2_gab", "text": "w1 w2 w3", "label": "normal"},
    ]
    assert list(read["dev"]) == []


def test_a_post_that_is_not_there_or_not_whole_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no post '9', which post_id_divisions.json names\.$"):
        list(HateXplain().read_official(official(tmp_path, test=["9"]))["test"])
    with pytest.raises(InputError, match=r"post '1_gab' has no post_tokens, annotators and rationales\.$"):
        list(HateXplain().read_official(official(tmp_path, {"1_gab": {}}))["train"])
    with pytest.raises(InputError, match=r"dataset.json holds a list"):
        HateXplain().read_official(official(tmp_path, []))


ROWS = [
    {"id": "a", "text": "w1 w2 w3", "label": "hatespeech", "rationale": [1], "approx": True},
    {"id": "b", "text": "w1 w2", "label": "offensive"},
    {"id": "c", "text": "w1", "label": "offensive", "rationale": []},
    {"id": "d", "text": "w1", "label": "normal"},
]


def test_marks_become_flags_and_what_is_missing_is_counted() -> None:
    prepared = HateXplain().prepare(Given(train=ROWS, dev=[], test=[]))
    texts = {text.id: text for text in prepared.splits["train"]}
    assert texts["a"].rationale == [False, True, False]
    assert texts["d"].rationale == [False]
    assert prepared.left_out == [
        "train: 1 kept, their marks placed by likeness",
        "train: 1 kept, toxic and without marks: empty",
        "train: 1 kept, toxic and without marks: not found",
    ]


def test_what_each_annotator_marked_is_kept_where_the_rows_have_it() -> None:
    rows = [{**ROWS[0], "annotations": [[1], [], [0, 1]]}, *ROWS[1:]]
    texts = {text.id: text for text in HateXplain().prepare(Given(train=rows, dev=[], test=[])).splits["train"]}
    assert texts["a"].rationale == [False, True, False]
    assert texts["a"].annotations == [[False, True, False], [False] * 3, [True, True, False]]
    assert texts["b"].annotations is None
    row = {**ROWS[0], "annotations": [[3]]}
    with pytest.raises(InputError, match=r"^Post 'a': a marked word lies outside its 3 words\.$"):
        HateXplain().prepare(Given(train=[row], dev=[], test=[]))


def test_two_classes_are_normal_and_toxic() -> None:
    prepared = HateXplain(two_classes=True).prepare(Given(train=ROWS, dev=[], test=[]))
    assert counts(prepared)["train"] == {"normal": 1, "toxic": 3}


def test_a_mark_outside_the_post_is_refused_without_showing_it() -> None:
    row = {"id": "a", "text": "w1", "label": "offensive", "rationale": [1]}
    with pytest.raises(InputError, match=r"^Post 'a': a marked word lies outside its 1 words\.$"):
        HateXplain().prepare(Given(train=[row], dev=[], test=[]))


@pytest.mark.corpora
def test_the_real_rows() -> None:
    corpus = HateXplain()
    assert corpus.sensitive
    prepared = corpus.prepare(on_this_machine(corpus))
    assert counts(prepared) == {
        "train": {"hatespeech": 4748, "normal": 6251, "offensive": 4384},
        "dev": {"hatespeech": 593, "normal": 781, "offensive": 548},
        "test": {"hatespeech": 594, "normal": 782, "offensive": 548},
    }
    without = [int(line.split()[1]) for line in prepared.left_out if "without marks" in line]
    assert sum(without) == 9
