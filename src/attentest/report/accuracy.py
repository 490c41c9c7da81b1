"""The line on accuracy: is the model better than always giving the most frequent class, and worth asking about?"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from attentest.report.thresholds import FEWEST, percent
from attentest.report.verdict import Line, Tone
from attentest.store.findings import Findings
from attentest.store.summary import estimate, sentences_of, summarise
from attentest.tasks import TEXTS, Wording

__all__ = ["accuracy_line"]


def accuracy_line(instances: Findings, wording: Wording = TEXTS) -> Line:
    """Is the model worth asking about? Only where it is significantly better than the most frequent class."""
    right = estimate(instances, "accuracy")
    tone, reading = _beside_most_frequent(instances, wording)
    if tone == "context":
        reading = (
            f"It is right {percent(right.value)} of the time; what follows explains these predictions, not the world."
        )
    return Line("accuracy", "Does the model predict well?", f"{right} correct", reading, tone, right, "setting")


def _beside_most_frequent(instances: Findings, wording: Wording) -> tuple[Tone, str]:
    """McNemar's test on the texts where one of the two is right: the model, or the most frequent class."""
    rows = instances.table.filter(pc.is_valid(instances.table["correct"]))
    labels = rows["label"].to_numpy()
    if len(labels) < FEWEST:  # of so few, no line says anything
        return "context", ""
    counts = np.bincount(labels)
    most = f"the most frequent {wording.choice} ({percent(counts.max() / len(labels))})"
    model, frequent = rows["correct"].to_numpy(), labels == counts.argmax()
    differ, sentences = model != frequent, sentences_of(rows)
    won = summarise(model[differ].astype(float), 0, "fraction", None if sentences is None else sentences[differ])
    if won.low > 0.5:
        return "context", ""
    if counts.max() == len(labels):
        return "unsettled", (
            f"All {wording.units} carry one label: whatever always gives it is right, so that they cannot tell whether "
            "there is anything to explain."
        )
    if not won.judged or won.high < 0.5:
        return "against", f"It is right no more often than {most}: there is nothing to explain."
    return "unsettled", f"It is not significantly better than {most}: there may be nothing to explain."
