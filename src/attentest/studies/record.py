"""What a study has computed, kept beside the runs, so that its figures can be read without its corpora."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentest.store.atomic import make_folder, write_text
from attentest.store.folder import RunFolder
from attentest.store.sealed import seal_of, sealed

if TYPE_CHECKING:
    from attentest.studies.plan import Planned
    from attentest.studies.study import Study

__all__ = ["STUDIES", "FinishedCell", "finished_cells", "recorded", "write_record"]

STUDIES = "studies"
KEYS = {"study", "title", "paper", "cells"}


@dataclass(frozen=True)
class FinishedCell:
    """A cell of a study whose run has findings."""

    choices: Mapping[str, Any]
    folder: RunFolder


def write_record(study: Study, planned: Sequence[Planned], runs: Path) -> Path:
    """The study's cells and the runs they are, as one small file for this set of cells."""
    cells = [
        {
            "label": cell.cell.label,
            "choices": _plain(cell.cell.choices),
            "run": None if cell.run is None else cell.run.id,
            "problem": cell.problem,
        }
        for cell in planned
    ]
    digest = hashlib.sha256(json.dumps([c["choices"] for c in cells], sort_keys=True).encode()).hexdigest()[:8]
    path = runs / STUDIES / f"{study.name}-{digest}.json"
    make_folder(path.parent)
    about = {"study": study.name, "title": study.title, "paper": study.paper, "cells": cells}
    write_text(path, sealed(about))
    return path


def _plain(choices: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in choices.items()}


def recorded(runs: Path) -> Iterator[dict[str, Any]]:
    """Every study's record; one that cannot be read, or was altered, is left out: the study writes it again."""
    for path in sorted((runs / STUDIES).glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(record, dict) and _is_record(record) and _is_whole(record):
            yield record


def _is_whole(record: dict[str, Any]) -> bool:
    """Whether its seal, which is taken out, is that of the rest; an archive of claims has sums of its own instead."""
    seal = record.pop("seal", None)
    return seal == seal_of(record) if seal is not None else record.keys() <= KEYS


def _is_record(record: Any) -> bool:
    """Whether it is what ``write_record`` writes."""
    return (
        isinstance(record, dict)
        and isinstance(record.get("study"), str)
        and isinstance(record.get("title", ""), str)
        and isinstance(record.get("paper"), str | None)
        and isinstance(record.get("cells"), list)
        and all(map(_is_cell, record["cells"]))
    )


def _is_cell(cell: Any) -> bool:
    """Whether it has choices and, perhaps, a run: a folder beside it, and no path that leads elsewhere."""
    if not isinstance(cell, dict) or not isinstance(cell.get("choices"), dict):
        return False
    run, seed = cell.get("run", 0), cell["choices"].get("seed")
    name = isinstance(run, str) and run not in ("", ".", "..") and len(run) < 256 and not set(run) & set("/\\\0")
    return (run is None or name) and isinstance(seed, int | None)


def finished_cells(runs: Path, paper: str) -> list[FinishedCell]:
    """The cells of a paper's study whose runs have findings here: of each cell the run that was made last."""
    found: dict[str, tuple[float, FinishedCell]] = {}
    for record in recorded(runs):
        if record.get("paper") != paper:
            continue
        for cell in record["cells"]:
            folder = RunFolder(runs / str(cell["run"]))
            written = folder.path / "run.json"
            if cell["run"] and written.is_file() and folder.challenges:
                key, when = json.dumps(cell["choices"], sort_keys=True), written.stat().st_mtime
                if key not in found or found[key][0] < when:
                    found[key] = (when, FinishedCell(cell["choices"], folder))
    return [cell for _, cell in found.values()]
