"""What an installation of attentest holds: MiB of each dependency, and of what would go with it.

python -m benchmarks.install [--out FILE.json]
"""

from __future__ import annotations

import argparse
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rich.console import Console
from rich.table import Table

from benchmarks import ended, measuring


@cache
def needed(name: str, extras: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What a package asks for here, itself left out."""
    try:
        asked = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return ()
    wanted = map(Requirement, asked)
    return tuple(
        canonicalize_name(one.name)
        for one in wanted
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in (*extras, ""))
    )


@cache
def mebibytes(name: str) -> float:
    """The files that a package put there, without compiled bytecode."""
    try:
        files = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        return 0.0
    sizes = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in sizes if path.is_file()) / 2**20


def reached(without: str | None = None) -> set[str]:
    """All packages that attentest needs, directly or not, where one of its own dependencies were dropped."""
    found: set[str] = set()
    left = ["attentest"]
    while left:
        name = left.pop()
        for one in needed(name):
            if one not in found and not (name == "attentest" and one == without):
                found.add(one)
                left.append(one)
    return found


def main() -> None:
    """As a table, and as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    everything = reached()
    rows = []
    for name in needed("attentest"):
        gone = everything - reached(without=name)
        rows.append({"package": name, "MiB": mebibytes(name), "goes": sum(map(mebibytes, gone)), "with": sorted(gone)})
    rows.sort(key=lambda row: -row["goes"])
    total = sum(map(mebibytes, everything))
    table = Table(
        "dependency", "MiB", "MiB that go if it were dropped", title=f"{len(everything)} packages, {total:,.0f} MiB"
    )
    for row in rows:
        table.add_row(row["package"], f"{row['MiB']:.1f}", f"{row['goes']:.1f}")
    Console().print(table)
    if given.out:
        measuring.write_record(given.out, {**measuring.machine(), "packages": len(everything), "MiB": total}, rows)


if __name__ == "__main__":
    ended(main)
