"""A study's figures: every measure of every cell, and what its seeds say together."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attentest.errors import StorageError
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate, estimate

__all__ = ["Group", "groups_of", "results_csv"]


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed alone."""

    corpus: str
    encoder: str
    attention: str
    #: What else tells it from its neighbours.
    rest: str
    runs: list[RunFolder] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)

    def estimates(self, challenge: str, measure: str) -> list[Estimate]:
        """The measure of every run that has it."""
        found = []
        for run in self.runs:
            name = run.named(challenge)
            if name is None:
                continue
            findings = run.findings(name)
            if any(known.name == measure for known in findings.measures):
                found.append(estimate(findings, measure))
        return [one for one in found if one.judged]


def groups_of(ids: Sequence[str], runs: Path) -> list[Group]:
    """The runs that are there, seeds together, in the study's order."""
    groups: dict[tuple[Any, ...], Group] = {}
    for identity in dict.fromkeys(ids):
        folder = RunFolder(runs / identity)
        try:
            fields = folder.record["fields"]
        except StorageError:
            continue
        if not folder.challenges:
            continue
        model, training = fields["model"], fields["training"]
        named = [str(part) for part in (fields["corpus"]["name"], model["encoder"], model["attention"], _rest(fields))]
        key = (*named, fields["corpus"]["digest"], str(training))
        group = groups.setdefault(key, Group(named[0], named[1], named[2], named[3]))
        group.runs.append(folder)
        group.seeds.append(int(fields["seed"]))
    return list(groups.values())


def _rest(fields: dict[str, Any]) -> str:
    of_model = (fields["model"].get(name) for name in ("structure", "query"))
    said = [str(part) for part in (*of_model, fields.get("site")) if part]
    if fields["model"].get("head"):
        said.append(str(fields["model"]["head"]))
    if removal := fields.get("removal"):
        how = "masked" if removal["by"] == "mask" else "deleted"
        said.append(f"{removal['share']:.0%} {how} by {removal['explainer']}")
    said += map(str, fields["training"].get("terms", ()))
    if fields["training"].get("frozen_embeddings"):
        said.append("frozen embeddings")
    if fields["limit"]:
        said.append(f"{fields['limit']} texts")
    return ", ".join(said)


COLUMNS = (
    *("corpus", "encoder", "attention", "other", "seed", "challenge", "measure"),
    *("value", "low", "high", "spread", "judged", "not_judged", "words", "run"),
)


def results_csv(groups: Sequence[Group]) -> str:
    """Every measure of every run, one a line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for group in groups:
        for run, seed in zip(group.runs, group.seeds, strict=True):
            named = (group.corpus, group.encoder, group.attention, group.rest, seed)
            writer.writerows((*named, *line, run.path.name) for line in _lines(run))
    return out.getvalue()


def _lines(run: RunFolder) -> Iterator[tuple[Any, ...]]:
    for challenge in run.challenges:
        findings = run.findings(challenge)
        for measure in findings.measures:
            found = estimate(findings, measure)
            numbers = (f"{n:.6g}" for n in (found.value, found.low, found.high, found.spread))
            yield (findings.challenge, measure.name, *numbers, found.judged, found.not_judged, measure.words)
