"""The trained model of a run: its own, another run's that trained the same, or trained now; and its companions."""

from __future__ import annotations

import contextlib
import json
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from attentest import __version__
from attentest.challenges.challenge import Challenge
from attentest.challenges.companions import SUBJECT, Companion
from attentest.data.batches import Encoded
from attentest.data.corpus import Corpus, Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import CheckpointError, InputError, StorageError
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.models.wrappers.guided import Guided
from attentest.progress import SILENT, Progress
from attentest.runs.removal import ranks_of, without_top
from attentest.runs.run import CHECKPOINT, COUNTS, MODEL, TEXTS, VOCABULARY, Run
from attentest.runs.seen_texts import hashes
from attentest.store.atomic import make_folder, replacing, write_text
from attentest.store.folder import RunFolder, runs_in
from attentest.training.adversarial import Imitation, Recorded
from attentest.training.checkpoints import save_vocabulary
from attentest.training.loop import best_epoch, fit
from attentest.training.objectives import Objective
from attentest.training.resume import Resume

__all__ = [
    "companions",
    "device_named",
    "keep_to",
    "neighbours",
    "opened",
    "reproducibly",
    "train",
    "trained_model",
    "without_removed",
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
    with opened(run, root, device, fresh, progress) as (folder, where):
        if not companion or MODEL not in folder.record["finished"]:
            folder.note(companion=companion)
        trained_model(without_removed(run, root, device, progress), folder, where, progress)
        return folder


def without_removed(run: Run, root: Path, device: str, progress: Progress) -> Run:
    """The run with the texts that its removal leaves: trains, or finds, the first model and asks its explainer."""
    if run.removal is None:
        return run
    first = replace(run, removal=None, challenges=(), time=0.0)
    folder = train(first, root, device=device, progress=progress)
    with folder.locked(progress.say), reproducibly():
        model, vocabulary = trained_model(first, folder, device_named(device), progress)
        ranks = ranks_of(folder, model, vocabulary, run.corpus, run.removal.explainer, progress)
    return replace(run, reduced=without_top(run.corpus, ranks, run.removal))


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


def trained_model(run: Run, folder: RunFolder, device: torch.device, progress: Progress) -> tuple[Network, Vocabulary]:
    """The run's trained model and vocabulary: its own, another run's that trained the same, or trained now."""
    path, say = folder.path, progress.say
    if not folder.is_finished(COUNTS, say):
        write_text(path / COUNTS, json.dumps(_counts(run.texts), indent=1) + "\n")
        folder.finish(COUNTS)
    if (given := run.on(device)) is not None:
        return given
    if _holds_model(folder, say):
        (path / UNFINISHED).unlink(missing_ok=True)  # of a process that died between the last two steps below
        return run.load(path, device)
    source = _same_model(run, folder)
    if source is not None:
        model, vocabulary = run.load(source, device)
        if model.words != len(vocabulary) or model.classes != run.classes(vocabulary):
            raise CheckpointError(f"{source}: model, vocabulary and classes do not fit together.")
        about: dict[str, Any] = {"from": source.name}
        if run.model_from is None:
            about = RunFolder(source).record["finished"][MODEL]
            about.pop("sha256")
    else:
        model, vocabulary, about = _trained(run, path, device, progress)
    with replacing(path / TEXTS) as temporary:
        temporary.write_bytes(_training_texts(run, source))
    folder.finish(TEXTS)
    save_vocabulary(path / VOCABULARY, vocabulary)
    folder.finish(VOCABULARY, words=len(vocabulary))
    *others, weights = run.save(path, model)
    for name in others:
        folder.finish(name)
    folder.finish(weights, **{**about, "key": run.model_key})
    (path / UNFINISHED).unlink(missing_ok=True)
    return model, vocabulary


def _counts(corpus: Corpus) -> dict[str, Any]:
    """What a paper's table of corpora prints: texts by class, mean lengths, words of the training split and of all."""
    splits = {
        name: {
            "texts": len(split),
            "by_class": {str(c): int((split.labels == c).sum()) for c in range(len(corpus.classes))},
            "mean_length": float(split.lengths.mean()) if len(split) else None,
        }
        for name, split in corpus.splits.items()
    }
    every = Split(pa.concat_tables([split.table for split in corpus.splits.values()], promote_options="default"))
    return {
        "vocabulary": len(Vocabulary.from_split(corpus["train"], corpus.min_frequency)),
        "vocabulary_of_all_splits": len(Vocabulary.from_split(every, corpus.min_frequency)),
        "splits": splits,
    }


def _holds_model(folder: RunFolder, say: Callable[[str], None] = lambda line: None) -> bool:
    """Whether the folder has a trained model with all its files."""
    kept = [name for name in folder.record["finished"] if name.startswith(f"{CHECKPOINT}/")]
    return all(folder.is_finished(name, say) for name in (MODEL, VOCABULARY, *kept))


def _training_texts(run: Run, source: Path | None) -> bytes:
    """The hashes of the texts the model was trained on, as another run kept them or from the corpus itself."""
    if source is None:
        return np.unique(hashes(run.texts["train"])).tobytes()
    kept = source / TEXTS
    return kept.read_bytes() if kept.is_file() else b""


def neighbours(folder: RunFolder) -> Iterator[tuple[RunFolder, Mapping[str, Any]]]:
    """The other runs beside this one and what they have finished; one that cannot be read is not this run's concern."""
    for other in runs_in(folder.path.parent):
        if other.path != folder.path:
            with contextlib.suppress(StorageError):
                yield other, other.record["finished"]


def _same_model(run: Run, folder: RunFolder) -> Path | None:
    """The folder whose model this run examines: the one it was given, or another run's that trained the same."""
    if run.model_from is not None:
        return run.model_from.path
    key = run.model_key
    for other, finished in neighbours(folder):
        trained = finished.get(MODEL, {}).get("key") == key
        if trained and _holds_model(other):
            return other.path
    return None


def _trained(
    run: Run, path: Path, device: torch.device, progress: Progress
) -> tuple[Network, Vocabulary, dict[str, Any]]:
    corpus = run.texts
    with reproducibly():
        model, vocabulary, made = run.build(device, progress.say)
        against = None if run.relation is None else run.relation.against
        needed = {"train", "dev", "dev" if against is None else against.select}
        encoded = {name: Encoded.of(corpus[name], vocabulary) for name in sorted(needed)}
        taken = _taken(run, model, encoded, path.parent, device, progress)
        resume = Resume(path / UNFINISHED, run.model_key, CHECKPOINT_SECONDS, progress.say)
        epochs = fit(
            taken.model,
            encoded["train"],
            encoded[taken.select],
            run.training,
            seed=run.seed,
            objective=taken.objective,
            score=taken.score,
            resume=resume,
            progress=progress,
        )
    if device.type == "cuda":
        torch.cuda.empty_cache()  # other cells on the card need what training no longer does
    about = {
        "epochs": [epoch.to_record() for epoch in epochs],
        "best_epoch": best_epoch(epochs).number,
        "dev_score": run.training.score(model) if against is None else "λ·divergence − TVD",
        **made,
        "seconds": round(sum(epoch.seconds for epoch in epochs), 2),
    }
    return model, vocabulary, about


@dataclass(frozen=True)
class _Taken:
    """What a training takes from other models: nothing, as a rule."""

    model: Network
    objective: Objective | None = None
    score: Callable[[Subject, Encoded], float] | None = None
    #: The split that chooses the epoch.
    select: str = "dev"


def _taken(
    run: Run, model: Network, encoded: Mapping[str, Encoded], root: Path, device: torch.device, progress: Progress
) -> _Taken:
    """The model to train with what its relation to other models makes of it."""
    relation = run.relation
    if relation is None:
        return _Taken(model)
    if relation.start is not None:
        model.load_state_dict(subject_of(relation.start, root, str(device), progress).state_dict())
    if relation.guide is not None:
        model = Guided(model, subject_of(relation.guide, root, str(device), progress))
    if relation.against is None or relation.opponent is None:
        return _Taken(model)
    against, base = relation.against, subject_of(relation.opponent, root, str(device), progress)
    pursued, chosen = (
        Imitation(Recorded.of(base, encoded[name]), against.weight, against.divergence, against.halved)
        for name in ("train", against.select)
    )
    return _Taken(model, pursued, chosen.score, against.select)


def subject_of(run: Run, root: Path, device: str, progress: Progress, name: str = "of another") -> Network:
    """A companion's model, trained or found; with its guide, where it has one."""
    train(run, root, device=device, companion=name, progress=progress)
    model, _ = run.load(root / run.id, device_named(device))
    if run.relation is not None and run.relation.guide is not None:
        return Guided(model, subject_of(run.relation.guide, root, device, progress))
    return model


def companions(
    run: Run, subject: Subject, challenges: Iterable[Challenge], root: Path, device: str, progress: Progress
) -> dict[Companion, Subject]:
    """The other models that the challenges ask for, trained or found."""
    wanted = dict.fromkeys(companion for challenge in challenges for companion in challenge.companions)
    found: dict[Companion, Subject] = {SUBJECT: subject}
    for number, companion in enumerate(wanted, start=1):
        if companion not in found:
            progress.say(f"Control model {number} of {len(wanted)}: {companion}")
            found[companion] = subject_of(run.companion(companion), root, device, progress, str(companion)).at(run.site)
    return found


def device_named(name: str, *, here: bool = True) -> torch.device:
    """The device of this name; ``here``: on this machine, where it must be usable."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"--device {name!r} is not a device. Use cpu, cuda or auto.") from error
    if here and device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"--device {name!r}: this machine has no usable CUDA device. Use cpu or auto.")
    return device


def keep_to(share: float, device: str) -> None:
    """Let this process hold no more than its share of a GPU: it gives back what it does not use before it fails."""
    if share < 1 and device.startswith("cuda") and torch.cuda.is_available():
        # The rest is for what every process takes before its first tensor.
        torch.cuda.set_per_process_memory_fraction(0.95 * share)


def _made_with(device: torch.device) -> dict[str, str]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "attentest": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": f"{device.type} ({name})",
    }


@contextlib.contextmanager
def reproducibly() -> Iterator[None]:
    """One torch thread, so that results are the same bytes however many cores there are; no TF32 on a GPU."""
    before = torch.get_num_threads(), torch.backends.cudnn.allow_tf32
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]
