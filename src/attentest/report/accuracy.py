"""The line on accuracy: is the model better than always giving the most frequent class, and worth asking about?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.report.thresholds import FEWEST, clear_of, percent
from attentest.report.verdict import Line, Settling
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate, sentences_of, summarise
from attentest.tasks import TEXTS, Wording

__all__ = ["accuracy_line"]


def accuracy_line(instances: Findings, wording: Wording = TEXTS) -> Line:
    """Is the model worth asking about? Only where it is significantly better than the most frequent class."""
    right = estimate(instances, "accuracy")
    question, short = "Does the model predict well?", "Does it predict well?"
    line = Line("accuracy", question, f"{right} correct", "", "context", right, "setting", short)
    rows = instances.table
    if "not_judged" in rows.column_names:
        rows = rows.filter(pc.is_null(rows["not_judged"]))
    labels = rows["label"].to_numpy()
    counts = np.bincount(labels, minlength=1)
    share = float(counts.max() / max(len(labels), 1))
    if share == 1:
        carry = (
            f"All {wording.units} carry one label: whatever always gives it is right, so that they cannot tell whether"
        )
        return replace(line, tone="unsettled", reading=f"{carry} there is anything to explain.")
    if len(rows) < FEWEST:  # of so few, no line says anything
        few = (
            f"These {wording.units} are too few to tell it from the most frequent {wording.choice} ({percent(share)})."
        )
        return replace(line, reading=f"It is right {percent(right.value)} of the time. {few}" if len(rows) else "")
    model, frequent = rows["correct"].to_numpy(), labels == counts.argmax()
    won, most = _won(model, frequent, rows), f"the most frequent {wording.choice} ({percent(share)})"
    if won.low > 0.5:
        return replace(line, reading=_right(right))
    if not won.judged or won.high < 0.5:
        reading = f"It is right no more often than {most}: there is nothing to explain."
        return replace(line, tone="against", reading=reading)
    reading = f"It is not significantly better than {most}: there may be nothing to explain."
    return replace(line, tone="unsettled", reading=reading, settling=_settling(won, len(labels), share))


def _right(right: Estimate) -> str:
    return f"It is right {percent(right.value)} of the time; what follows explains these predictions, not the world."


def _won(model: np.ndarray, frequent: np.ndarray, rows: pa.Table) -> Estimate:
    """McNemar's test: how often the model is the one that is right, where it or the most frequent class alone is."""
    differ, sentences = model != frequent, sentences_of(rows)
    return summarise(model[differ].astype(float), 0, "fraction", None if sentences is None else sentences[differ])


def _settling(won: Estimate, judged: int, share: float) -> Settling | None:
    """How many would have to be judged to see that it is better; None where it does not look better."""
    if won.value <= 0.5:
        return None
    needed = clear_of([0.5], won, counted=True).judged
    return Settling(share, None if needed is None else round(needed * judged / won.judged))
