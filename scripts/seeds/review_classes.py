"""How many decisions flip without the largest weight, by the number of classes, from runs of the study review_classes.

    python scripts/seeds/review_classes.py RUNS

``review_classes.csv`` in the folder of Serrano & Smith has a row for every corpus, number of classes and seed:
accuracy, and both cells of Table 2 in which the largest weight flips the decision, with the draw of the released code,
as shares of the judged texts. What has no run in RUNS stays as it is. Printed are means over seeds with Student's 95 %
interval, in percent, and what the rule of the study says.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.compute  # noqa: F401 - findings filter with it
from seeds_table import AGREES, NOT, UNSETTLED, Row, all_of, below, completed, estimated, figures, once, told

from attentest.papers import PAPERS
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder, runs_in
from attentest.store.summary import estimate

TABLE = PAPERS["serrano_smith_2019"].folder / "review_classes.csv"
KEY = ("corpus", "classes", "seed")
#: The cells of Table 2 in which the largest weight flips the decision.
CELLS = ("both_flip", "only_top_flips")
FIELDS = (*KEY, "accuracy", *CELLS, "texts")
#: What the page calls a corpus, in the order of its table.
NAMES = {
    ("imdb", "2"): "IMDB, two classes",
    ("imdb", "8"): "IMDB, eight ratings",
    ("yelp_sample", "2"): "Yelp, two classes",
    ("yelp_sample", "5"): "Yelp, five stars",
}
RATINGS, BINARY = ("imdb", "8"), ("yelp_sample", "2")
#: The marks of the rule, in percent: at the least on IMDB's ratings; its two classes; Yelp's five stars.
LEAST, TWO_CLASSES, FIVE_STARS = 8.0, 2.4, 8.4


def rows_of(root: Path) -> Iterator[Row]:
    """A row for every run of the study."""
    for folder in runs_in(root):
        fields = folder.record["fields"]
        corpus, model = fields["corpus"], fields.get("model", {})
        of = (corpus["name"], str(len(corpus["classes"])))
        if of not in NAMES or (model.get("structure"), model.get("encoder")) != ("hierarchical", "bigru"):
            continue
        named, flips = folder.named("instances"), released(folder)
        if named is not None and flips is not None:
            found = [estimate(folder.findings(named), "accuracy"), *(estimate(flips, cell) for cell in CELLS)]
            shares = (f"{one.value:.4f}" for one in found)
            chosen = (*of, str(fields["seed"]), *shares, str(found[-1].judged))
            yield dict(zip(FIELDS, chosen, strict=True))


def released(folder: RunFolder) -> Findings | None:
    """The flips with the draw of the released code."""
    named = (name for name in folder.challenges if name.startswith("single_weight"))
    return next((found for found in map(folder.findings, named) if found.parameters.get("draw") == "released"), None)


def flips_of(rows: Sequence[Row], corpus: tuple[str, str]) -> tuple[float, float]:
    """Percent of the decisions that the largest weight flips, and half the interval over seeds."""
    cells = (figures(rows, cell, corpus=corpus[0], classes=corpus[1]) for cell in CELLS)
    return estimated((100.0, [sum(both) for both in zip(*cells, strict=True)]))


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The page's table."""
    yield "| | accuracy | flips, flips | flips, keeps | the top weight flips |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for (corpus, classes), name in NAMES.items():
        found = (figures(rows, figure, corpus=corpus, classes=classes) for figure in ("accuracy", *CELLS))
        cells = [told(*estimated((100.0, seeds))) for seeds in found]
        yield f"| {name} | {' | '.join(cells)} | {told(*flips_of(rows, (corpus, classes)))} |"


def ruled(rows: Sequence[Row]) -> str:
    """Whether the number of classes is the cause, as the rule has it, and by what."""
    ratings, half = flips_of(rows, RATINGS)
    binary = flips_of(rows, BINARY)
    enough = NOT if ratings < LEAST else AGREES if ratings >= LEAST else UNSETTLED
    above, fewer = below(-ratings, half, -TWO_CLASSES), below(*binary, FIVE_STARS)
    return (
        f"{all_of(enough, above, fewer)}: the number of classes is the cause; "
        f"IMDB's ratings {told(ratings, half)} (at least {LEAST:g}: {enough}; above {TWO_CLASSES}: {above}), "
        f"binary Yelp {told(*binary)} (below {FIVE_STARS}: {fewer})"
    )


def main() -> None:
    """Read the runs, complete the table, print the page's and what the rule says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    made = once(rows_of(parser.parse_args().runs), KEY)
    rows = completed(TABLE, FIELDS, made, lambda row: (row["corpus"], int(row["classes"]), int(row["seed"])), KEY)
    print(*lines(rows), f"\n{ruled(rows)}", sep="\n")


if __name__ == "__main__":
    main()
