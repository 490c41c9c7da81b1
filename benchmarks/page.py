"""The tables of docs/explanation/speed.md, made from the figures that were kept.

python -m benchmarks.page [--installed]

With --installed, what every dependency weighs is measured first.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.measuring import machine, table_of, write_record

FOLDER = Path(__file__).parents[1] / "docs" / "explanation"
PAGE = FOLDER / "speed.md"

#: How many times faster a row should be: beginnings of its two names.
AIMS = (
    ("adversary, certified", "search", 250),
    ("permutation × 100", "loop", 18),
    ("deletion", "loop", 6),
    ("deletion, 16 texts of 20", "loop", 6),
    ("deletion, 4 texts of 180", "loop", 8),
    ("two workers: deletion", "loop", 12),
    ("two workers: deletion, twice 4 texts of 180", "loop", 16),
    ("ablation, 16 texts of 20", "captum FeatureAblation, text by text", 15),
    ("ablation, 4 texts of 180", "captum FeatureAblation, text by text", 15),
    ("ablation, 16 texts of 20", "captum FeatureAblation, 16 texts at a time, at its best", 6),
    ("ablation, 4 texts of 180", "captum FeatureAblation, 4 texts at a time, at its best", 10),
    ("Kendall", "SciPy", 50),
    ("integrated gradients, 50 steps, 16 texts of 20", "captum IntegratedGradients, text by text", 4),
    ("integrated gradients, 50 steps, 4 texts of 180", "captum IntegratedGradients, text by text", 4),
    ("flip sets", "loop", 30),
    ("training epoch", "packed", 1.7),
    ("two workers: the battery", "all of it", 20),
)


def kept(name: str) -> Mapping[str, Any]:
    """A file of figures."""
    found: Mapping[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def aims() -> str:
    """Every aim beside what was measured."""
    now, before = kept("speed")["rows"], kept("speed-before")["rows"]
    lines = ["| work | beside | aim | before | now | |", "| --- | --- | ---: | ---: | ---: | --- |"]
    for work, beside, aim in AIMS:
        found = [row for row in now if row["work"].startswith(work) and row["beside"].startswith(beside)]
        if not found:
            lines.append(f"| {work} | {beside} | {aim} | | | not measured |")
            continue
        row = found[0]
        old = next(
            (old["ratio"] for old in before if (old["work"], old["beside"]) == (row["work"], row["beside"])), None
        )
        shown = "" if old is None else f"{old:.1f}"
        verdict = "reached" if row["ratio"] >= aim else "missed"
        lines.append(f"| {row['work']} | {row['beside']} | {aim} | {shown} | {row['ratio']:.1f} | {verdict} |")
    return "\n".join(lines)


def scale() -> str:
    """The curves, a line for each size."""
    lines = ["| against | size | what | seconds | peak MiB |", "| --- | ---: | --- | ---: | ---: |"]
    for row in kept("scale")["rows"]:
        peak = f"{row['peak MiB']:.0f}" if "peak MiB" in row else ""
        lines.append(f"| {row['against']} | {row['size']:,} | {row['what']} | {row['seconds']:.2f} | {peak} |")
    return "\n".join(lines)


def commands() -> str:
    """Whole commands, a line for each number of cores."""
    lines = ["| command | cores | wall, s | processor, s | peak MiB |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in kept("commands")["rows"]:
        numbers = f"{row['wall']:.1f} | {row['cpu']:.1f} | {row['peak MiB']:,.0f}"
        lines.append(f"| {row['what']} | {row['cores']} | {numbers} |")
    return "\n".join(lines)


def side_by_side() -> str:
    """A study by workers and by Ray nodes, and how much faster than with one worker on one core."""
    lines = ["| what | how many | cores | wall, s | times faster | processor, s | peak MiB |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows = kept("side_by_side")["rows"]
    for row in rows:
        alone = next(one["wall"] for one in rows if one["what"] == row["what"])
        numbers = [f"{row['wall']:.1f}", f"{alone / row['wall']:.2f}"]
        numbers += [f"{row[name]:,.0f}" if name in row else "" for name in ("cpu", "peak")]
        lines.append(f"| {row['what']} | {row['size']} | {row['cores']} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def gpu() -> str:
    """A training step of the LSTM kernel beside the library's, by the number of processes."""
    rows = kept("speed-gpu")["rows"]
    lines = ["| processes | library, ms a step | ours | library, ms a step of all together | ours | times faster |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for count in sorted({row["processes"] for row in rows}):
        theirs, ours = (
            next(row for row in rows if (row["processes"], row["kernel"]) == (count, kernel))
            for kernel in ("library", "ours")
        )
        together = [row["ms_a_step_together"] for row in (theirs, ours)]
        numbers = [theirs["ms_a_step"], ours["ms_a_step"], *together, together[0] / together[1]]
        lines.append(f"| {count} | " + " | ".join(f"{number:.{1 if number >= 1 else 2}f}" for number in numbers) + " |")
    return "\n".join(lines)


def million() -> str:
    """What a million texts like those measured would take, piece by piece, on one core."""
    speed, curves = kept("speed"), kept("scale")["rows"]
    battery = next(
        row for row in [*speed["rows"], *kept("speed-before")["rows"]] if row["work"].startswith("the battery")
    )
    written = next(row for row in curves if row["what"] == "findings written" and row["size"] == 1_000_000)
    asked = next(row for row in curves if row["what"] == "query" and row["size"] == 1_000_000)
    each = battery["ours"] / speed["about"]["texts"]
    lines = ["| piece | measured | a million texts |", "| --- | --- | --- |"]
    lines.append(f"| the battery, on one core | {1000 * each:.1f} ms a text | {each * 1e6 / 3600:.2f} core hours |")
    lines.append(f"| findings of one challenge, written | all of them | {written['seconds']:.1f} s |")
    lines.append(f"| the same on disk | all of them | {written['disk MiB']:.0f} MiB |")
    lines.append(f"| one query | all of them | {asked['seconds']:.1f} s, {asked['peak MiB']:.0f} MiB held |")
    return "\n".join(lines)


def install() -> str:
    """The dependencies without which an installation is more than a mebibyte smaller."""
    lines = ["| dependency | MiB | MiB that go if it were dropped |", "| --- | ---: | ---: |"]
    for row in kept("install")["rows"]:
        if max(row["MiB"], row["goes"]) > 1:
            lines.append(f"| {row['package']} | {row['MiB']:.1f} | {row['goes']:.1f} |")
    return "\n".join(lines)


def sections() -> dict[str, str]:
    """What stands between the marks of the page."""
    return {
        "speed": table_of(kept("speed")),
        "aims": aims(),
        "commands": commands(),
        "scale": scale(),
        "side_by_side": side_by_side(),
        "gpu": gpu(),
        "million": million(),
        "install": install(),
    }


def filled(page: str, made: Mapping[str, str]) -> str:
    """The page with each of these sections in place."""
    for name, table in made.items():
        marks: Sequence[str] = (f"<!-- {name} -->", f"<!-- /{name} -->")
        pattern = re.compile(rf"({re.escape(marks[0])}\n).*?({re.escape(marks[1])})", re.DOTALL)
        page = pattern.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", page)  # type: ignore[misc]
    return page


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


def weigh() -> None:
    """Keep what an installation holds: MiB of each dependency, and of what would go with it."""
    everything, rows = reached(), []
    for name in needed("attentest"):
        gone = everything - reached(without=name)
        rows.append({"package": name, "MiB": mebibytes(name), "goes": sum(map(mebibytes, gone)), "with": sorted(gone)})
    about = {**machine(), "packages": len(everything), "MiB": sum(map(mebibytes, everything))}
    write_record(FOLDER / "install.json", about, sorted(rows, key=lambda row: -row["goes"]))


def main() -> None:
    """Write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--installed", action="store_true", help="weigh what is installed here first")
    if parser.parse_args().installed:
        weigh()
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), sections()), encoding="utf-8")


if __name__ == "__main__":
    main()
