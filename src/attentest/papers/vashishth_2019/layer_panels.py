"""What is left when the attention of more and more layers is permuted, task by task, from finished runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.challenges.layers.presentation import DIRECTIONS
from attentest.measures.bleu import corpus_bleu
from attentest.papers.evidence import Cell, Evidence, Group, grouped, parameters
from attentest.statistics.seeds import OverSeeds
from attentest.tasks import TASKS

__all__ = ["BLEU", "LayerCurve", "LayerPanel", "layer_panels"]

#: What stands on the vertical axis, beside the share of correct predictions.
BLEU = "BLEU"


@dataclass(frozen=True)
class LayerCurve:
    """One kind of attention, permuted in more and more layers from one end."""

    attention: str
    direction: str
    #: The score with no layer permuted, with one, … with all.
    points: tuple[OverSeeds, ...]


@dataclass(frozen=True)
class LayerPanel:
    """The curves of one task in one score."""

    task: str
    corpus: str
    score: str
    curves: tuple[LayerCurve, ...]

    @property
    def seeds(self) -> int:
        """How many models every point stands on."""
        return len(self.curves[0].points[0].seeds)

    @property
    def basis(self) -> str:
        """What it stands on, in words."""
        return f"{self.task}, {self.score}: {self.corpus}, {self.seeds} seed{'s' if self.seeds > 1 else ''}"


def layer_panels(cells: Sequence[Cell]) -> tuple[LayerPanel, ...]:
    """A panel for every task and score that finished runs have curves of; of several models, that of the most seeds.

    A run of some of the texts only stands where there is none of all of them.
    """
    evidence = Evidence()
    found: dict[tuple[int, str, int], tuple[tuple[int, int], LayerPanel]] = {}
    for group in grouped(cells):
        about = group.records[0]["fields"]["corpus"]
        if about["task"] not in TASKS:
            continue
        rank = (-int(not group.choices.get("limit")), -len(group.cells))
        for number, panel in enumerate(_panels(group, evidence, about["task"], about["name"])):
            key = (list(TASKS).index(about["task"]), about["name"], number)
            if panel is not None and (key not in found or rank < found[key][0]):
                found[key] = rank, panel
    return tuple(panel for _, (_, panel) in sorted(found.items(), key=lambda item: item[0]))


def _panels(group: Group, evidence: Evidence, task: str, corpus: str) -> Iterator[LayerPanel | None]:
    """Its predictions, and of translations its texts."""
    about = TASKS[task]
    score = f"correct {about.wording.prediction}s"
    for challenge, named in (("layers", score), ("layers_bleu", BLEU)):
        curves = _curves(group, evidence, challenge)
        yield LayerPanel(about.family, corpus, named, curves) if curves else None


def _curves(group: Group, evidence: Evidence, challenge: str) -> tuple[LayerCurve, ...]:
    """The curves of a challenge that permuted weights; none where no run has it."""
    if not group.has(challenge):
        return ()
    if parameters(evidence.challenge_text(group, challenge)).get("replacement", "'permutation'") != "'permutation'":
        return ()
    bleu = challenge == "layers_bleu"
    columns = ("attention", "replaced", "layers", *(("counts", "own_counts") if bleu else ("correct", "correct_after")))
    tables = [evidence.table(cell.folder, challenge, (*columns, "not_judged")) for cell in group.cells]
    # A kind that no row was judged of has no curve: a decoder that begins with one word has nothing to attend to.
    tables = [table.filter(pc.is_null(table["not_judged"])) for table in tables]
    each = [_scores(table, bleu) for table in tables]
    most = {kind: max(count for one, _, count in each[0] if one == kind) for kind, _, _ in each[0] if kind != "none"}
    curves = []
    for kind, last in most.items():
        for direction in DIRECTIONS:
            names = ["own", *(f"{direction} {count}" for count in range(1, last)), "all"]
            keys = [(kind, name, last if name == "all" else number) for number, name in enumerate(names)]
            points = [OverSeeds(group.seeds, tuple(one[key] for one in each), group.run_ids) for key in keys]
            curves.append(LayerCurve(kind, direction, tuple(points)))
    return tuple(curves)


def _scores(table: pa.Table, bleu: bool) -> dict[tuple[str, str, int], float]:
    """The score by kind of attention, layers replaced and their number; without any replaced, on the same rows."""
    found: dict[tuple[str, str, int], float] = {}
    about = table.group_by(["attention", "replaced", "layers"], use_threads=False).aggregate([])
    for row in about.to_pylist():
        kind, replaced = row["attention"], row["replaced"]
        chosen = table.filter(pc.and_(pc.equal(table["attention"], kind), pc.equal(table["replaced"], replaced)))
        own, after = ("own_counts", "counts") if bleu else ("correct", "correct_after")
        found[kind, replaced, row["layers"]] = _score(chosen[after])
        if replaced == "all":
            found[kind, "own", 0] = _score(chosen[own])
    return found


def _score(column: pa.ChunkedArray) -> float:
    """The mean, or BLEU where every row has its counts."""
    if pa.types.is_list(column.type):
        counts = pc.list_flatten(column).to_numpy().reshape(len(column), -1)
        return float(corpus_bleu(counts.sum(0)))
    return float(np.mean(column.cast(pa.float64()).to_numpy()))
