"""What the verdict says of models that select their words, from runs of the study selections_verdicts.

    python scripts/selections_verdicts.py RUNS

``docs/selections/verdicts.csv`` has a row for every model; the table of docs/explanation/selections.md is put there.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path

from attentest.report.verdict.judge import judge
from attentest.store.atomic import replacing, write_text
from attentest.store.folder import RunFolder, runs_in
from attentest.store.summary import estimate

DOCS = Path(__file__).parent.parent / "docs"
TABLE, PAGE = DOCS / "selections" / "verdicts.csv", DOCS / "explanation" / "selections.md"
NAMES = {"hardkuma": "HardKuma", "lei": "Lei et al.", "smuggler": "smuggler"}
FIGURES = ("accuracy", "held", "held_unknown")
USES = ("reason", "check", "one")
ANSWERS = ("yes", "with care", "no", "cannot say")
MARK, END = "<!-- verdicts -->\n", "<!-- end -->"
Row = dict[str, str]


def row_of(folder: RunFolder) -> Row | None:
    """A model's figures and answers; None where the run is no model of the study."""
    fields = folder.record["fields"]
    selector, asked = fields["model"].get("selector"), folder.named("importance")
    if not selector or asked is None or fields["corpus"]["name"] != "sst":
        return None
    right, held = folder.findings(folder.named("instances") or ""), folder.findings(asked)
    found = (
        estimate(right, "accuracy"),
        estimate(held, "attention.held.delete"),
        estimate(held, "attention.held.mask"),
    )
    answers = {goal.key: goal.answer for goal in judge(folder).goals}
    return {
        **{"selector": str(selector), "seed": str(fields["seed"])},
        **{name: f"{one.value:.4f}" for name, one in zip(FIGURES, found, strict=True)},
        **{use: answers[use] for use in USES},
        "run": folder.path.name,
    }


def lines(rows: list[Row]) -> list[str]:
    """A line for every selector: figures by seed, and the answers."""
    told = ["|  | accuracy | held | held, unknown | reason | check | one |", "| --- |" + " --- |" * 6]
    for selector, name in NAMES.items():
        some = [row for row in rows if row["selector"] == selector]
        figures = [" ".join(f"{float(row[one]):.2f}".removeprefix("0") for row in some) for one in FIGURES]
        counts = [Counter(row[use] for row in some) for use in USES]
        answers = [", ".join(f"{said} ({n[said]})" for said in ANSWERS if n[said]) for n in counts]
        told.append(f"| {name} | {' | '.join((*figures, *answers))} |")
    return told


def main() -> None:
    """Write the table, and put the page's where it stands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    found = filter(None, map(row_of, runs_in(parser.parse_args().runs)))
    rows = sorted(found, key=lambda row: (row["selector"], row["seed"]))
    with replacing(TABLE) as path, path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ("selector", "seed", *FIGURES, *USES, "run"), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    before, _, rest = PAGE.read_text("utf-8").partition(MARK)
    put = "\n".join(lines(rows))
    write_text(PAGE, f"{before}{MARK}\n{put}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
