"""What is kept of a paper's runs, as a stranger may hand it over: archives of findings, and tables of outcomes."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaigns.made.answers import odd_place
from tests.campaigns.made.archives import MEMBERS
from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import TEXTS, altered, altered_json, damaged, hostile_text
from tests.campaigns.made.names import shown

__all__ = ["ClaimsArchives", "OutcomeTables"]

PAPER = "jain_wallace_2019"


class ClaimsArchives(Kind):
    """Archives for ``claims --from``, most of them sealed anew by whoever altered them."""

    name: ClassVar[str] = "archives of claims"
    share: ClassVar[int] = 60

    def prepare(self, shared: Path) -> None:
        from attentest.papers.archive import write_archive
        from tests.papers.made_up_cells import cell

        path = shared / "claims.zip"
        cells = [cell(shared / "claimed", seed=seed, instances=40) for seed in (0, 1)]
        write_archive(path, PAPER, cells)
        self.whole = path.read_bytes()
        with zipfile.ZipFile(path) as file:
            self.members = {name: file.read(name) for name in file.namelist()}

    def case(self, draw: Random, folder: Path) -> Case:
        path, what = folder / "theirs.zip", "bytes"
        if draw.random() < 0.25:
            path.write_bytes(damaged(draw, self.whole) if draw.random() < 0.9 else draw.randbytes(200))
        elif draw.random() < 0.08:
            odd_place(draw, path)
            what = "an odd place"
        else:
            members = dict(self.members)
            for _ in range(draw.choice((1, 1, 2))):
                what = self._altered(draw, members)
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
                for name, content in members.items():
                    file.writestr(name.replace("\udcff", "\xff"), content)
        more = draw.choice(((), (), ("--csv", "out.csv"), ("--page", "out.html"), ("--json",)))
        command = ("claims", PAPER, "--from", path.name, "--runs", "runs", *more)
        return Case(what, command, ("out",), whole=True)

    def _altered(self, draw: Random, members: dict[str, bytes]) -> str:  # noqa: PLR0911 - one for each kind
        study = next(name for name in members if name.startswith("studies/"))
        run = draw.choice(sorted({name.split("/")[0] for name in self.members} - {"studies"}))
        tables = [name for name in members if name.startswith(f"{run}/findings/")]
        match draw.randrange(7):
            case 0 if study in members:
                members[study] = altered_json(draw, self.members[study].decode())
                return "the study's record"
            case 1:
                record = json.loads(self.members[f"{run}/run.json"])
                record.pop("seal")
                members[f"{run}/run.json"] = _sealed(altered(draw, record))
                return "a run's record, sealed"
            case 2:
                members.pop(draw.choice(sorted(members)))
                return "a member that is not there"
            case 3:
                members[draw.choice(MEMBERS) or "x"] = draw.randbytes(draw.choice((0, 10, 1000)))
                return "a member more"
            case 4:
                members[f"{run}/x"] = bytes(draw.choice((10, 600_000_000)))
                return "a member that unpacks to much"
            case _ if tables:
                self._sealed_in(members, run, name := draw.choice(tables), self._table(draw, members[name]))
                return f"{name}, sealed"
        return "nothing"

    def _sealed_in(self, members: dict[str, bytes], run: str, name: str, content: bytes) -> None:
        members[name] = content
        record = json.loads(self.members[f"{run}/run.json"])
        record.pop("seal")
        record["finished"][name.partition("/")[2]]["sha256"] = sha256(content).hexdigest()
        members[f"{run}/run.json"] = _sealed(record)

    @staticmethod
    def _table(draw: Random, content: bytes) -> bytes:
        """Findings with a column of another type, or that say other things of themselves."""
        table = pq.read_table(io.BytesIO(content))
        about = dict(table.schema.metadata)
        kind = draw.randrange(6)
        if kind == 0:
            return damaged(draw, content)
        if kind == 1:
            about[b"attentest"] = altered_json(draw, about[b"attentest"].decode())
        elif kind == 2:
            table = table.drop([draw.choice(table.column_names)])
        elif kind == 3:
            count = draw.choice((0, 1, 30_000_000))
            table = pa.table({name: pa.array(np.zeros(count, np.int8)) for name in table.column_names[:3]})
        else:
            at = draw.randrange(table.num_columns)
            table = table.set_column(at, table.column_names[at], _column(draw, len(table)))
        held = io.BytesIO()
        pq.write_table(table.replace_schema_metadata(about), held)
        return held.getvalue()


class OutcomeTables(Kind):
    """Tables for ``claims --onto``, and odd places to write to."""

    name: ClassVar[str] = "tables of outcomes"
    share: ClassVar[int] = 40

    def prepare(self, shared: Path) -> None:
        from attentest.papers import PAPERS
        from attentest.papers.outcome_files import REPRODUCED

        lines = (PAPERS[PAPER].text(REPRODUCED) or "").splitlines(keepends=True)
        self.head, self.rows = lines[0], [line for line in lines[1:] if ",agrees," in line or ",differs," in line]

    def case(self, draw: Random, folder: Path) -> Case:
        path = folder / "theirs.csv"
        held = io.StringIO()
        held.write(self.head)
        writer = csv.writer(held, lineterminator="\n")
        for line in draw.sample(self.rows, k=draw.choice((0, 1, 5))):
            (cells,) = csv.reader([line])
            if draw.random() < 0.7:
                at = draw.randrange(len(cells))
                odd = draw.choice(("nan", "inf", "1e400", "-1", "9" * 5000, "x" * 200_000, "", hostile_text(draw)))
                cells[at : at + 1] = draw.choice(([odd], [odd], [odd], [], [odd, odd]))
            writer.writerow([one.replace("\0", "") for one in cells])
        content = held.getvalue().encode("utf-8", "replace")
        path.write_bytes(damaged(draw, content) if draw.random() < 0.3 else content)
        if draw.random() < 0.06:
            path.unlink()
            odd_place(draw, path)
        command = ["claims", PAPER, "--onto", path.name, "--runs", "runs"]
        for flag in ("--table", "--corpus", "--status", "--csv", "--page"):
            if draw.random() < 0.15:
                command += [flag, shown(draw.choice((*TEXTS, "2", "sst", "agrees", "out.csv", "/dev/full")))[:3000]]
        what = " ".join(command[2:])[:200] + f" {content[len(self.head) :][:200]!r}"
        return Case(what, tuple(command), ("",), whole=True)


def _sealed(record: Any) -> bytes:
    """Sealed as attentest seals, whatever it is."""
    from attentest.store.sealed import sealed

    try:
        return sealed(record if isinstance(record, dict) else {"fields": record}).encode("utf-8", "replace")
    except (RecursionError, ValueError):
        return b"{}"


def _column(draw: Random, count: int) -> pa.Array:
    """A column of some type, with values that nobody expects."""
    value = draw.choice(
        (2**62, "x", [1.0], float("nan"), float("inf"), None, {"a": 1}, 1e308, b"\xff", True, [], [None], 2**31, -1)
    )
    return pa.array([value] * count)
