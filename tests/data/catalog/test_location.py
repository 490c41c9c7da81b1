from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from attentest.data.catalog.location import data_folder, read_split
from attentest.errors import InputError


def test_the_data_folder_is_the_one_the_environment_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    assert data_folder() == tmp_path


def test_without_the_environment_it_is_in_the_user_s_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTENTEST_DATA", raising=False)
    assert data_folder().name == "data"
    assert "attentest" in str(data_folder())


def test_rows_come_as_dictionaries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "dev.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a"}\n{"id": "b"}\n'))
    assert read_split("toy", "dev") == [{"id": "a"}, {"id": "b"}]


def test_a_missing_corpus_says_where_it_should_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"Corpus 'toy' is not on this machine: .*set ATTENTEST_DATA") as raised:
        read_split("toy", "train")
    assert str(tmp_path / "toy" / "train.jsonl.gz") in str(raised.value)


def test_a_row_that_lacks_a_field_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "dev.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a"}'))
    with pytest.raises(InputError, match=r"row 1 has no 'label': corpus 'toy' needs id, label in every row"):
        read_split("toy", "dev", ("id", "label"))
