"""What a study would do: its cells, which are done, and how long the others will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import pyarrow.compute as pc

from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import AttentestError, StorageError
from attentest.progress import SILENT, Progress
from attentest.runs.execute import is_complete
from attentest.runs.run import MODEL, Run
from attentest.store.folder import RunFolder, runs_in
from attentest.studies.cell import describe_cell, failure_of
from attentest.studies.study import Cell, Study

__all__ = ["Cost", "Planned", "costs", "plan"]

State = Literal["done", "begun", "to do", "failed", "cannot run"]


@dataclass(frozen=True)
class Planned:
    """A cell, the run it is on this machine, and how far that has come."""

    cell: Cell
    state: State
    run: Run | None = None
    #: Why it failed, or cannot run here.
    problem: str = ""


def plan(study: Study, runs: Path, *, progress: Progress = SILENT) -> list[Planned]:
    """Every cell described, its corpus read, its folder looked at."""
    cells = study.cells()
    planned = []
    with progress.stage("Planning", len(cells)) as tick:
        for cell in cells:
            planned.append(_planned(cell, runs))
            tick(1)
    return planned


def _planned(cell: Cell, runs: Path) -> Planned:
    try:
        run = describe_cell(cell.choices)
        folder = RunFolder(runs / run.id)
    except AttentestError as error:
        return Planned(cell, "cannot run", problem=str(error))
    if (folder.path / "run.json").is_file() and is_complete(run, folder):
        return Planned(cell, "done", run)
    problem = failure_of(folder.path)
    if problem is not None:
        return Planned(cell, "failed", run, problem)
    return Planned(cell, "begun" if folder.path.exists() else "to do", run)


@dataclass(frozen=True)
class Cost:
    """An estimate for one cell on one core, and what it stands on."""

    seconds: float
    bytes: int
    measured: bool


#: Seconds on one core, fitted on SST and IMDB: per training step and million weights of the embedding; and, for each
#: encoder, per thousand tokens trained, examined, and examined squared (every token of a text is deleted in turn).
STEP = 1.7e-3
PER_THOUSAND = {
    "bilstm": (0.06, 0.39, 2.4e-3),
    "bigru": (0.05, 0.39, 2.4e-3),
    "convolution": (0.028, 0.3, 1.2e-4),
    "average": (0.008, 0.17, 9e-5),
    "none": (0.006, 0.17, 9e-5),
    # Every weight has a part in every token: for a million weights (MiniLM has 23).
    "checkpoint": (0.07, 1.7, 0.0),
}
#: The same for what translates, fitted on Multi30k: for a million weights and a thousand words read and written, in
#: training and examined by one challenge.
TRANSLATED = (0.11, 18.0)
#: What Python, torch and the corpus take before the first weight, and the copies training keeps of every weight.
BASE, COPIES = 450 * 2**20, 6


def costs(planned: Sequence[Planned], runs: Path, *, device: str = "cpu") -> list[Cost | None]:
    """How long each cell that is not done will take: as long as its like took, or from the sizes of its corpus.

    Runs that were made on another kind of device than ``device`` tell nothing.
    """
    known = _measured(runs, device)
    out: list[Cost | None] = []
    for cell in planned:
        if cell.run is None or cell.state == "done":
            out.append(None)
            continue
        computed = _computed(cell.run)
        like = known.get(_kind(cell.run.fields))
        out.append(Cost(median(like), computed.bytes, True) if like else computed)
    return out


def _kind(fields: Mapping[str, Any]) -> tuple[Any, ...]:
    model, training = fields["model"], fields["training"]
    return (
        fields["corpus"]["digest"],
        *(model.get(name) for name in ("encoder", "attention", "embedding", "structure", "decoder", "fine_tuned")),
        training.get("epochs"),
        tuple(training.get("terms", ())),
        tuple(fields["challenges"]),
        fields["limit"],
    )


def _measured(runs: Path, device: str) -> dict[tuple[Any, ...], list[float]]:
    """Seconds that finished runs took on this kind of device, by what kind of run they were."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for folder in runs_in(runs):
        try:
            record = folder.record
        except StorageError:
            continue
        made_on = str(record.get("made_with", {}).get("device", "")).partition(" ")[0]
        if made_on.partition(":")[0] != device.partition(":")[0]:
            continue
        finished = record["finished"]
        training = finished.get(MODEL, {}).get("seconds")
        examining = max((e.get("seconds", 0) for n, e in finished.items() if n.startswith("findings/")), default=None)
        if training is not None and examining is not None:
            found.setdefault(_kind(record["fields"]), []).append(training + examining)
    return found


def _computed(run: Run) -> Cost:
    train, tested = run.corpus["train"], run.corpus[run.split]
    size = run.size(Vocabulary.from_split(train, run.corpus.min_frequency))
    epochs, batch = (0, 1) if size.training is None else (size.training.epochs, size.training.batch_size)
    millions, lengths = size.weights / 1e6, tested.lengths.astype(float)
    if size.kind == "translator":
        trained, examined = (each * millions for each in TRANSLATED)
        training, examining = trained * _words(train), len(run.asked) * examined * _words(tested)
    else:
        per_weight = millions if size.kind == "checkpoint" else 1.0
        trained, each, squared = (per_weight * of for of in PER_THOUSAND.get(size.kind, PER_THOUSAND["bilstm"]))
        training = -(-len(train) // batch) * STEP * millions + trained * train.lengths.sum() / 1e3
        examining = (each * lengths.sum() + squared * (lengths**2).sum()) / 1e3
    share = min(1.0, run.limit / len(tested)) if run.limit else 1.0
    seconds = epochs * (1 + len(run.companions)) * training + share * examining
    return Cost(float(seconds), BASE + 4 * COPIES * size.weights, False)


def _words(split: Split) -> float:
    """Thousands of words to read and to write."""
    written = pc.sum(pc.list_value_length(split.table["target"])).as_py()
    return (int(split.lengths.sum()) + (written or 0)) / 1e3
