"""Data files: CSV, TSV, JSON lines and Parquet, packed or not, and the options that say how to read them."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import json
import os
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import TEXTS, damaged, hostile_text, strange

__all__ = ["DataFiles", "good_rows"]

NAMES = (
    "text",
    "label",
    "Text",
    "sentence",
    "review",
    "class",
    "id",
    "split",
    "rationale",
    "second",
    "",
    " ",
    "target",
    "x",
)


def good_rows(draw: Random, count: int = 24) -> list[dict[str, Any]]:
    """Rows that can be used."""
    words = "it was a truly good bad film with some great and awful scenes in the end".split()  # noqa: SIM905
    texts = (" ".join(draw.choices(words, k=draw.randint(3, 9))) for _ in range(count))
    return [{"text": text, "label": ("no", "yes")[number % 2]} for number, text in enumerate(texts)]


class DataFiles(Kind):
    """A file that is nearly right, or nearly wrong."""

    name: ClassVar[str] = "data files"
    share: ClassVar[int] = 30

    def case(self, draw: Random, folder: Path) -> Case:
        ending = draw.choice(
            (".csv", ".tsv", ".jsonl", ".parquet") * 4 + (".csv.gz", ".jsonl.gz", ".ndjson", ".txt", "")
        )
        path = folder / f"data{ending}"
        rows = self._rows(draw)
        how = "odd place" if draw.random() < 0.04 else ending
        if how == "odd place":
            self._odd_place(draw, path)
        else:
            path.write_bytes(self._content(draw, ending, rows))
        command = ["audit", "--data", path.name, "--tokenizer", "whitespace", "--runs", "runs"]
        for flag in ("--text-column", "--label-column", "--second-column", "--id-column"):
            if draw.random() < 0.03:
                command += [flag, _argument(draw.choice((*NAMES, *TEXTS)))]
        for flag, values in (
            (
                "--encoding",
                (
                    "utf-8",
                    "utf-16",
                    "latin-1",
                    "zlib",
                    "idna",
                    "punycode",
                    "unicode_escape",
                    "undefined",
                    "utf-7",
                    "mbcs",
                ),
            ),
            ("--tokenizer", ("english", "characters", "whitespace", "spacy", "")),
            ("--max-tokens", ("1", "3", "0", "-1", "10000000000", "x", "1e3", "1000000000")),
            ("--truncate", ("1", "2", "0", "99999999999")),
            ("--min-frequency", ("1", "50", "0", "x")),
            ("--limit", ("0", "1", "10000000000", "-1")),
            ("--seed", ("0", "4294967295", "4294967296", "4611686018427387904", "-1", "x")),
            ("--test", (path.name, "none.csv", ".", "/dev/null")),
        ):
            if draw.random() < 0.025:
                command += [flag, draw.choice(values)]
        return Case(f"{how} {' '.join(command[2:])}", tuple(command))

    def _rows(self, draw: Random) -> list[dict[str, Any]]:
        rows = good_rows(draw, draw.choice((0, 1, 2, 3, 24, 24, 24, 30, 40, 60)))
        for _ in range(draw.choice((0, 0, 0, 1, 1, 2, 5))):
            match draw.randrange(9):
                case 0:
                    odd = draw.choice(TEXTS)
                    rows = [{**row, "label": odd} for row in rows]
                case 1:
                    rows = [{**row, draw.choice(NAMES): strange(draw)} for row in rows]
                case 2 if rows:
                    rows[draw.randrange(len(rows))]["text"] = strange(draw)
                case 3 if rows:
                    rows[draw.randrange(len(rows))]["label"] = strange(draw)
                case 4:
                    rows = [
                        {**row, "split": draw.choice(("train", "dev", "test", "", "tset", None, 3))} for row in rows
                    ]
                case 5:
                    rows = [
                        {**row, "rationale": [draw.choice((0, 1, 1, 0, 2)) for _ in range(_words(row))]} for row in rows
                    ]
                case 6:
                    rows = [{**row, "label": draw.random() if draw.random() < 0.9 else n} for n, row in enumerate(rows)]
                case 7:
                    rows = [
                        {hostile_text(draw) if draw.random() < 0.2 else key: value for key, value in row.items()}
                        for row in rows
                    ]
                case _:
                    rows = [{"id": draw.choice(("same", n, "", None)), **row} for n, row in enumerate(rows)]
        return rows

    def _content(self, draw: Random, ending: str, rows: list[dict[str, Any]]) -> bytes:
        plain = ending.removesuffix(".gz")
        if plain in (".jsonl", ".ndjson"):
            content = "\n".join(_json(row) for row in rows).encode("utf-8", "replace")
        elif plain == ".parquet":
            content = _parquet(draw, rows)
        else:
            content = _delimited(draw, rows, "\t" if plain == ".tsv" else draw.choice(",,,;|\t"))
        if draw.random() < 0.3:
            content = damaged(draw, content)
        if plain != ".parquet" and draw.random() < 0.06:
            content = _recoded(draw, content)
        if draw.random() < 0.02:
            content = _large(draw, plain)
        if ending.endswith(".gz"):
            content = gzip.compress(content, mtime=0)
            if draw.random() < 0.4:
                content = damaged(draw, content)
            elif draw.random() < 0.1:
                content = (
                    gzip.compress(b"text,label\n" + b"a,b\n" * 60_000_000, 1, mtime=0)
                    if draw.random() < 0.1
                    else content + content
                )
        return content

    def _odd_place(self, draw: Random, path: Path) -> None:
        match draw.randrange(7):
            case 0:
                path.mkdir()
            case 1:
                path.symlink_to(path.name)
            case 2:
                os.mkfifo(path)
            case 3:
                path.symlink_to("/dev/zero")
            case 4:
                path.symlink_to("/dev/full")
            case 5:
                path.write_bytes(b"")
            case _:
                path.symlink_to("/proc/self/mem")


def _words(row: dict[str, Any]) -> int:
    """How many words a row's text has; a few where it is none."""
    text = row.get("text")
    return len(text.split()) if isinstance(text, str) else 3


