"""Certificates: what can be checked of an explainer's scores, on the spot and for any subject."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch, Sequences
from attentest.explainers.deletion import Deletion
from attentest.explainers.drops import output_of
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.leave_one_out import LeaveOneOut
from attentest.measures.chance import uniforms
from attentest.measures.divergence import total_variation
from attentest.models.copies import copies
from attentest.models.subject import Reading, Subject
from attentest.registry import text_of

__all__ = ["certify", "delete_literally"]

#: How many texts are explained again by themselves, or token by token.
SAMPLE = 4


def certify(
    explainer: Explainer, subject: Subject, batch: Batch, reading: Reading, seed: int
) -> dict[str, str | float]:
    """Numbers a report can print: 0 is perfect for every difference.

    The scores twice; the scores of a few texts by themselves, without neighbours and their padding; for deletion and
    leave_one_out, those texts encoded again without each token in a plain loop; and the largest of every number in
    the explainer's own certificate. Differences are shares of the largest score.
    """
    found = explainer.explain(subject, batch, reading)
    again = explainer.explain(subject, batch, reading)
    rows = sampled(batch, seed)
    out: dict[str, str | float] = {"explainer": text_of(explainer), "texts": float(len(batch))}
    out["difference_when_repeated"] = _apart(found.scores, again.scores)
    out["difference_when_alone"] = _alone(explainer, subject, batch, rows, found)
    if isinstance(explainer, Deletion | LeaveOneOut):
        literal = torch.zeros_like(found.scores[rows])
        for place, row in enumerate(rows.tolist()):
            literal[place] = _literal(explainer, subject, batch, reading, row).to(literal)
        out["difference_from_a_loop"] = _apart(found.scores[rows], literal)
    for name, values in found.certificate.items():
        out[f"largest_{name}"] = float(values.max()) if len(values) else 0.0
        out[f"smallest_{name}"] = float(values.min()) if len(values) else 0.0
    return out


def sampled(batch: Batch, seed: int) -> Int[Tensor, " row"]:
    """A few rows of the batch, chosen by the seed and the texts."""
    return uniforms(batch.keys, 1, 1, seed, "certificates")[:, 0, 0].argsort()[:SAMPLE]


@torch.no_grad()
def delete_literally(
    subject: Subject, batch: Batch, row: int, places: Sequence[int] | None = None
) -> Float[Tensor, "token class"]:
    """The logits of a text without each of its tokens (or of some): every shortened text is encoded by itself."""
    out = torch.zeros(batch.mask.shape[1], subject.classes, dtype=torch.float64, device=batch.mask.device)
    alone = copies(batch, torch.tensor([row], device=batch.mask.device))
    text, width = alone.text, int(alone.text.lengths[0])
    for place in alone.mask[0].nonzero()[:, 0].tolist() if places is None else places:
        left = [t for t in range(width) if t != place]
        shorter = Sequences(text.tokens[:, left], text.lengths - 1, text.mask[:, left])
        read = subject.read(Batch(shorter, alone.labels, alone.rows, alone.keys, alone.second))
        out[place] = read.logits[0].double()
    return out


@torch.no_grad()
def _literal(
    explainer: Deletion | LeaveOneOut, subject: Subject, batch: Batch, reading: Reading, row: int
) -> Float[Tensor, " token"]:
    without, whole = delete_literally(subject, batch, row), reading.logits[row : row + 1]
    if isinstance(explainer, LeaveOneOut):
        change = total_variation(without.softmax(-1), whole.double().softmax(-1))
    else:
        target = reading.predicted[row : row + 1]
        change = output_of(whole, target, explainer.output) - output_of(without[None], target, explainer.output)[0]
    return torch.where(batch.mask[row], change, 0.0)


def _alone(explainer: Explainer, subject: Subject, batch: Batch, rows: Tensor, found: Attribution) -> float:
    largest = 0.0
    for row in rows:
        text = copies(batch, row[None])
        with torch.no_grad():
            reading = subject.read(text)
        scores = explainer.scores(subject, text, reading)
        largest = max(largest, _apart(found.scores[row, : scores.shape[1]], scores[0]))
    return largest


def _apart(one: Tensor, other: Tensor) -> float:
    if not one.numel():
        return 0.0
    one, other = one.detach().double(), other.detach().double()
    scale = torch.maximum(one.abs().max(), other.abs().max()).clamp(min=1e-300)
    return float((one - other).abs().max() / scale)
