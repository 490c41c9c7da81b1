"""What erasing every explainer's top words does, drawn."""

from __future__ import annotations

import altair as alt
import numpy as np

from attentest.challenges.faithfulness.comparison import RANDOM, REMOVED, Compared
from attentest.presentation.charts import ALL, INK, Rows, interval_chart, interval_of_estimate, reference_line, up_to
from attentest.store.findings import Findings

__all__ = ["faithfulness_overview"]


def faithfulness_overview(faithfulness: Findings, *, width: int = 250) -> alt.LayerChart:
    """What erasing every explainer's top words does, between the least and the most found, beside a random order."""
    compared = Compared.of(faithfulness)
    assert compared is not None
    ranked = [row for row in compared.rows() if row.words != RANDOM]
    rows: Rows = [interval_of_estimate(row.removed) | {"what": row.words, "class": ALL} for row in ranked]
    chance = float(np.nanmean(compared.table(REMOVED)[RANDOM]))
    labels = (RANDOM, "most found") if width > 200 else ("random", "most")
    lines = alt.layer(reference_line("x", chance, labels[0]), reference_line("x", 1, labels[1]))
    title = ["from the least (0) to the most (1) found,", "with 95 % interval"]
    x = alt.X("value:Q", title=title, scale=up_to(1), axis=alt.Axis(tickCount=5))
    return interval_chart(rows, x, alt.value(INK), [ALL], lines, width)
