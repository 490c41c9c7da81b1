"""Certificates: what can be checked of an explainer's scores, on the spot and for any subject."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch, Sequences
from attentest.data.sentence_rows import Sentences
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.path_integral import Way
from attentest.explainers.gradient.slopes import slopes, target_of
from attentest.explainers.perturbation.deletion import Deletion
from attentest.explainers.perturbation.drops import output_of
from attentest.explainers.perturbation.leave_one_out import LeaveOneOut
from attentest.measures.chance import uniforms
from attentest.measures.divergence import total_variation
from attentest.models.copies import copies
from attentest.models.shared_work.lines import line_through
from attentest.models.subject import Reading, Subject
from attentest.registry import text_of

__all__ = ["ROUNDED", "apart", "certify", "delete_literally", "one_by_one", "slope_gap"]

#: How many texts are explained again by themselves, or token by token.
SAMPLE = 4
#: Differences between outputs in single precision are compared with no less than this.
ROUNDED = 0.01
#: How far, in log-odds, the output should rise along a slope that is compared with a difference.
RISES = (0.02, 0.005, 0.001)


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
        texts = copies(batch, rows)
        with torch.no_grad():
            literal, _ = one_by_one(explainer, subject, texts, subject.read(texts), None, texts.mask.shape[1])
        out["difference_from_a_loop"] = _apart(found.scores[rows, : literal.shape[1]], literal)
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
    """The logits of a text without each of its items (or of some): every shortened text is encoded by itself."""
    alone = copies(batch, torch.tensor([row], device=batch.mask.device))
    text, whole = alone.text, subject.read(alone)
    out = torch.zeros(whole.mask.shape[1], subject.classes, dtype=torch.float64, device=batch.mask.device)
    here = torch.arange(int(text.lengths[0]), device=out.device)
    item = here if whole.groups is None else whole.groups[0, : len(here)]
    for place in whole.mask[0].nonzero()[:, 0].tolist() if places is None else places:
        left = here[item != place]
        sentences = None if text.sentences is None else Sentences(text.sentences.labels[:, left])
        shorter = Sequences(
            text.tokens[:, left], torch.full_like(text.lengths, len(left)), text.mask[:, left], sentences
        )
        read = subject.read(alone.with_text(shorter))
        out[place] = read.logits[0].double()
    return out


def one_by_one(
    explainer: Deletion | LeaveOneOut,
    subject: Subject,
    batch: Batch,
    reading: Reading,
    target: Int[Tensor, " batch"] | None,
    most: int,
) -> tuple[Float[Tensor, "batch token"], Bool[Tensor, "batch token"]]:
    """The same scores in a plain loop, every shortened text encoded by itself; of a text of more words, ``most`` alone.

    Beside the scores: which words the loop took.
    """
    looped, each = torch.zeros_like(reading.mask), []
    for row, mask in enumerate(reading.mask):
        places = mask.nonzero()[:, 0]
        places = places[:: max(1, -(-len(places) // most))]
        looped[row, places] = True
        found = delete_literally(subject, batch, row, places.tolist())
        each.append(torch.nn.functional.pad(found, (0, 0, 0, mask.shape[0] - len(found))))
    without, whole = torch.stack(each), reading.logits.double()
    if isinstance(explainer, LeaveOneOut):
        change = total_variation(without.softmax(-1), whole.softmax(-1)[:, None])
    else:
        wanted = target_of(reading, target)
        change = output_of(whole, wanted, explainer.output)[:, None] - output_of(without, wanted, explainer.output)
    return torch.where(looped, change, 0.0), looped


def slope_gap(subject: Subject, batch: Batch, reading: Reading, path: str) -> Float[Tensor, " batch"]:
    """What the slope at the embeddings misses of the output's rise along it, as a share of the slope.

    Outputs a little way ahead and behind say how steep it is without any gradient. Too long a way bends, and too short
    a one is lost in rounding: of several the nearest counts, because a wrong slope is wrong by all of them.
    """
    target, embeddings = reading.predicted, subject.embed(batch).detach()
    slope = slopes(subject, batch, embeddings, target, path) * batch.mask[..., None]
    steep = slope.flatten(1).norm(dim=-1)
    held = reading.weights.detach() if path == "detached" else None
    with torch.no_grad():
        line = line_through(subject, batch, embeddings, slope / steep[:, None, None].clamp(min=1e-30), held)
        step = steep.new_tensor(RISES) / steep[:, None].clamp(min=1e-30)
        rows = torch.arange(len(batch), device=steep.device)
        ahead, behind = Way(line, target).outputs(rows, torch.cat([step, -step], dim=1)).chunk(2, dim=1)
    found = (ahead - behind) / (2 * step.double())
    gap: Tensor = ((found - steep[:, None]).abs() / steep[:, None]).amin(-1)
    return gap


def apart(
    one: Float[Tensor, "batch token"], other: Float[Tensor, "batch token"], least: float = 1e-300
) -> Float[Tensor, " batch"]:
    """The largest difference of each text, as a share of its largest score; what is no number in both is alike."""
    one, other = one.detach().double(), other.detach().double()
    alike = one.isnan() & other.isnan()
    largest = torch.where(alike, 0.0, (one - other).abs()).amax(-1)
    scale = torch.maximum(one.nan_to_num().abs(), other.nan_to_num().abs()).amax(-1)
    return largest / scale.clamp(min=least)


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
