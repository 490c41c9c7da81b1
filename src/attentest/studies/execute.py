"""Execute a run: prepare, train, put the challenges; each finished stage is kept, so that a killed run goes on."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from attentest.challenges import DEFAULT, Challenge
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.errors import NotApplicable, StorageError
from attentest.models.subject import Subject
from attentest.progress import SILENT, Progress
from attentest.registry import text_of
from attentest.store.atomic import make_folder, replacing
from attentest.store.folder import RunFolder
from attentest.studies.examine import examine
from attentest.studies.run import COUNTS, MODEL, Run, file_name
from attentest.studies.trained import companions, neighbours, opened, reproducibly, trained_model, without_removed

__all__ = ["execute", "is_complete"]


def execute(
    run: Run,
    root: Path,
    *,
    device: str = "cpu",
    workers: int = 1,
    fresh: bool = False,
    progress: Progress = SILENT,
) -> RunFolder:
    """Do what is not done yet: prepare, train, then every challenge; each finished stage is kept."""
    with opened(run, root, device, fresh, progress) as (folder, where):
        if is_complete(run, folder, progress.say):
            return folder
        run = without_removed(run, root, device, progress)
        model, vocabulary = trained_model(run, folder, where, progress)
        subject = model.at(run.site)
        split = run.examined()
        wanted = _applicable(run, folder, subject, split, progress)
        missing = {
            name: challenge
            for name, challenge in wanted.items()
            if not folder.is_finished(_findings(name), progress.say) and not _borrowed(run, folder, name, challenge)
        }
        if missing:
            make_folder(folder.path / "findings")
            beside = companions(run, subject, missing.values(), root, device, progress)
            encoded = Encoded.of(split, vocabulary)
            side_by_side = workers if model.device.type == "cpu" else 1
            started = time.monotonic()
            with reproducibly():
                examine(
                    subject,
                    split,
                    encoded,
                    missing,
                    folder.path / "findings",
                    seed=run.seed,
                    meaning=run.corpus.provenance.rationale,
                    companions=beside,
                    workers=side_by_side,
                    progress=progress,
                )
            seconds = round(time.monotonic() - started, 2)
            for name, challenge in missing.items():
                key = run.findings_key(challenge)
                folder.finish(_findings(name), instances=len(split), key=key, seconds=seconds)
        return folder


def is_complete(run: Run, folder: RunFolder, say: Callable[[str], None] = lambda line: None) -> bool:
    """Whether everything asked of the run has been found and is whole; its model need not have stayed here."""
    try:
        passed_over = folder.record.get("not_applicable", {})
    except StorageError:
        return False
    asked = [challenge for challenge in run.asked if text_of(challenge) not in passed_over]
    kept = [MODEL] if (folder.path / MODEL).exists() else []
    whole = [folder.is_finished(name, say) for name in (COUNTS, *kept, *(_findings(file_name(c)) for c in asked))]
    return all(whole)


def _findings(name: str) -> str:
    return f"findings/{name}.parquet"


def _borrowed(run: Run, folder: RunFolder, name: str, challenge: Challenge) -> bool:
    """Whether another run has put this challenge to the same model; its findings are copied."""
    key = run.findings_key(challenge)
    for other, finished in neighbours(folder):
        if finished.get(_findings(name), {}).get("key") == key and other.is_finished(_findings(name)):
            make_folder(folder.path / "findings")
            with replacing(folder.path / _findings(name)) as temporary:
                shutil.copyfile(other.path / _findings(name), temporary)
            about = {k: v for k, v in finished[_findings(name)].items() if k != "sha256"}
            folder.finish(_findings(name), **about)
            return True
    return False


def _applicable(run: Run, folder: RunFolder, model: Subject, split: Split, progress: Progress) -> dict[str, Challenge]:
    """The challenges by the name of their findings; those that do not apply are named with the reason, and noted."""
    wanted: dict[str, Challenge] = {}
    passed_over: dict[str, str] = {}
    for challenge in run.asked:
        reason = challenge.objection(model, has_rationale=split.has("rationale"))
        if reason is None:
            wanted[file_name(challenge)] = challenge
        elif text_of(challenge) in DEFAULT:
            progress.say(f"Challenge {text_of(challenge)!r} does not apply: {reason}.")
            passed_over[text_of(challenge)] = reason
        else:
            raise NotApplicable(f"Challenge {text_of(challenge)!r} does not apply: {reason}.")
    folder.note(not_applicable=passed_over)
    return wanted
