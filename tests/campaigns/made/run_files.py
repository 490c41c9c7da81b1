"""What is asked of a run: scores of other tools, and SQL."""

from __future__ import annotations

import base64
import gzip
import io
import json
import shutil
import zipfile
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np

from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import altered, altered_json, damaged, hostile_text, strange
from tests.campaigns.made.names import shown

__all__ = ["Queries", "ScoreFiles", "small_run"]


def small_run(shared: Path) -> Path:
    """A run of made-up texts with its model, made once."""
    from attentest.runs.describe import describe_run
    from attentest.runs.execute import execute
    from tests.conftest import made_up_corpus

    place = shared / "runs"
    if not place.exists():
        asked = ("uniform", "permutation(draws=5)", "agreement")
        made = describe_run(
            corpus=made_up_corpus(count=40),
            encoder="bilstm(hidden=4)",
            embedding=6,
            epochs=1,
            tokenizer="whitespace",
            challenges=asked,
        )
        execute(made, place)
    return next(path for path in place.iterdir() if path.is_dir())


class ScoreFiles(Kind):
    """Files for ``scores import``."""

    name: ClassVar[str] = "score files"
    share: ClassVar[int] = 10

    def prepare(self, shared: Path) -> None:
        from attentest.store.folder import RunFolder
        from attentest.store.score_formats import FORMATS
        from attentest.store.scores import scores_of

        self.run = small_run(shared)
        scores = scores_of(RunFolder(self.run), "attention")
        self.files: dict[str, bytes] = {}
        for name, ending in (("eraser", ".jsonl"), ("inseq", ".json"), ("captum", ".npz"), ("captum", ".safetensors")):
            path = shared / f"scores{ending}"
            FORMATS[name].write(path, scores)
            self.files[ending] = path.read_bytes()
        self.ids = scores.texts.ids

    def case(self, draw: Random, folder: Path) -> Case:
        ending = draw.choice(sorted(self.files))
        content = self.files[ending]
        match ending:
            case ".json":
                content = altered_json(draw, content.decode()) if draw.random() < 0.7 else self._odd_inseq(draw)
            case ".jsonl":
                lines = content.decode().splitlines()
                place = draw.randrange(len(lines))
                lines[place] = altered_json(draw, lines[place]).decode("utf-8", "replace")
                content = "\n".join(lines).encode("utf-8", "replace")
            case ".npz":
                content = self._odd_npz(draw) if draw.random() < 0.6 else damaged(draw, content)
            case _:
                content = damaged(draw, content)
        if ending in (".json", ".jsonl") and draw.random() < 0.15:
            ending, content = f"{ending}.gz", gzip.compress(content, mtime=0)
        path = folder / f"theirs{ending}"
        path.write_bytes(content)
        shutil.copytree(self.run, folder / "runs" / self.run.name)
        command = ("scores", "import", path.name, "--run", self.run.name, "--name", "theirs", "--runs", "runs")
        return Case(f"{path.name} of {len(content)} bytes", command, (f"runs/{self.run.name}/",))

    def _odd_npz(self, draw: Random) -> bytes:
        shape = draw.choice(
            ("(40, 9)", "(1000000000000,)", "(600000000,)", "()", "(-1,)", "(2, 3", "(0,)", "'x'", "(40,)", "(1,)*99")
        )
        kind = draw.choice(("<f8", "<f4", "|O", "<U4", "<i8", "|V9", ">c16", "<M8[s]", "x", "[('a', '<f8')]"))
        header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        body = (
            b"\x93NUMPY\x01\x00"
            + len(header).to_bytes(2, "little")
            + header.encode()
            + draw.randbytes(draw.choice((0, 8, 2880)))
        )
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as file:
            for name in draw.sample(
                ("attributions.npy", "lengths.npy", "ids.npy", "x.npy", "text", "a/b.npy"), k=draw.choice((1, 2, 3))
            ):
                file.writestr(name, body if draw.random() < 0.8 else draw.randbytes(30))
            if draw.random() < 0.3:
                own = io.BytesIO()
                np.save(own, np.full((len(self.ids), 9), draw.choice((np.nan, np.inf, 1e308, 0.0))))
                file.writestr("attributions.npy", own.getvalue())
        content = held.getvalue()
        return damaged(draw, content) if draw.random() < 0.3 else content

    def _odd_inseq(self, draw: Random) -> bytes:
        packed = draw.choice(
            (
                b"",
                draw.randbytes(30),
                gzip.compress(bytes(1000)),
                gzip.compress(bytes(draw.choice((8, 300_000_000))), 9),
            )
        )
        array = {"__ndarray__": draw.choice(("b64.gz:", "b64:", "")) + base64.b64encode(packed).decode()}
        array |= {
            "dtype": draw.choice(("float64", "f4", "O", "V1000000000", "U9", "(3,)f8", "x", 3)),
            "shape": draw.choice(([1], [10**12], [-1], "x", None)),
        }
        one = {"source": ["a"], "source_attributions": array, "attr_pos_start": strange(draw)}
        record: Any = {
            "sequence_attributions": [altered(draw, one) if draw.random() < 0.5 else one] * len(self.ids),
            "info": {"ids": list(self.ids)},
        }
        try:
            return json.dumps(record).encode("utf-8", "replace")
        except RecursionError:
            return b"[" * 5000


