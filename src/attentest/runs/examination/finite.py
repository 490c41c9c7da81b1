"""Numbers that are not finite: such a model is refused, such a text is not judged, and neither is ever averaged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from attentest.challenges.challenge import Examination
from attentest.data.batches import Encoded
from attentest.errors import CheckpointError
from attentest.models.finite import INSTEAD, refuse_weights
from attentest.models.subject import Subject
from attentest.store.findings import Measure

__all__ = ["NOT_FINITE", "finite_only", "refuse_not_finite"]

#: Why a text is not judged.
NOT_FINITE = "the model's output or attention is not finite"
#: So many texts are read before all others, the shortest to the longest.
FIRST = 8


@torch.no_grad()
def refuse_not_finite(subject: Subject, encoded: Encoded) -> None:
    """Refuse a model with a weight that is not finite, or whose output is finite for none of a few texts."""
    if isinstance(subject, torch.nn.Module):
        refuse_weights(subject)
    ordered = np.argsort(encoded.lengths, kind="stable")
    for row in ordered[np.linspace(0, len(ordered) - 1, min(FIRST, len(ordered))).astype(int)]:
        if subject.read(encoded.batch(np.array([row])).to(subject.device)).logits.isfinite().all():
            return
    raise CheckpointError(
        f"The model's output is not finite (NaN or infinite) for any of the first {min(FIRST, len(ordered))} texts, so "
        f"it cannot be judged. {INSTEAD}"
    )


def finite_only(
    table: pa.Table, examination: Examination, measures: Sequence[Measure], *, of_texts: bool = False
) -> pa.Table:
    """The findings of a batch with a reason in ``not_judged`` wherever the model or a measured number is not finite."""
    broken = np.isin(table["row"].to_numpy(), _broken(examination, of_texts=of_texts))
    # Nothing else that a challenge says of such a text is a reason.
    reasons = pc.if_else(pa.array(broken), NOT_FINITE, table["not_judged"])
    measured = {column for measure in measures for column in measure.columns}
    for place, name in enumerate(table.column_names):
        if not pa.types.is_floating(table.schema.field(name).type):
            continue
        missing = broken
        if name in measured:
            infinite = pc.is_inf(table[name]).fill_null(False).to_numpy()
            missing = broken | infinite
            reasons = pc.coalesce(reasons, pc.if_else(pa.array(infinite), f"{name} is not finite", None))
        if missing.any():
            table = table.set_column(place, name, pc.if_else(pa.array(missing), None, table[name]))
    return table.set_column(table.column_names.index("not_judged"), "not_judged", reasons)


def _broken(examination: Examination, *, of_texts: bool) -> np.ndarray:
    """The rows of the split whose output or weights are not finite."""
    reading, batch = examination.reading, examination.batch
    finite = reading.logits.isfinite().all(-1)
    finite &= torch.where(reading.mask, reading.weights, 0.0).isfinite().flatten(1).all(-1)
    if of_texts and batch.target is not None:
        return batch.target.sentences[batch.target.of[~finite].unique()].cpu().numpy()
    return batch.rows[~finite].cpu().numpy()
