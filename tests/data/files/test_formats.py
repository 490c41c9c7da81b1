from __future__ import annotations

import gzip
import json
import time
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.files import formats
from attentest.data.files.formats import json_lines, read_table
from attentest.errors import InputError

ROWS = [{"text": "good, film", "label": 1}, {"text": "bad\u2028film", "label": 0}]
CSV = 'text,label\n"good, film",1\nbad\u2028film,0\n'
JSON = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)


WORDS: list[object] = ["1", "0"]
NUMBERS: list[object] = [1, 0]
SAME: dict[str, tuple[str, bytes, list[object]]] = {
    "comma": ("a.csv", CSV.encode(), WORDS),
    "byte-order mark": ("a.CSV", CSV.encode("utf-8-sig"), WORDS),
    "NUL": ("a.csv", CSV.replace("film", "fi\0lm").encode(), WORDS),
    "packed comma": ("a.csv.gz", gzip.compress(CSV.encode()), WORDS),
    "tab": ("a.tsv", "text\tlabel\ngood, film\t1\nbad\u2028film\t0".encode(), WORDS),
    "json": ("a.jsonl", JSON.encode(), NUMBERS),
    "json with blank lines": ("a.ndjson", f"\n{JSON}\r\n\r\n".encode(), NUMBERS),
    "packed json": ("a.jsonl.gz", gzip.compress(JSON.encode()), NUMBERS),
}


@pytest.mark.parametrize("form", SAME)
def test_every_format_gives_the_same_columns(tmp_path: Path, form: str) -> None:
    name, content, labels = SAME[form]
    path = tmp_path / name
    path.write_bytes(content)
    table = read_table(path)
    assert table.rows == 2
    assert table.cells("text") == ["good, film", "bad\u2028film"]
    assert table.cells("label") == labels
    assert (table.name, table.stem) == (path.name, "a")


def test_parquet_gives_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    table = read_table(path)
    assert (table.cells("text"), table.cells("label")) == (["good, film", "bad\u2028film"], [1, 0])


def test_a_field_that_only_some_json_rows_have_is_none_in_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"label": 1}\n')
    assert read_table(path).cells("label") == [None, 1]


BAD = {
    "empty.csv": (b"", "empty.csv is empty"),
    "blank.jsonl": (b"\n \n", "blank.jsonl is empty"),
    "empty.parquet": (b"", "empty.parquet is empty"),
    "header.csv": (b"text,label\n", r"header.csv has a header \(text, label\) and no rows"),
    "a.xlsx": (b"PK", "a.xlsx is of no known format: save it as .csv"),
    "a.parquet.gz": (b"PAR1", "of no known format"),
    "none": (b"text", "of no known format"),
    "chinese.csv": (
        "text,label\n这部电影很好看,1\n那本书不太好看,0\n".encode("gb18030"),
        r"not UTF-8: byte 0xd5 at offset 11 \(line 2\).* Save the file as UTF-8, or name its encoding \(--encoding",
    ),
    "plain.csv.gz": (b"text,label\n", "not a whole gzip file"),
    "cut.csv.gz": (gzip.compress(CSV.encode())[:-9], "not a whole gzip file"),
    "bad.jsonl": (b'{"text": 1}\n{"text":\n', r"line 2 is not JSON \(Expecting value\)"),
    "list.jsonl": (b"[1]\n", "line 1 holds a list, not an object"),
    "deep.jsonl": (b"[" * 100_000, "line 1 is not JSON"),
    "digits.jsonl": (b'{"label": ' + b"1" * 5000 + b"}", "line 1 is not JSON"),
    "twice.csv": (b"text,label, text\na,b,c\n", "has the column 'text' twice"),
    "bad.parquet": (b"PAR1 and no more", "bad.parquet is not a whole Parquet file"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        read_table(tmp_path / name)
    assert "\n" not in str(raised.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.csv does not exist: check the path"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="is a folder: name one file"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / ("x" * 5000))


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99])
def test_a_truncated_parquet_file_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS * 50), path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError, match="not a whole Parquet file"):
        read_table(path)


def test_parquet_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    wrong = pa.StringArray.from_buffers(1, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff"))
    pq.write_table(pa.table({"text": wrong}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="column 'text' holds text that is not UTF-8"):
        read_table(tmp_path / "a.parquet").cells("text")


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=5))
def test_json_lines_survive_a_round_trip(rows: list[dict[str, object]]) -> None:
    text = "\n".join(json.dumps(row) for row in rows)
    assert json_lines(Path("a.jsonl"), text) == rows


def test_a_packed_file_that_is_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "ALLOWANCE", 1000)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n" + b"a,b\n" * 1_000_000))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"unpacks to more than 50 times its size.*unpack it and drop the \.gz"):
        read_table(path)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_a_header_of_100000_columns_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{n}" for n in range(100_000)) + "\n" + ",".join("1" * 100_000) + "\n")
    started = time.process_time()
    assert len(read_table(path).columns) == 100_000
    assert time.process_time() - started < 5
    path.write_text(",".join(f"c{n}" for n in range(100_000)) + ",c7\n1\n")
    with pytest.raises(InputError, match="the column 'c7' twice"):
        read_table(path)


def test_rows_that_each_name_another_column_are_refused_before_they_fill_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(f'{{"text": "a", "k{n}": 1}}' for n in range(10_000)))
    with pytest.raises(InputError, match=r"10,000 rows of 10,001 columns, and 50,000,000 cells are the most"):
        read_table(path)


def test_parquet_that_claims_a_world_of_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.nulls(60_000_000, pa.string())}), path)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match="60,000,000 rows of 1 columns"):
        read_table(path)


def test_memory_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MEMORY", 50 << 20)
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,label\n" + b"a,b\n" * 3_000_000)
    with pytest.raises(InputError, match="takes more than 0 GB of memory to read: give a part of it"):
        read_table(path)


@pytest.mark.parametrize("name", ["zlib", "base64", "undefined", "a\0b", "x" * 1000])
def test_what_is_no_encoding_of_texts_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    with pytest.raises(InputError, match="No encoding is called"):
        read_table(path, name)


@pytest.mark.parametrize("kept", [True, False])
def test_one_value_that_a_million_rows_name_counts_a_million_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """Parquet stores it once; the file is small, and unpacked it is not."""
    monkeypatch.setattr(formats, "UNPACKED", 1 << 20)
    texts = pa.array(["long " * 2_000] * 1_000).dictionary_encode()
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": texts if kept else texts.dictionary_decode(), "label": ["a"] * 1_000}), path)
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match=r"a\.parquet unpacks to more than"):
        read_table(path)
    monkeypatch.setattr(formats, "UNPACKED", 1 << 30)
    table = read_table(path)
    assert (table.rows, table.cells("text")[999]) == (1_000, "long " * 2_000)


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.duration("s")])
def test_times_that_python_does_not_have_are_refused_by_their_column(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["good"], "label": pa.array([2**62], kind)}), path)
    with pytest.raises(InputError, match=r"a\.parquet, column 'label' holds a value that cannot be read .*as text"):
        read_table(path).cells("label")