def _argument(text: str) -> str:
    """As much of a text as a command line can hold."""
    return (
        text.replace("\0", "").encode("utf-8", "surrogateescape" if "\ud800" not in text else "replace").decode()[:2000]
    )


def _json(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, ensure_ascii=False)
    except (RecursionError, ValueError):
        return '{"text": ' + "[" * 5000


def _delimited(draw: Random, rows: list[dict[str, Any]], delimiter: str) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["text", "label"]
    held = io.StringIO(newline="")
    writer = csv.writer(held, delimiter=delimiter, quoting=draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))
    if draw.random() < 0.95:
        writer.writerow([name.replace("\0", "") for name in names])
    for row in rows:
        try:
            cells = ["" if row.get(name) is None else str(row.get(name)).replace("\0", "") for name in names]
        except (RecursionError, ValueError):
            cells = ["["] * len(names)
        writer.writerow(cells)
    return held.getvalue().encode("utf-8", "replace")


def _parquet(draw: Random, rows: list[dict[str, Any]]) -> bytes:
    count = len(rows)
    odd: tuple[Any, ...] = (
        *(pa.nulls(count), pa.array([b"x\xff"] * count), pa.array([1.5] * count), pa.array([True] * count, pa.bool_())),
        *(pa.array([datetime.date(1, 1, 1)] * count), pa.array([decimal.Decimal("1.10")] * count)),
        *(pa.array([[1, 2]] * count), pa.array([{"a": 1}] * count), pa.array(["a"] * count).dictionary_encode()),
        *(pa.array([2**62] * count, pa.timestamp("ns")), pa.array([1] * count, pa.duration("us"))),
        pa.array(["a"] * count, pa.large_string()),
    )
    texts = (
        pa.array([row["text"] if isinstance(row.get("text"), str) else "x" for row in rows], pa.string(), safe=False)
        if not any(isinstance(row.get("text"), str) and "\ud800" in row["text"] for row in rows)
        else pa.array(["x"] * count)
    )
    labels = pa.array([str(number % 3) for number in range(count)])
    columns = {draw.choice(("text", "text", "review", "")): texts, draw.choice(("label", "label", "y")): labels}
    if draw.random() < 0.5:
        columns[draw.choice(("text", "label", "id", "split", "rationale", "z"))] = draw.choice(odd)
    held = io.BytesIO()
    pq.write_table(pa.table(columns), held, compression=draw.choice(("snappy", "gzip", "zstd", "none")))
    return held.getvalue()


def _recoded(draw: Random, content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(
        draw.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1252", "utf-7", "gb18030")), "replace"
    )


def _large(draw: Random, plain: str) -> bytes:
    """Few bytes' worth of idea, many bytes."""
    if plain in (".jsonl", ".ndjson"):
        many = draw.choice((20_000, 90_000))
        return draw.choice(
            (
                "\n".join(f'{{"text": "a", "k{n}": 1}}' for n in range(many)).encode(),
                json.dumps({"text": "a b", "label": "x", **{f"k{n}": 1 for n in range(many)}}).encode(),
            )
        )
    return draw.choice(
        (
            ",".join(f"c{n}" for n in range(100_000)).encode() + b"\n1\n",
            b"text,label\n" + b"a b,x\n" * 100_000,
            b'text,label\n"' + b"a " * 2_000_000 + b'",x\n',
            b"," * 3_000_000,
            b"\n" * 3_000_000,
            b'"' * 2_000_000,
            b"a\tb\n" * 200_000,
        )
    )
