"""Explainers against rationales, drawn."""

from __future__ import annotations

import altair as alt
import pyarrow.compute as pc

from attentest.presentation.charts import (
    ALL,
    INK,
    Rows,
    interval_chart,
    judged_columns,
    measured_interval,
    reference_line,
    up_to,
)
from attentest.registry import name_in_words
from attentest.store.findings import Findings, Measure
from attentest.store.summary import estimate

__all__ = ["rationale_ceiling", "rationale_precision"]


def rationale_precision(rationale: Findings, *, width: int = 250) -> alt.LayerChart:
    """Average precision of every explainer against the rationale tokens, with its interval and chance."""
    chance = judged_columns(rationale.table, "chance")["chance"].mean()
    title = ["mean average precision,", "with 95 % interval"]
    x = alt.X("value:Q", title=title, scale=up_to(1), axis=alt.Axis(tickCount=5))
    rows = _each_explainer(rationale, "average_precision")
    return interval_chart(rows, x, alt.value(INK), [ALL], reference_line("x", chance, "chance"), width)


def rationale_ceiling(rationale: Findings, *, width: int = 250) -> alt.LayerChart:
    """Token F1 of every explainer with one person's marks, beside that of another person: the human ceiling."""
    first = {"explainer": rationale.table["explainer"][0].as_py()}
    person = estimate(rationale, Measure("", "ceiling_single_token_f1", "mean", "", first))
    title = ["mean F1 with one person's marks,", "with 95 % interval"]
    x = alt.X("value:Q", title=title, scale=up_to(1), axis=alt.Axis(tickCount=5))
    rows = _each_explainer(rationale, "single_token_f1")
    return interval_chart(rows, x, alt.value(INK), [ALL], reference_line("x", person.value, "another person"), width)


def _each_explainer(rationale: Findings, column: str) -> Rows:
    """The column's mean and interval for every explainer, from the highest to the lowest."""
    names = pc.unique(rationale.table["explainer"]).to_pylist()
    rows = [
        measured_interval(rationale, Measure("", column, "mean", "", {"explainer": name}), None)
        | {"what": name_in_words(name, names), "class": ALL}
        for name in names
    ]
    return sorted(rows, key=lambda row: -(row["value"] or 0))
