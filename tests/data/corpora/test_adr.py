from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, written

from attentest.data.corpora.adr import ADR
from attentest.errors import InputError

RELEASED = 'text,label,exp_split\n""" user DRUG make me dizzy , help """,1,train\nDRUG be fine for me today,0,test\n'
TWEETS = "".join(f"{n}\t7\t{n % 2}\tDrug no. {n} made me feel this way\n" for n in range(20))


def test_the_released_file_is_read_with_its_splits(tmp_path: Path) -> None:
    read = ADR().read_official(written(tmp_path, {"preprocess/Tweets/adr_dataset.csv": RELEASED}))
    assert {split: [row["label"] for row in rows] for split, rows in read.items()} == {"train": [1], "test": [0]}
    assert next(iter(read["train"]))["text"] == '" user DRUG make me dizzy , help "'


def test_the_tab_separated_file_is_read_and_drawn(tmp_path: Path) -> None:
    read = ADR().read_official(written(tmp_path, {"tweets.tsv": TWEETS}))
    assert sorted(int(row["id"]) for rows in read.values() for row in rows) == list(range(20))
    assert sorted(row["label"] for row in read["test"]) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"adr_dataset.csv": "a,b,c\n"}, r"begins with 'a,b,c', not 'text,label,exp_split'\.$"),
        ({"adr_dataset.csv": "text,label,exp_split\nx,2,train\n"}, r"tweet 1: label '2' is neither 0 nor 1\.$"),
        ({"t.tsv": "1\t2\n"}, r"record 1 has 2 columns, not 4\.$"),
        ({}, "adr_dataset.csv"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ADR().read_official(written(tmp_path, files))


@pytest.mark.slow
def test_released_words_stay_and_tweets_are_cleaned_and_limited() -> None:
    def some(name: str, **more: bool) -> list[dict[str, object]]:
        return [
            {"id": f"{name}{n}", "text": "DRUG do n't work 4 me " * (n > 1) + "Oh no", "label": n % 2, **more}
            for n in range(22)
        ]

    prepared = ADR().prepare(Given(train=some("a", tokenised=True), test=some("b")))
    assert counts(prepared) == {
        "train": {"no reaction": 9, "reaction": 9},
        "dev": {"no reaction": 1, "reaction": 1},
        "test": {"no reaction": 10, "reaction": 10},
    }
    assert next(iter(prepared.splits["train"])).tokens == ["DRUG", "do", "n't", "work", "4", "me", "Oh", "no"]
    assert next(iter(prepared.splits["test"])).tokens[:5] == ["drug", "do", "n't", "work", "qqq"]
    assert prepared.left_out[0] == "train: 2 texts left out: 5 tokens or fewer"


def test_a_dev_split_of_the_release_is_kept() -> None:
    one = [{"id": "x", "text": "a b c d e f", "label": 0, "tokenised": True}]
    prepared = ADR().prepare(Given(train=one, dev=[{**one[0], "id": "y"}], test=[{**one[0], "id": "z"}]))
    assert [text.id for text in prepared.splits["dev"]] == ["y"]
