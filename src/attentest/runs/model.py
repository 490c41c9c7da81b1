"""The model of a run in its folder: its own, another run's that trained the same, or trained now; and companions."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from attentest import __version__
from attentest.challenges.challenge import Challenge
from attentest.challenges.companions import SUBJECT, Companion
from attentest.data.batches import Encoded
from attentest.data.corpus import Corpus, Split
from attentest.data.vocabulary import Vocabulary
from attentest.devices import device_named
from attentest.errors import StorageError
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.progress import SILENT, Progress
from attentest.runs.run import CHECKPOINT, COUNTS, MODEL, TEXTS, VOCABULARY, Run
from attentest.store.atomic import make_folder, replacing, write_text
from attentest.store.folder import RunFolder, runs_in
from attentest.store.seen_texts import keep_texts
from attentest.training.checkpoints import save_vocabulary
from attentest.training.loop import best_epoch, fit
from attentest.training.objectives import Objective
from attentest.training.resume import Resume

if TYPE_CHECKING:
    from attentest.runs.fine_tuned import FineTunedRun
    from attentest.runs.trained import TrainedRun

    Trainable: TypeAlias = TrainedRun | FineTunedRun

__all__ = [
    "companions",
    "copy_model",
    "counts_of",
    "found_or_trained",
    "link",
    "model_of",
    "neighbours",
    "obtained",
    "opened",
    "train",
    "trained_by",
    "verify_checkpoint",
    "verify_given",
]

#: Training in progress; it gives way to the finished model.
UNFINISHED = "training.safetensors"
#: Seconds between two checkpoints of one training.
CHECKPOINT_SECONDS = 20.0


def train(
    run: Run,
    root: Path,
    *,
    device: str = "cpu",
    fresh: bool = False,
    companion: str = "",
    progress: Progress = SILENT,
) -> RunFolder:
    """Only train (or find the trained model) and keep it; a companion, where only an audit asked for it, is noted."""
    return _trained(run, root, device, fresh, companion, progress)[0]


def model_of(run: Run, root: Path, device: str, progress: Progress, name: str = "of another") -> Network:
    """The model of a companion, trained or found."""
    return _trained(run, root, device, False, name, progress)[1]


def _trained(
    run: Run, root: Path, device: str, fresh: bool, companion: str, progress: Progress
) -> tuple[RunFolder, Network]:
    with opened(run, root, device, fresh, progress) as (folder, where):
        if not companion or MODEL not in folder.record["finished"]:
            folder.note(companion=companion)
        return folder, obtained(run, folder, where, progress)[1]


def companions(
    run: Run, subject: Subject, challenges: Iterable[Challenge], root: Path, device: str, progress: Progress
) -> dict[Companion, Subject]:
    """The other models that the challenges ask for, trained or found."""
    wanted = dict.fromkeys(companion for challenge in challenges for companion in challenge.companions)
    found: dict[Companion, Subject] = {SUBJECT: subject}
    for number, companion in enumerate(wanted, start=1):
        if companion not in found:
            progress.say(f"Control model {number} of {len(wanted)}: {companion}")
            found[companion] = model_of(run.companion(companion), root, device, progress, str(companion)).at(run.site)
    return found


@contextlib.contextmanager
def opened(
    run: Run, root: Path, device: str, fresh: bool, progress: Progress
) -> Iterator[tuple[RunFolder, torch.device]]:
    """The run's folder, held for this process."""
    where = device_named(device)
    path = root / run.id
    make_folder(path)
    folder = RunFolder(path)
    with folder.locked(progress.say):
        if fresh:
            for entry in path.iterdir():
                if entry.name != ".lock":
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        yield RunFolder.create(path, run.fields, _made_with(where), progress.say), where


def _made_with(device: torch.device) -> dict[str, str]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "attentest": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": f"{device.type} ({name})",
    }


def obtained(run: Run, folder: RunFolder, device: torch.device, progress: Progress) -> tuple[Run, Network, Vocabulary]:
    """The run on the texts it is about, its model, and the model's words; the texts are counted in its folder."""
    run, model, vocabulary = run.obtain(folder, device, progress)
    if not folder.is_finished(COUNTS, progress.say):
        write_text(folder.path / COUNTS, json.dumps(counts_of(run.texts), indent=1) + "\n")
        folder.finish(COUNTS)
    return run, model, vocabulary


def counts_of(corpus: Corpus) -> dict[str, Any]:
    """What a paper's table of corpora prints: texts by class, lengths, words of the training split and of all."""
    splits = {
        name: {
            "texts": len(split),
            "by_class": {str(c): int((split.labels == c).sum()) for c in range(len(corpus.classes))},
            **_spread(split.lengths, "length"),
            **(_spread(pc.list_value_length(split.table["sentences"]), "sentences") if split.has("sentences") else {}),
        }
        for name, split in corpus.splits.items()
    }
    every = Split(pa.concat_tables([split.table for split in corpus.splits.values()], promote_options="default"))
    return {
        "vocabulary": len(Vocabulary.from_split(corpus["train"], corpus.min_frequency)),
        "vocabulary_of_all_splits": len(Vocabulary.from_split(every, corpus.min_frequency)),
        "splits": splits,
    }


def _spread(sizes: pa.ChunkedArray | np.ndarray, of: str) -> dict[str, float | None]:
    """Mean and standard deviation; of no texts there is none."""
    numbers = np.asarray(sizes, dtype=np.float64)
    mean, deviation = (float(numbers.mean()), float(numbers.std())) if len(numbers) else (None, None)
    return {f"mean_{of}": mean, f"sd_{of}": deviation}


