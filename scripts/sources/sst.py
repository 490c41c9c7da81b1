"""Label words on SST: one row a text, from runs of ``attentest audit``, for docs/explanation/sources.md.

    python -m scripts.sources.sst RUN … --to docs/sources

A run is ``attentest audit --model MODEL --corpus sst --label-words … --prompt … --limit 120`` with challenges uniform,
permutation and adversary; ``sst.csv`` has a row for every prompt and text.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scripts.sources.files import heading, printed, read, write

from attentest.statistics.bootstrap import bootstrap_mean
from attentest.statistics.intervals import wilson
from attentest.store.findings import read_findings
from attentest.store.folder import RunFolder

ROWS = ("prompt", "words", "id", "right", "on_words", "flipped", "permuted", "flips", "kept", "ratio")


def rows_of(run: Path) -> Iterator[dict[str, Any]]:
    """What a run found of every text."""
    fields = RunFolder(run).record["fields"]
    found = {
        part: {row["id"]: row for row in _table(run, part)}
        for part in ("instances", "uniform", "permutation", "adversary")
    }
    for name, about in found["instances"].items():
        uniform, permuted, other = (found[part][name] for part in ("uniform", "permutation", "adversary"))
        yield {
            **{"prompt": fields["model"]["prompt"].replace("\n", "⏎"), "words": "/".join(fields["model"]["answers"])},
            **{"id": name, "right": int(about["correct"]), "on_words": f"{about['on_words']:.3f}"},
            **{"flipped": int(uniform["flipped"]), "permuted": f"{permuted['median_change']:.4f}"},
            **{"flips": f"{permuted['flips']:.3f}", "kept": int(other["decision_kept"] and other["top_changed"])},
            "ratio": f"{other['ratio']:.3f}",
        }


def _table(run: Path, part: str) -> list[dict[str, Any]]:
    (path,) = (run / "findings").glob(f"{part}*.parquet")
    rows: list[dict[str, Any]] = read_findings(path).table.to_pylist()
    return rows


def sst_table(folder: Path) -> Iterator[str]:
    """A line for every prompt."""
    rows = read(folder, "sst.csv")
    yield from heading(
        *("prompt", "texts", "right, %", "attention on words", "even weights flip it, %", "permuted: change of ŷ"),
        *("another word first, decision kept, %", "how far such weights lie, of 1"),
    )
    for prompt in dict.fromkeys(row["prompt"] for row in rows):
        own = [row for row in rows if row["prompt"] == prompt]
        shares = {name: wilson(sum(row[name] == "1" for row in own), len(own)) for name in ("right", "flipped", "kept")}
        means = {n: bootstrap_mean(np.array([float(row[n]) for row in own])) for n in ("on_words", "permuted", "ratio")}
        cells = (
            *(str(len(own)), printed(shares["right"], percent=True), printed(means["on_words"])),
            *(printed(shares["flipped"], percent=True), printed(means["permuted"], digits=3)),
            *(printed(shares["kept"], percent=True), printed(means["ratio"])),
        )
        yield f"| {prompt} {own[0]['words']} | " + " | ".join(cells) + " |"


def main() -> None:
    """Collect."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--to", type=Path, default=Path("docs/sources"))
    given = parser.parse_args()
    write(given.to / "sst.csv", ROWS, [row for run in given.runs for row in rows_of(run)])


if __name__ == "__main__":
    main()
