"""What a method's scores are worth on one question, and over many with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from attentest.sources.judging.learnt import learnt_scores
from attentest.sources.judging.record import Given, Record
from attentest.statistics.bootstrap import bootstrap_mean
from attentest.statistics.intervals import Interval, wilson

__all__ = ["LEARNT", "Judged", "datamodelling", "judge", "share_of_largest", "with_layers", "with_learnt"]

#: What the combination of heads that is learnt on other questions is called.
LEARNT = "learnt_heads"


@dataclass(frozen=True)
class Judged:
    """One method over many questions; an estimate of none is NaN."""

    method: str
    #: Of the fall that the most important source causes, the share that the method's first source causes.
    share: Interval
    #: The fall of the log-probability without the first source, in nats.
    drop: Interval
    #: The same without its first two.
    drop_two: Interval
    #: Rank correlation of predicted and measured log-probability over ablations that nothing was fitted on.
    lds: Interval
    #: How often the first source is one that decides, where an intervention says so.
    hits: Interval
    #: How often, where an injected instruction is followed, its source comes first.
    injected: Interval
    #: Questions for share and drop, for lds, for hits and for the injected instruction.
    counts: tuple[int, int, int, int]
    passes: float
    seconds: float


def share_of_largest(scores: np.ndarray, drops: np.ndarray) -> float:
    """What the first item's removal does, as a share of what that of the most important one does, from −1 to 1."""
    return float(np.clip(drops[int(np.argmax(scores))] / drops.max(), -1, 1)) if drops.max() > 0 else float("nan")


def datamodelling(scores: np.ndarray, kept: np.ndarray, values: np.ndarray) -> float:
    """The linear datamodelling score (Park et al. 2023): Spearman's correlation of sums of scores and values."""
    predicted, told = rankdata(kept @ scores), rankdata(values)
    if predicted.std() == 0 or told.std() == 0:
        return 0.0
    return float(np.corrcoef(predicted, told)[0, 1])


def with_learnt(records: Sequence[Record]) -> list[Record]:
    """The records with the scores of heads learnt on other questions, where there are enough."""
    found = learnt_scores(list(records))
    if found is None:
        return list(records)
    return [_with(record, LEARNT, scores) for record, scores in zip(records, found, strict=True)]


def with_layers(records: Sequence[Record]) -> list[Record]:
    """The records with every layer's attention alone, heads averaged, as a method each."""
    layers = len(records[0].heads)
    made = list(records)
    for layer in range(layers):
        made = [_with(r, f"attention(layer={layer + 1})", np.array(r.heads[layer]).mean(0)) for r in made]
    return made


def _with(record: Record, name: str, scores: np.ndarray) -> Record:
    fields = {key: getattr(record, key) for key in record.__dataclass_fields__}
    given = Given([float(score) for score in scores], 1, record.tokens)
    return Record(**{**fields, "given": {**record.given, name: given}})


def judge(records: Sequence[Record], method: str) -> Judged:
    """One method over all questions that it was judged on."""
    every = [(r, np.array(r.given[method].scores)) for r in records if method in r.given and r.given[method].scores]
    mattered = [(r, s) for r, s in every if r.status == "sources"]
    shares = [share for r, s in mattered if not np.isnan(share := share_of_largest(s, r.drops))]
    drops = [float(r.drops[int(np.argmax(s))]) for r, s in mattered]
    twos = [
        fall
        for r, s in mattered
        if len(s) > 1 and (fall := r.fall_without(np.argsort(-s, kind="stable")[:2].tolist())) is not None
    ]
    scored = [datamodelling(s, np.array(r.kept), np.array(r.values)) for r, s in mattered if len(r.values) > 2]
    hits = [r.of_source[int(np.argmax(s))] in r.deciding for r, s in every if r.confirmed]
    injected = [r.of_source[int(np.argmax(s))] == r.injected for r, s in every if followed(r)]
    costs = [r.given[method] for r, _ in every]
    return Judged(
        method,
        bootstrap_mean(shares),
        bootstrap_mean(drops),
        bootstrap_mean(twos),
        bootstrap_mean(scored),
        wilson(sum(hits), len(hits)),
        wilson(sum(injected), len(injected)),
        (len(shares), len(scored), len(hits), len(injected)),
        float(np.mean([cost.passes for cost in costs])) if costs else float("nan"),
        float(np.mean([cost.seconds for cost in costs])) if costs else float("nan"),
    )


def followed(record: Record) -> bool:
    """Whether an injected instruction moves the answer most of all sources, by leaving each of them out."""
    if record.injected < 0:
        return False
    of_injected = [
        drop for drop, source in zip(record.drops, record.of_source, strict=True) if source == record.injected
    ]
    return bool(of_injected) and max(of_injected) == record.drops.max() and max(of_injected) > 0


def row_of(record: Record, method: str) -> dict[str, object]:
    """What one method gave for one question, with what it is worth there; None where that is not defined."""
    given = record.given[method]
    scores, drops = np.array(given.scores), record.drops
    row: dict[str, object] = {
        **{"id": record.id, "method": method, "status": record.status, "kind": record.kind or None},
        **{"scores": given.scores, "drops": [float(drop) for drop in drops], "not_judged": given.not_judged or None},
        **{"passes": given.passes, "seconds": given.seconds, "confirmed": record.confirmed},
        **{"share": None, "drop": None, "lds": None, "hit": None},
    }
    if len(scores):
        first = int(np.argmax(scores))
        share = share_of_largest(scores, drops)
        row |= {"drop": float(drops[first]), "share": None if np.isnan(share) else share}
        row["lds"] = (
            datamodelling(scores, np.array(record.kept), np.array(record.values)) if len(record.values) > 2 else None
        )
        row["hit"] = record.of_source[first] in record.deciding if record.confirmed else None
    return row
