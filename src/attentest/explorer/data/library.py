"""The folder of runs: which there are, what each is, and what its verdict answers, judged once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attentest.errors import AttentestError, StorageError, UnknownName
from attentest.explorer.data.claims import paper_summary
from attentest.explorer.data.files import Kept, RunFiles
from attentest.explorer.data.judging import Judge
from attentest.papers import PAPERS
from attentest.store.sources import is_sources
from attentest.studies.record import recorded
from attentest.tasks import task_of

__all__ = ["Library"]

Row = dict[str, Any]
#: The filters of the home page, and what each looks at.
FILTERS = ("paper", "study", "corpus", "model", "attention", "seed", "verdict")


class Library:
    """All runs of a folder. A run is named by its id, which must be in the list: it is never a path."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs, self._papers, self.judge = Kept(64), Kept(64), Judge()
        self._summaries = Kept(20_000)

    def names(self) -> list[str]:
        """The ids of all runs, the one touched last first; audits of sources have pages of their own."""
        there = (path for path in self.root.glob("*/run.json") if not is_sources(path.parent))
        found = [(path.stat().st_mtime, path.parent.name) for path in there]
        return [name for _, name in sorted(found, reverse=True)]

    def run(self, name: str) -> RunFiles:
        """A run by its id."""
        there = os.listdir(self.root) if self.root.is_dir() else []
        if name not in there or not (self.root / name / "run.json").is_file() or is_sources(self.root / name):
            raise UnknownName(f"run in {self.root}", name[:80], self.names()[:20] or ["(none)"])
        return self._runs.get((name, self._stamp(name)), lambda: RunFiles(self.root / name))

    def _stamp(self, name: str) -> tuple[int, int]:
        about = (self.root / name / "run.json").stat()
        return about.st_mtime_ns, about.st_size

    def judge_all(self, stop: threading.Event) -> None:
        """Judge every run that has findings, the newest first; what cannot be judged has no answers."""
        for name in self.names():
            if stop.is_set():
                return
            try:
                if self.summary(name)["texts"]:
                    self.judge.start(self.run(name)).result()
            except (AttentestError, CancelledError, OSError, KeyError, TypeError, ValueError):
                continue

    def home(self, asked: Mapping[str, str]) -> Row:
        """Runs, studies and papers; ``asked`` filters the runs."""
        studies = list(self.studies())
        belongs: dict[str, Row] = {}
        for study in studies:
            for cell in study["cells"]:
                if cell["run"]:
                    belongs.setdefault(cell["run"], {"study": study["study"], "paper": study["paper"]})
        every = [self.summary(name) | belongs.get(name, {}) | self._answers(name) for name in self.names()]
        runs = [run for run in every if not run["companion"]]
        choices = {
            name: sorted({str(run[name]) for run in runs if run.get(name) not in (None, "")}) for name in FILTERS[:-1]
        }
        kept = [run for run in runs if all(_matches(run, key, asked[key]) for key in FILTERS if asked.get(key))]
        return {
            "runs": kept,
            "total": len(runs),
            "choices": choices,
            "judging": sum(run["answers"] is None and bool(run["texts"]) and not run["unjudged"] for run in runs),
            "studies": [
                {key: study[key] for key in ("study", "title", "paper")}
                | {"cells": len(study["cells"]), "done": study["done"]}
                for study in studies
            ],
            "papers": self.papers(),
        }

    def summary(self, name: str) -> Row:
        """What a run is; one whose record cannot be read says why."""
        return self._summaries.get((name, self._stamp(name)), lambda: self._summary(name))

    def _summary(self, name: str) -> Row:
        made = datetime.fromtimestamp((self.root / name / "run.json").stat().st_mtime, UTC).isoformat(
            timespec="seconds"
        )
        nothing = {"id": name, "made": made, "companion": "", "texts": 0, "problem": ""}
        try:
            run = RunFiles(self.root / name)
            fields = run.fields
            return nothing | {
                "corpus": str(fields["corpus"]["name"]),
                "task": task_of(fields).name,
                "model": str(fields["model"].get("encoder", "")),
                "attention": str(fields["model"].get("attention", "")),
                "seed": fields.get("seed"),
                "texts": run.texts if "instances" in run.challenges else 0,
                "challenges": run.challenges,
                "companion": str(run.record.get("companion", "")),
            }
        except (StorageError, KeyError, TypeError, ValueError) as error:
            unknown: Row = {"corpus": "", "task": "", "model": "", "attention": "", "seed": None, "challenges": []}
            return nothing | unknown | {"problem": str(error)}

    def _answers(self, name: str) -> Row:
        verdict = self.judge.known(name, self._stamp(name))
        if verdict is None:
            return {"answers": None, "score": None, "unjudged": self.judge.problem(name, self._stamp(name))}
        accuracy = next((line for line in verdict["lines"] if line["key"] == "accuracy"), None)
        score = None if accuracy is None else {"name": "accuracy", "value": accuracy["value"]}
        return {"answers": {goal["key"]: goal["answer"] for goal in verdict["goals"]}, "score": score, "unjudged": ""}

    def studies(self) -> Iterator[Row]:
        """Every study that was run here, with its cells."""
        there = set(self.names())
        for record in recorded(self.root):
            cells = [
                {
                    "label": str(cell.get("label", "")),
                    "choices": cell.get("choices", {}),
                    "run": cell["run"] if cell.get("run") in there else None,
                    "problem": cell.get("problem"),
                }
                for cell in record["cells"]
                if isinstance(cell, Mapping)
            ]
            done = sum(cell["run"] is not None for cell in cells)
            about = {key: str(record.get(key) or "") for key in ("study", "title", "paper")}
            yield about | {"cells": cells, "done": done}

    def papers(self) -> list[Row]:
        """Every paper, and how many of its claims came out how."""
        return [self._papers.get(name, lambda n=name: paper_summary(n)) for name in PAPERS]


def _matches(run: Row, key: str, wanted: str) -> bool:
    """Whether a run passes a filter; a verdict is asked for as ``reason:no``, or as ``no`` for the first use."""
    if key != "verdict":
        return str(run.get(key, "")) == wanted
    use, colon, answer = wanted.partition(":")
    answers = run["answers"] or {}
    return bool(answers.get(use) == answer) if colon else bool(answers.get("reason") == wanted)
