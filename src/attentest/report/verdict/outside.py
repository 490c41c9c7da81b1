"""How a run lies outside of what was calibrated: of such models no error is known."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from attentest.presentation.calibrated import calibrated
from attentest.presentation.presentation import Results

__all__ = ["outside_of"]

#: The tasks that models of known truth were made for.
TASKS = ("single", "pair", "answer")


def outside_of(results: Results) -> tuple[str, ...]:
    """A sentence for each way in which it does."""
    return tuple(_outside(results))


def _outside(results: Results) -> Iterator[str]:
    limits, corpus = calibrated().range, results.fields.get("corpus", {})
    if (task := corpus.get("task", "single")) not in TASKS:
        yield f"no model of known truth does this task ({task})"
        return
    for name, found, unit in (
        ("classes", len(results.classes), "classes"),
        ("words", _words(results), f"{results.wording.items} a {results.wording.whole}"),
    ):
        if found and name in limits and not limits[name][0] <= found <= limits[name][1]:
            low, high = limits[name]
            yield f"{found:,.0f} {unit}, calibrated from {low:,.0f} to {high:,.0f}"


def _words(results: Results) -> float | None:
    """The mean number of words of a text."""
    instances = results.found.get("instances")
    if instances is None or "tokens" not in instances.table.column_names:
        return None
    lengths = pc.list_value_length(instances.table["tokens"])
    mean: float | None = pc.mean(lengths).as_py()
    return mean
