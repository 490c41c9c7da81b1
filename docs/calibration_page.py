"""Write the page on the calibration, its figures and its file of scores, from the table of members.

``python docs/calibration_page.py`` reads ``docs/calibration``; with a folder of records, it makes that table first, and
the files that the verdict and the explorer read.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import jinja2

sys.path.insert(0, str(Path(__file__).parent))
from calibration_expectations import expectations
from calibration_facts import Facts, number, percent, ranged, share_of
from calibration_figures import FIGURES

from attentest.calibration.analysis.calibrated import write_calibrated
from attentest.calibration.analysis.literature import TRUTHS, test_of
from attentest.calibration.analysis.members import write_members
from attentest.calibration.analysis.table import read_records, read_table
from attentest.presentation.charts import svg
from attentest.store.atomic import write_text

__all__ = ["page", "scores_file", "write"]

HERE = Path(__file__).parent
TABLE = HERE / "calibration"
PAGE = HERE / "explanation" / "which-tests-can-be-trusted.md"
CALIBRATED = HERE.parent / "src" / "attentest" / "presentation" / "calibrated.json"


def page(facts: Facts) -> str:
    """The page as Markdown."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": number, "ranged": ranged, "percent": percent, "share": share_of, "code": _code}
    template = environment.from_string((TABLE / "page.md.jinja").read_text("utf-8"))
    return template.render(facts=facts, truths=TRUTHS, paper=_paper, expectations=list(expectations(facts))) + "\n"


def _code(measure: str) -> str:
    return f"`{measure}`"


def _paper(measure: str) -> str:
    test = test_of(measure)[0]
    return test.paper if test is not None else ""


def scores_file(facts: Facts) -> str:
    """All tests and truths, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    intervals = ("auroc", "between", "sensitivity", "specificity")
    ends = [f"{name}{end}" for name in intervals for end in ("", "_low", "_high")]
    writer.writerow(["truth", "measure", "paper", "direction", "members", "mechanisms", *ends])
    for truth, found in facts.scores.items():
        for one in found:
            each = (one.extremes, one.between, one.sensitivity, one.specificity)
            numbers = ["" if value != value else f"{value:.4f}" for interval in each for value in interval]  # noqa: PLR0124
            about = [truth, one.measure, _paper(one.measure), one.direction, one.members, one.mechanisms]
            writer.writerow([*about, *numbers])
    return text.getvalue()


def write(facts: Facts) -> None:
    """The page, its figures and the scores."""
    write_text(PAGE, page(facts))
    write_text(TABLE / "scores.csv", scores_file(facts))
    for name, draw in FIGURES.items():
        write_text(HERE / "images" / f"{name}.svg", svg(draw(facts)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        read_records(Path(sys.argv[1])).write(TABLE)
    table = read_table(TABLE)
    if len(sys.argv) > 1:
        write_calibrated(table.counted(), CALIBRATED)
        write_members(table)
    write(Facts(table))