class Queries(Kind):
    """SQL given to ``show``."""

    name: ClassVar[str] = "queries"
    share: ClassVar[int] = 8
    fresh: ClassVar[int] = 20

    def prepare(self, shared: Path) -> None:
        self.run = small_run(shared)

    def case(self, draw: Random, folder: Path) -> Case:
        sql = self._sql(draw)
        command = (
            "show",
            self.run.name,
            "--runs",
            str(self.run.parent),
            "--sql",
            shown(sql),
            *(("--json",) if draw.random() < 0.3 else ()),
        )
        return Case(sql[:300], command)

    def _sql(self, draw: Random) -> str:
        table = draw.choice(
            ("instances", "uniform", "permutation", "agreement", "nothing", "range(3)", "range(100000000000)")
        )
        cell = draw.choice(
            (
                "*",
                "1/0",
                "NULL",
                "'x'",
                "count(*)",
                "id",
                "predicted",
                "x",
                "TIMESTAMP '290000-01-01'",
                "DATE '0001-01-01'",
                "INTERVAL 9 YEAR",
                "'\\x00'::BLOB",
                "1::HUGEINT << 100",
                "'NaN'::DOUBLE",
                "[1, NULL]",
                "{'a': 1}",
                "MAP {'a': 1}",
                "uuid()",
                "repeat('x', 1000)",
                "1e308 * 10",
                "1.1::DECIMAL(38, 10)",
                "'infinity'::TIMESTAMP",
                "TIME '24:00:00'",
                "'2020-01-01 00:00:00+14'::TIMESTAMPTZ",
                "bit_count(3)",
                "'101'::BIT",
                "[[[]]]",
            )
        )
        wild = (
            *(
                "",
                ";",
                ";;",
                "--",
                "/*",
                "SELECT",
                "SELECT 1;",
                "SELECT 1; SELECT 2",
                "CALL enable_logging('QueryLog')",
                "PRAGMA version",
                "SET threads = 1",
            ),
            *(
                "COPY (SELECT 1) TO 'made.csv'",
                "COPY instances TO '/tmp/made-by-query.parquet'",
                "ATTACH 'made.db'",
                "INSTALL httpfs",
                "LOAD httpfs",
                "EXPORT DATABASE 'made'",
            ),
            *(
                "SELECT * FROM read_csv('/etc/passwd')",
                "SELECT * FROM '/etc/passwd'",
                "SELECT * FROM glob('*')",
                "SELECT * FROM read_text('/etc/passwd')",
                "SELECT getenv('HOME')",
            ),
            *(
                "CREATE TABLE t AS SELECT 1",
                "DROP VIEW instances",
                "DELETE FROM instances",
                "CHECKPOINT",
                "VACUUM",
                "BEGIN",
                "EXPLAIN SELECT 1",
                "DESCRIBE instances",
                "SHOW TABLES",
            ),
            *(
                "SELECT " + "(" * 3000 + "1" + ")" * 3000,
                "SELECT 1" + "+1" * 20_000,
                "SELECT " + ",".join("1" for _ in range(20_000)),
                "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t",
            ),
            *(
                "SELECT list(range) FROM range(1000000000)",
                "SELECT count(*) FROM range(1000000) a, range(1000000) b",
                "SELECT * FROM duckdb_settings()",
                "SUMMARIZE instances",
                "FROM instances",
                "PIVOT uniform ON predicted USING count(*)",
            ),
            *(
                "SELECT '\\ud800'",
                "SELECT $1",
                "SELECT ?",
                "EXECUTE x",
                "PREPARE x AS SELECT 1",
                "VALUES (1), (2)",
                "TABLE instances",
                "SELECT * FROM instances, instances",
                "SELECT current_setting('memory_limit')",
            ),
        )
        match draw.randrange(4):
            case 0:
                return draw.choice(wild)
            case 1:
                return damaged(
                    draw, f"SELECT {cell} FROM {table} WHERE predicted = 0 ORDER BY 1 LIMIT 5".encode()
                ).decode("utf-8", "replace")
            case 2:
                name = '"' + hostile_text(draw)[:50].replace('"', "") + '"'
                most = draw.choice((0, 1, 5, "x", -1))
                return f"SELECT {cell}, {cell} AS {draw.choice(('a', 'b', name))} FROM {table} LIMIT {most}"
            case _:
                return f"{draw.choice(('SELECT', 'WITH', 'EXPLAIN', ''))} {hostile_text(draw)[:2000]}"
