"""Execute a run: prepare, train, put the challenges; each finished stage is kept, so that a killed run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attentest.challenges.challenge import Challenge
from attentest.challenges.companions import Companion
from attentest.challenges.instances.examine import Instances
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.steps import stepped
from attentest.data.vocabulary import Vocabulary
from attentest.devices import reproducibly, second_core
from attentest.errors import StorageError, line_of
from attentest.explainers.trained.gates import keep_gates
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.progress import SILENT, Progress
from attentest.registry import text_of
from attentest.runs.applicable import applicable, explained, has_marks
from attentest.runs.examination.budget import within_time
from attentest.runs.examination.examine import examine, examiner_of, measured
from attentest.runs.examination.examiner import Examiner, Texts
from attentest.runs.examination.finite import refuse_not_finite
from attentest.runs.examination.own_translations import own_translations
from attentest.runs.examination.pace import Pace
from attentest.runs.model import companions, neighbours, obtained, opened
from attentest.runs.run import CHECKPOINT, COUNTS, FORCED, MODEL, TEXTS, VOCABULARY, Run, file_name
from attentest.store.atomic import make_folder
from attentest.store.folder import RunFolder
from attentest.training.training_texts import TrainingTexts

__all__ = ["execute", "is_complete"]

OF_MODEL = (MODEL, VOCABULARY, TEXTS)


def execute(
    run: Run,
    root: Path,
    *,
    device: str = "cpu",
    workers: int = 1,
    fresh: bool = False,
    announce: bool = False,
    began: float | None = None,
    progress: Progress = SILENT,
) -> RunFolder:
    """Do what is not done yet: prepare, train, then every challenge; each finished stage is kept.

    A challenge that fails is noted in the run's record as ``failed``, with the reason, and the others go on. With
    ``announce`` it is said how long the examination will take. The time of a run that has one ``began`` now, or then.
    """
    with opened(run, root, device, fresh, progress) as (folder, where), second_core(workers):
        if is_complete(run, folder, progress.say):
            return folder
        run, model, vocabulary = obtained(run, folder, where, progress)
        subject = model.at(run.site)
        side_by_side = workers if model.device.type == "cpu" else 1
        wanted = _applicable(run, folder, subject, progress)

        def examiner(run: Run, challenges: Mapping[str, Challenge]) -> Examiner:
            beside = companions(run, subject, challenges.values(), root, device, progress)
            return _examiner(run, model, vocabulary, explained(challenges, subject), beside, progress)

        def measure(few: Run) -> tuple[Pace, float]:
            putting = examiner(few, wanted)
            with reproducibly():
                return measured(putting, workers=side_by_side, progress=progress)

        run = within_time(
            run,
            folder,
            subject,
            vocabulary,
            began=time.monotonic() if began is None else began,
            workers=side_by_side,
            measure=measure,
            say=progress.say,
        )
        missing = {
            name: challenge
            for name, challenge in wanted.items()
            if not folder.is_finished(_findings(name), progress.say) and not _borrowed(run, folder, name, challenge)
        }
        failed: dict[str, Exception] = {}
        if missing:
            make_folder(folder.path / "findings")
            putting, started = examiner(run, missing), time.monotonic()

            def finished(name: str) -> None:
                key, seconds = run.findings_key(missing[name]), round(time.monotonic() - started, 2)
                folder.finish(_findings(name), instances=len(putting.encoded), key=key, seconds=seconds)

            about: dict[str, Any] = {"workers": side_by_side, "finished": finished, "progress": progress}
            with reproducibly():
                failed = examine(putting, folder.path / "findings", announce=announce and not run.time, **about)
            keep_gates(folder, putting.training)
        folder.note(failed={text_of(missing[name]): line_of(error) for name, error in failed.items()} or None)
        without = [error for name, error in failed.items() if isinstance(missing[name], Instances)]
        if without:  # nothing can be judged
            raise without[0]
        return folder


def _examiner(
    run: Run,
    model: Network,
    vocabulary: Vocabulary,
    challenges: Mapping[str, Challenge],
    beside: Mapping[Companion, Subject],
    progress: Progress,
) -> Examiner:
    """What puts challenges to a model on the texts of a run."""
    split, writes = _read(run, model, vocabulary, progress), vocabulary.target is not None
    encoded = Encoded.of(split, vocabulary)
    refuse_not_finite(model, encoded)
    return examiner_of(
        model.at(run.site),
        stepped(split, vocabulary) if writes else split,
        encoded,
        challenges,
        seed=run.seed,
        meaning=run.corpus.provenance.rationale,
        companions=beside,
        written=Texts(run.examined(), vocabulary) if writes else None,
        training=_training(run, vocabulary),
        say=progress.say,
    )


def _training(run: Run, vocabulary: Vocabulary) -> TrainingTexts | None:
    """The training split, where there is one; it is encoded when a challenge asks for it."""
    split = run.texts.splits.get("train")
    return TrainingTexts(lambda: Encoded.of(split, vocabulary)) if split is not None and len(split) else None


def _read(run: Run, model: Network, vocabulary: Vocabulary, progress: Progress) -> Split:
    """The texts to examine; where a translator is made to write its own words, with these as their targets."""
    split = run.examined()
    if run.forced == FORCED[0]:
        return split
    with reproducibly():
        return own_translations(model, split, vocabulary, progress)


def is_complete(run: Run, folder: RunFolder, say: Callable[[str], None] = lambda line: None) -> bool:
    """Whether everything asked of the run has been found and is whole; its model need not have stayed here."""
    try:
        passed_over = folder.record.get("not_applicable", {})
    except StorageError:
        return False
    usual = run.usual.challenges
    asked = [one for one in run.asked if one not in usual or text_of(one) not in passed_over]
    listed = (name for name in folder.record["finished"] if name in OF_MODEL or name.startswith(f"{CHECKPOINT}/"))
    kept = [name for name in listed if (folder.path / name).exists()]
    whole = [folder.is_finished(name, say) for name in (COUNTS, *kept, *(_findings(file_name(c)) for c in asked))]
    return all(whole)


def _findings(name: str) -> str:
    return f"findings/{name}.parquet"


def _borrowed(run: Run, folder: RunFolder, name: str, challenge: Challenge) -> bool:
    """Whether another run has put this challenge to the same model; its findings are copied."""
    key = run.findings_key(challenge)
    for other, finished in neighbours(folder):
        if finished.get(_findings(name), {}).get("key") == key and other.is_finished(_findings(name)):
            folder.copy(other, _findings(name))
            return True
    return False


def _applicable(run: Run, folder: RunFolder, model: Subject, progress: Progress) -> dict[str, Challenge]:
    """The challenges by the name of their findings; those that do not apply are named with the reason, and noted."""
    wanted, passed_over, left_out = applicable(run.asked, run.usual, model, has_rationale=has_marks(run))
    for challenge, reason in passed_over.items():
        progress.say(f"Challenge {challenge!r} skipped: {reason}.")
    for explainer, reason in left_out.items():
        progress.say(f"Explainer {explainer!r} skipped: {reason}.")
    folder.note(not_applicable={**passed_over, **left_out})
    return wanted
