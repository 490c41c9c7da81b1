"""The members that were counted as they come with attentest: one row each, with every test that has an AUROC."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import pandas

from attentest.calibration.analysis.literature import TRUTHS
from attentest.calibration.analysis.table import DIGITS, Table
from attentest.presentation.calibrated import calibrated
from attentest.store.atomic import replacing

__all__ = ["FILE", "members", "write_members"]

FILE = Path(__file__).with_name("members.csv.gz")
ABOUT = ("family", "mechanism", "world")


def write_members(table: Table, path: Path = FILE) -> None:
    """The columns that curves are drawn of, of the members that have learnt their task; the same bytes each time."""
    counted = table.counted()
    names = [*ABOUT, *(f"truth {truth}" for truth in dict.fromkeys(TRUTHS.values())), *calibrated().auroc]
    frame = counted.frame[[name for name in names if name in counted.frame]]
    text = frame.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
    with replacing(path) as target:
        target.write_bytes(gzip.compress(text.encode(), mtime=0))


@cache
def members() -> Table:
    """The table that comes with attentest; it holds no single texts."""
    return Table(pandas.read_csv(FILE), pandas.DataFrame({"member": []}))
