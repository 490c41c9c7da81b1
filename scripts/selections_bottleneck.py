"""What a bottleneck fitted to each text lets pass, beside DiffMask, from runs of the study selections_bottleneck.

    python scripts/selections_bottleneck.py RUNS

``docs/selections/bottleneck.csv`` has every figure as a mean over seeds with a 95 % interval for which seeds and texts
are drawn again; the table of docs/explanation/selections.md is put there.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from selections import runs_of, sample

from attentest.statistics.intervals import Interval
from attentest.statistics.resampling import difference, interval
from attentest.store.atomic import replacing, write_text

DOCS = Path(__file__).parent.parent / "docs"
TABLE, PAGE = DOCS / "selections" / "bottleneck.csv", DOCS / "explanation" / "selections.md"
MARK, END = "<!-- bottleneck -->\n", "<!-- end -->"
WORDS = {
    "information_bottleneck": "bottleneck, β = 10",
    "information_bottleneck(beta=1.0)": "bottleneck, β = 1",
    "diffmask": "DiffMask",
    "attention": "attention",
    "random": "random",
    "first_words": "first words",
}
MEASURES = {"sufficiency": "these words alone", "auprc": "AUPRC"}
BESIDE = ("random", "diffmask", "attention")
Row = dict[str, Any]


def rows_of(root: Path) -> list[Row]:
    """Every figure, and every difference of the bottleneck's from others."""
    seeds = runs_of(root)["sst", "bilstm", "diffmask"]
    selections = [seed.selection for seed in seeds if seed.selection is not None]
    asked = {measure.where["explainer"] for measure in selections[0].measures if measure.column == "share"}
    full = {one.partition("(")[0] if one.startswith("diffmask") else one: one for one in asked}
    named = {full[words]: words for words in WORDS}
    rows = []
    for measure in MEASURES:
        figures = {words: sample(seeds, selections, measure, one) for one, words in named.items()}
        for words, of in figures.items():
            rows.append(_row(words, measure, interval(of, f"bottleneck {measure}"), of.per_seed))
        for words in (words for words in figures if words.startswith("information_bottleneck")):
            for other in BESIDE:
                apart = difference(figures[words], figures[other], f"bottleneck {measure}", same_model=True)
                rows.append(_row(f"{words} − {other}", measure, apart, ()))
    return rows


def _row(words: str, measure: str, found: Interval, own: Any) -> Row:
    numbers = {name: f"{getattr(found, name):.4f}" for name in ("value", "low", "high")}
    return {"words": words, "measure": measure, **numbers, "by_seed": "; ".join(f"{value:.3f}" for value in own)}


def printed(row: Row) -> str:
    """A figure with its interval, as the page has it."""
    value, low, high = (
        f"{float(row[name]):.3f}".replace("0.", ".").replace("-", "−") for name in ("value", "low", "high")
    )
    return f"{value} [{low}, {high}]"


def lines(rows: list[Row]) -> list[str]:
    """A line for every way to choose words, and for every difference."""
    at = {(row["words"], row["measure"]): row for row in rows}
    told = [f"|  | {' | '.join(MEASURES.values())} |", "| --- |" + " --: |" * len(MEASURES)]
    for words in dict.fromkeys(row["words"] for row in rows):
        own, _, other = words.partition(" − ")
        name = f"{WORDS[own]} − {WORDS[other]}" if other else WORDS[own]
        told.append(f"| {name} | {' | '.join(printed(at[words, measure]) for measure in MEASURES)} |")
    return told


def main() -> None:
    """Write the table, and put the page's where it stands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    rows = rows_of(parser.parse_args().runs)
    with replacing(TABLE) as path, path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ("words", "measure", "value", "low", "high", "by_seed"), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    before, _, rest = PAGE.read_text("utf-8").partition(MARK)
    put = "\n".join(lines(rows))
    write_text(PAGE, f"{before}{MARK}\n{put}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
