"""One cell of a study, wherever it is computed: described, executed, its failure kept with the reason."""

from __future__ import annotations

import contextlib
import json
import traceback
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus
from attentest.data.sentences import with_sentences
from attentest.devices import keep_to, second_core
from attentest.errors import AttentestError, ChallengeFailed, StorageError, line_of
from attentest.progress import Progress
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.runs.model import train
from attentest.runs.run import Run
from attentest.store.atomic import make_folder, write_text
from attentest.store.regular import content
from attentest.studies.engine import Job

__all__ = ["describe_cell", "failure_of", "keep_failure", "perform"]

FAILED = "failed.json"


def describe_cell(choices: Mapping[str, Any]) -> Run:
    """The cell's run; a corpus by name is read once for all cells that use it."""
    given = dict(choices)
    if "corpus" in given or "data" not in given:
        given["corpus"] = _corpus(given.get("corpus", "reviews"), given.get("structure") == "hierarchical")
    return describe_run(None, **given)


@lru_cache(maxsize=4)
def _corpus(text: str, in_sentences: bool) -> Corpus:
    corpus = CORPORA.parse(text).load()
    return with_sentences(corpus) if in_sentences else corpus


def perform(job: Job, progress: Progress) -> None:
    """Compute what is missing of a cell; a failure is kept in its folder and raised."""
    folder = Path(job.root) / job.id
    keep_to(job.share, job.device)
    try:
        run = describe_cell(job.choices)
        if job.companion is not None:
            run = run.companion(job.companion)
        if run.id != job.id:
            raise StorageError(
                f"{job.label}: here it is the run {run.id}, not {job.id}: corpus, vectors or code of this machine "
                "differ from the driver's. Make them the same."
            )
        root = Path(job.root)
        if job.companion is None:
            done = execute(run, root, device=job.device, workers=job.cores, progress=progress)
            failed = done.record.get("failed", {})
            if failed:
                raise ChallengeFailed("; ".join(f"challenge {text!r}: {reason}" for text, reason in failed.items()))
        else:
            with second_core(job.cores):
                train(run, root, device=job.device, companion=str(job.companion), progress=progress)
    except Exception as error:
        keep_failure(folder, job, line_of(error), traceback.format_exc())
        raise
    with contextlib.suppress(OSError):
        (folder / FAILED).unlink(missing_ok=True)


def keep_failure(folder: Path, job: Job, said: str, trace: str = "") -> None:
    """Record why a cell failed, beside what it has finished."""
    about = {"cell": job.label, "error": " ".join(said.split()), "traceback": trace}
    with contextlib.suppress(AttentestError, OSError):
        make_folder(folder)
        write_text(folder / FAILED, json.dumps(about, indent=1, ensure_ascii=False) + "\n")


def failure_of(folder: Path) -> str | None:
    """Why the cell failed when it was last tried, in one line."""
    try:
        return str(json.loads(content(folder / FAILED))["error"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "it failed, and the record of it cannot be read"