def found_or_trained(
    run: Trainable, folder: RunFolder, device: torch.device, progress: Progress
) -> tuple[Network, Vocabulary]:
    """The run's trained model and vocabulary: its own, another run's that trained the same, or trained now."""
    path = folder.path
    if not holds_model(folder, progress.say):
        source = _same_model(run.model_key, folder)
        if source is None:
            return _trained_now(run, folder, device, progress)
        copy_model(source, folder)
    if TEXTS in folder.record["finished"] and not folder.is_finished(TEXTS, progress.say):
        _keep_texts(run, folder)
    (path / UNFINISHED).unlink(missing_ok=True)  # of a process that died before its own last step
    return run.load(path, device)


def _trained_now(
    run: Trainable, folder: RunFolder, device: torch.device, progress: Progress
) -> tuple[Network, Vocabulary]:
    path = folder.path
    model, vocabulary, about = run.fitted(folder, device, progress)
    if device.type == "cuda":
        torch.cuda.empty_cache()  # other cells on the card need what training no longer does
    _keep_texts(run, folder)
    save_vocabulary(path / VOCABULARY, vocabulary)
    folder.finish(VOCABULARY, words=len(vocabulary))
    *others, weights = run.save(path, model)
    for name in others:
        folder.finish(name)
    folder.finish(weights, **about, key=run.model_key)
    (path / UNFINISHED).unlink(missing_ok=True)
    return model, vocabulary


def _keep_texts(run: Trainable, folder: RunFolder) -> None:
    keep_texts(run.texts["train"], folder.path / TEXTS)
    folder.finish(TEXTS)


def trained_by(
    run: Trainable,
    model: Network,
    train: Encoded,
    dev: Encoded,
    path: Path,
    progress: Progress,
    objective: Objective | None = None,
    score: Callable[[Subject, Encoded], float] | None = None,
    scored: str = "λ·divergence − TVD",
) -> dict[str, Any]:
    """Train a model in place as its run says, resumed where it was killed; what is worth keeping of how it went."""
    resume = Resume(path / UNFINISHED, run.model_key, CHECKPOINT_SECONDS, progress.say)
    asked: dict[str, Any] = {"objective": objective, "score": score, "resume": resume, "progress": progress}
    epochs = fit(model, train, dev, run.training, seed=run.seed, **asked)
    return {
        "epochs": [epoch.to_record() for epoch in epochs],
        "best_epoch": best_epoch(epochs).number,
        "dev_score": run.training.score(model) if score is None else scored,
        "seconds": round(sum(epoch.seconds for epoch in epochs), 2),
    }


def neighbours(folder: RunFolder) -> Iterator[tuple[RunFolder, Mapping[str, Any]]]:
    """The other runs beside this one and what they have finished; one that cannot be read is not this run's concern."""
    for other in runs_in(folder.path.parent):
        if other.path != folder.path:
            with contextlib.suppress(StorageError):
                yield other, other.record["finished"]


def holds_model(folder: RunFolder, say: Callable[[str], None] = lambda line: None) -> bool:
    """Whether the folder has a trained model with all its files."""
    names = (MODEL, VOCABULARY, *_of_checkpoint(folder.record["finished"]))
    return all(folder.is_finished(name, say) for name in names)


def verify_given(model: str | Path) -> None:
    """Where a folder is the checkpoint of a run, it must be as that run left it."""
    path = Path(model)
    if path.name == CHECKPOINT and (path.parent / "run.json").is_file():
        verify_checkpoint(RunFolder(path.parent))


def verify_checkpoint(folder: RunFolder) -> Path:
    """The folder of the checkpoint that a run fine-tuned: every file as it was recorded, and no other there."""
    inner = _of_checkpoint(folder.record["finished"])
    for name in (MODEL, *inner):
        folder.verify(name)
    there = [path.relative_to(folder.path).as_posix() for path in (folder.path / CHECKPOINT).rglob("*")]
    if strange := sorted(set(there) - {*inner}):
        raise StorageError(f"{folder.path / strange[0]} is not among what this run wrote. Take it away.")
    return folder.path / CHECKPOINT


def _of_checkpoint(finished: Mapping[str, Any]) -> list[str]:
    return [name for name in finished if name.startswith(f"{CHECKPOINT}/")]


def _same_model(key: str, folder: RunFolder) -> RunFolder | None:
    """Another run that trained the same model."""
    trained = (other for other, finished in neighbours(folder) if finished.get(MODEL, {}).get("key") == key)
    return next((other for other in trained if holds_model(other)), None)


def copy_model(source: RunFolder, folder: RunFolder, **about: Any) -> None:
    """Copy the files of another run's model, with what its record says of each, or ``about`` the weights."""
    inner = _of_checkpoint(source.record["finished"])
    if inner:
        shutil.rmtree(folder.path / CHECKPOINT, ignore_errors=True)
    for name in (TEXTS, VOCABULARY, *inner):
        if name in source.record["finished"]:
            folder.copy(source, name)
    folder.copy(source, MODEL, **about)
    if inner:
        link(folder.path / CHECKPOINT / MODEL, folder.path / MODEL)


def link(source: Path, target: Path) -> None:
    """One file by two names; a copy on a file system without links."""
    with replacing(target) as temporary:
        temporary.unlink()  # a link is made where there is no file
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
