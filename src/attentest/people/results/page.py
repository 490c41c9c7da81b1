"""The page of a study's results: one HTML file that needs no network and runs nothing, as the report of an audit is."""

from __future__ import annotations

import math
from pathlib import Path

from attentest import __version__
from attentest.people.results.charts import share_chart
from attentest.people.results.results import Results
from attentest.people.results.terminal import alike, left_out, power
from attentest.people.results.verdict import APART
from attentest.people.results.words import between, counted, number, per_cent, seconds
from attentest.people.study import REPORT, SIMULATED, PeopleStudy
from attentest.presentation.charts import image
from attentest.report.pages.html import environment
from attentest.store.atomic import write_text

__all__ = ["page", "write_page"]


def write_page(study: PeopleStudy, found: Results) -> Path:
    """Write the page into the study's folder, whole or not at all; that of simulated annotators by another name."""
    target = study.path / (SIMULATED if found.whose == "simulated" else REPORT)
    write_text(target, page(study, found))
    return target


def page(study: PeopleStudy, found: Results) -> str:
    """The page as text."""
    asked = [item.shown.question for item in study.items.values() if item.hidden.kind == "item"]
    words = {"between": between, "counted": counted, "number": number, "per_cent": per_cent, "seconds": seconds}
    return (
        environment(**words)
        .get_template("attentest.people.results/page.html")
        .render(
            found=found,
            design=study.design,
            verdict=found.kept.verdict,
            apart=APART,
            simulated=found.whose == "simulated",
            agreed=found.kept.agreement,
            question=asked[0],
            image=image(share_chart(found, study.design.outcomes)) if found.kept.people else None,
            left_out=left_out(found),
            gold="" if math.isnan(found.gold.value) else between(found.gold, percent=True),
            power=[
                *(power(found, needed.half_width) for needed in found.power),
                *([] if found.vary is None else [alike(found.vary)]),
            ],
            expected=found.expected,
            version=__version__,
        )
    )
