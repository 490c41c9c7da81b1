from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import _twenty_newsgroups as oracle
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine

from attentest.data.catalog.presets import with_preset
from attentest.data.corpora.newsgroups import Newsgroups, stripped
from attentest.errors import InputError

POST = """From: someone
Subject: Re: the game

In article <1> another writes:
> It was dull.
It was not: 3-2 in overtime!!

--
A signature
"""
PIECES = st.sampled_from(["\n", "\n\n", "--", " ", "> x", "| y", "word", "he wrote: z", "In article 1", "-\n", "a: b"])


def rows(count: int = 20) -> Given:
    def some(split: str) -> list[dict[str, object]]:
        groups = ("rec.sport.baseball", "rec.sport.hockey")
        return [
            {"id": f"{groups[n % 2]}/{split}{n}", "text": "" if n < 4 else "Ball no. 9! " * n, "label": n % 2}
            for n in range(count)
        ]

    return Given(train=some("a"), test=some("b"))


def test_headers_footers_and_quotes_go() -> None:
    assert stripped(POST) == "It was not: 3-2 in overtime!!\n"


@given(st.lists(PIECES, max_size=12).map("".join))
def test_posts_are_stripped_as_scikit_learn_does(raw: str) -> None:
    body = oracle.strip_newsgroup_footer(oracle.strip_newsgroup_header(raw))
    assert stripped(raw) == oracle.strip_newsgroup_quoting(body)


def test_the_official_tree_is_read(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for group in ("rec.sport.baseball", "rec.sport.hockey", "sci.med"):
            (tmp_path / "x" / f"20news-bydate-{split}" / group).mkdir(parents=True)
            (tmp_path / "x" / f"20news-bydate-{split}" / group / "101").write_bytes(POST.encode() + b"\xe9")
    read = Newsgroups().read_official(tmp_path)
    train = list(read["train"])
    assert [row["id"] for row in train] == ["rec.sport.baseball/101", "rec.sport.hockey/101"]
    assert (train[1]["label"], train[1]["subject"]) == (1, "Re: the game")
    assert train[0]["text"] == "It was not: 3-2 in overtime!!\n"


def test_a_tree_without_a_group_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no 20news-bydate-train/rec.sport.baseball: unpack"):
        Newsgroups().read_official(tmp_path)


def test_splits_are_pooled_and_drawn_again_and_punctuation_goes_but_for_the_last() -> None:
    prepared = Newsgroups().prepare(rows())
    found = counts(prepared)
    assert sum(sum(split.values()) for split in found.values()) == 32
    assert found["test"] == {"baseball": 3, "hockey": 3}  # 4 and 4 are drawn, an empty one of each among them
    text = next(iter(prepared.splits["train"]))
    assert (text.tokens[:4], text.tokens[-1]) == (["ball", "no", "qqq", "ball"], "!")


def test_empty_posts_take_part_in_the_draw_or_not() -> None:
    assert (
        "all: 8 texts left out: empty without headers and quotes"
        in Newsgroups(draw_empty=False).prepare(rows()).left_out
    )
    assert with_preset(Newsgroups, "released") == Newsgroups(draw_empty=False)


@pytest.mark.corpora
def test_the_draw_of_table_1_is_rebuilt() -> None:
    corpus = Newsgroups()
    found = counts(corpus.prepare(on_this_machine(corpus)))
    assert found == {
        "train": {"baseball": 576, "hockey": 565},
        "dev": {"baseball": 140, "hockey": 145},
        "test": {"baseball": 171, "hockey": 183},
    }
    assert [found["train"][name] + found["dev"][name] for name in ("baseball", "hockey")] == [716, 710]


@pytest.mark.corpora
def test_the_released_draw() -> None:
    corpus = Newsgroups(draw_empty=False)
    assert counts(corpus.prepare(on_this_machine(corpus))) == {
        "train": {"baseball": 568, "hockey": 577},
        "dev": {"baseball": 140, "hockey": 138},
        "test": {"baseball": 179, "hockey": 178},
    }


@pytest.mark.corpora
def test_real_posts_are_stripped_to_their_texts() -> None:
    real = on_this_machine(Newsgroups())
    for split in ("train", "test"):
        assert all(stripped(row["raw"]).strip() == row["text"].strip() for row in real(split))
