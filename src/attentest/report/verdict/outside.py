"""How a run lies outside of what was calibrated: of such models no error is known."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pyarrow.compute as pc

from attentest.presentation.calibrated import calibrated
from attentest.presentation.presentation import Results
from attentest.store.summary import estimate

__all__ = ["outside_of"]

#: The least that importance was calibrated with.
LEAST = {"orders": 12, "players": 16}

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
        ("deciding", _deciding(results), f"{results.wording.items} that decide"),
    ):
        low, high = (_whole(limit) for limit in limits.get(name, (-math.inf, math.inf)))
        if found is not None and not low <= round(found) <= high:
            yield f"{found:,.0f} {unit}, calibrated from {low:,.0f} to {high:,.0f}"
    if "importance" in results.found:
        asked = results.found["importance"].parameters
        for name, least in LEAST.items():
            if asked.get(name, least) < least:
                yield f"importance with {name}={asked[name]}, calibrated with {least} or more"


def _whole(limit: float) -> float:
    """A limit as it is shown: what rounds to it lies within."""
    return limit if math.isinf(limit) else round(limit)


def _deciding(results: Results) -> float | None:
    """The mean number of words that decide, where words were replaced by the unknown one."""
    found = results.found.get("importance")
    if found is None:
        return None
    measures = (m for m in found.measures if m.column == "deciding" and m.where.get("erasure") == "mask")
    measure = next(measures, None)
    return None if measure is None else estimate(found, measure).value


def _words(results: Results) -> float | None:
    """The mean number of words of a text."""
    instances = results.found.get("instances")
    if instances is None or "tokens" not in instances.table.column_names:
        return None
    lengths = pc.list_value_length(instances.table["tokens"])
    mean: float | None = pc.mean(lengths).as_py()
    return mean
