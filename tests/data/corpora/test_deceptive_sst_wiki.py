from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine, written

from attentest.data.corpora.deceptive import DeceptiveSSTWiki
from attentest.errors import InputError

LINES = "1\tA rare film . It is a town .\n0\tI hate this It is old.\n"
BLOCK = "1 1 1 1 0 0 0 0 0\n1 1 1 0 0 0\n"


def official(folder: Path, block: str = BLOCK) -> Path:
    files = {f"data/sst-wiki/{split}.txt": LINES for split in ("train", "dev", "test")}
    return written(folder, {**files, **{f"{name}.block": block for name in files}})


def test_the_official_files_are_read_with_their_blocks(tmp_path: Path) -> None:
    read = DeceptiveSSTWiki().read_official(official(tmp_path))
    assert list(read["test"])[1] == {
        "id": "sst_wiki-test-1",
        "text": "I hate this It is old.",
        "label": 0,
        "impermissible": [0, 1, 2],
    }


@pytest.mark.parametrize("block", ["1 1 0\n1 1 1 0 0 0\n", ""])
def test_blocks_that_do_not_fit_are_refused(tmp_path: Path, block: str) -> None:
    with pytest.raises(InputError, match=r"train.txt.block"):
        list(DeceptiveSSTWiki().read_official(official(tmp_path, block))["train"])


def test_only_the_review_is_marked() -> None:
    row = {"id": "a", "text": "A rare film . It is", "label": 1, "impermissible": [0, 1, 2, 3]}
    prepared = DeceptiveSSTWiki().prepare(Given(train=[row], dev=[], test=[]))
    text = next(iter(prepared.splits["train"]))
    assert (text.tokens[:2], text.rationale) == (["a", "rare"], [True] * 4 + [False] * 2)


@pytest.mark.corpora
def test_the_real_rows() -> None:
    corpus = DeceptiveSSTWiki()
    assert counts(corpus.prepare(on_this_machine(corpus))) == {
        "train": {"negative": 3310, "positive": 3610},
        "dev": {"negative": 428, "positive": 444},
        "test": {"negative": 912, "positive": 909},
    }
