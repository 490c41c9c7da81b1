from __future__ import annotations

import gzip
import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.data.made_up_corpus import Toy, rows_file, toy_rows

from attentest.data.catalog.raw import RowsOnDisk, where
from attentest.errors import InputError


def test_rows_come_one_at_a_time(toy: Path) -> None:
    rows = RowsOnDisk(Toy())("train")
    assert next(iter(rows)) == {"id": "train-0", "text": "a fine film", "label": 0}


def test_a_long_file_is_not_held_in_memory(places: Path) -> None:
    import tracemalloc

    row = '{{"id": "{}", "text": "' + "many words " * 500 + '", "label": 0}}'
    path = places / "data" / "toy" / "train.jsonl.gz"
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.writelines(row.format(i) + "\n" for i in range(4000))
    tracemalloc.start()
    count = sum(1 for _ in RowsOnDisk(Toy())("train"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 4000
    assert most < 3_000_000


def test_a_corpus_that_is_not_here_says_how_to_get_it(places: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"'toy' is not on this machine: .*'attentest corpora get toy --from DIR', DIR .*http.*ATTENTEST_DATA",
    ):
        RowsOnDisk(Toy())("train")
    assert where(Toy()).here == "no"


def test_a_missing_split_is_named_beside_those_that_are_here(toy: Path) -> None:
    (toy / "test.jsonl.gz").unlink()
    with pytest.raises(InputError, match=r"has no split 'test' on this machine: .*\(there: train\).*corpora get toy"):
        RowsOnDisk(Toy())("test")
    found = where(Toy())
    assert (found.here, found.missing, found.rows) == ("partial", ("test",), {"train": 6})


def test_fewer_rows_than_official_are_partial(toy: Path) -> None:
    assert where(Toy()).here == "yes"
    rows_file(toy / "train.jsonl.gz", toy_rows("train", 4))
    found = where(Toy())
    assert found.here == "partial"
    assert found.short == ("train has 4 of 6 rows",)


GOOD = {"id": "a", "text": "b", "label": 0}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([GOOD, {"id": "b", "label": 1}], r"line 2 has no 'text': corpus 'toy' needs id, text, label in every row"),
        ([GOOD, GOOD], r"line 2 has the id 'a' of row 1: every row needs an id of its own"),
        ([{**GOOD, "text": "  "}], r"line 1 has no text: 'text' is empty"),
        ([{**GOOD, "text": None}], r"line 1: 'text' is NoneType, not a text"),
        ([{**GOOD, "label": 7}], r"line 1 has the label '7', which corpus 'toy' does not know: its labels are 0, 1"),
        ([GOOD, "{not json"], r"line 2 is not JSON"),
        (["[1]"], r"line 1 is a list, not an object with id, text, label"),
    ],
    ids=["field", "id", "text", "kind", "label", "json", "object"],
)
def test_what_is_wrong_with_a_row_is_one_line_with_file_and_line(toy: Path, rows: list[Any], said: str) -> None:
    path = rows_file(toy / "train.jsonl.gz", rows)
    with pytest.raises(InputError, match=said) as raised:
        list(RowsOnDisk(Toy())("train"))
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_cut_short_and_one_that_is_no_gzip_are_named(toy: Path) -> None:
    path = toy / "train.jsonl.gz"
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"plain text"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"train.jsonl.gz is not a whole gzip file"):
            list(RowsOnDisk(Toy())("train"))
        with pytest.raises(InputError, match=r"train.jsonl.gz is not a whole gzip file"):
            where(Toy())


def test_text_that_is_not_utf_8_is_named(toy: Path) -> None:
    (toy / "train.jsonl.gz").write_bytes(gzip.compress(b'{"id": "\xff"}'))
    with pytest.raises(InputError, match=r"line 1 is not UTF-8"):
        list(itertools.islice(RowsOnDisk(Toy())("train"), 1))
