"""Execute a run: prepare, train, put the challenges; each finished stage is kept, so that a killed run goes on."""

from __future__ import annotations

import contextlib
import json
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from attentest import __version__
from attentest.challenges import DEFAULT, Challenge
from attentest.data.batches import Encoded
from attentest.data.corpus import Corpus, Split
from attentest.data.vectors import load_vectors
from attentest.data.vocabulary import Vocabulary
from attentest.errors import CheckpointError, InputError, NotApplicable, StorageError
from attentest.models.classifier import Classifier
from attentest.progress import SILENT, Progress
from attentest.registry import text_of
from attentest.store.atomic import make_folder, replacing, write_text
from attentest.store.folder import RunFolder, runs_in
from attentest.studies.examine import examine
from attentest.studies.removal import ranks_of, without_top
from attentest.studies.run import COUNTS, MODEL, TEXTS, VOCABULARY, Run, file_name, hashes
from attentest.training.checkpoints import (
    load_classifier,
    load_vocabulary,
    save_classifier,
    save_vocabulary,
)
from attentest.training.loop import best_epoch, fit
from attentest.training.resume import Resume

__all__ = ["device_named", "execute", "is_complete", "reproducibly", "train"]

#: Training in progress; it gives way to the finished model.
UNFINISHED = "training.safetensors"
#: Seconds between two checkpoints of one training.
CHECKPOINT_SECONDS = 20.0


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
    with _opened(run, root, device, fresh, progress) as (folder, where):
        if is_complete(run, folder, progress.say):
            return folder
        run = _without_removed(run, root, device, progress)
        model, vocabulary = _model(run, folder, where, progress)
        split = run.examined()
        wanted = _applicable(run, folder, model, split, progress)
        missing = {
            name: challenge
            for name, challenge in wanted.items()
            if not folder.is_finished(_findings(name), progress.say) and not _borrowed(run, folder, name, challenge)
        }
        if missing:
            make_folder(folder.path / "findings")
            encoded = Encoded.of(split, vocabulary)
            side_by_side = workers if model.device.type == "cpu" else 1
            started = time.monotonic()
            with reproducibly():
                examine(
                    model,
                    split,
                    encoded,
                    missing,
                    folder.path / "findings",
                    seed=run.seed,
                    meaning=run.corpus.provenance.rationale,
                    workers=side_by_side,
                    progress=progress,
                )
            seconds = round(time.monotonic() - started, 2)
            for name, challenge in missing.items():
                key = run.findings_key(challenge)
                folder.finish(_findings(name), instances=len(split), key=key, seconds=seconds)
        return folder


def train(run: Run, root: Path, *, device: str = "cpu", fresh: bool = False, progress: Progress = SILENT) -> RunFolder:
    """Only train (or find the trained model) and keep it."""
    with _opened(run, root, device, fresh, progress) as (folder, where):
        _model(_without_removed(run, root, device, progress), folder, where, progress)
        return folder


def _without_removed(run: Run, root: Path, device: str, progress: Progress) -> Run:
    """The run with the texts that its removal leaves: trains, or finds, the first model and asks its explainer."""
    if run.removal is None:
        return run
    first = replace(run, removal=None, challenges=())
    folder = train(first, root, device=device, progress=progress)
    with folder.locked(progress.say), reproducibly():
        model, vocabulary = _model(first, folder, device_named(device), progress)
        ranks = ranks_of(folder, model, vocabulary, run.corpus, run.removal.explainer, progress)
    return replace(run, reduced=without_top(run.corpus, ranks, run.removal))


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


@contextlib.contextmanager
def _opened(
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


def _findings(name: str) -> str:
    return f"findings/{name}.parquet"


def _model(run: Run, folder: RunFolder, device: torch.device, progress: Progress) -> tuple[Classifier, Vocabulary]:
    """The run's trained model and vocabulary: its own, another run's that trained the same, or trained now."""
    path, say = folder.path, progress.say
    if not folder.is_finished(COUNTS, say):
        write_text(path / COUNTS, json.dumps(_counts(run.texts), indent=1) + "\n")
        folder.finish(COUNTS)
    if folder.is_finished(MODEL, say) and folder.is_finished(VOCABULARY, say):
        model, _ = load_classifier(path / MODEL, device)
        return model, load_vocabulary(path / VOCABULARY)
    source = _same_model(run, folder)
    if source is not None:
        model, architecture = load_classifier(source / MODEL, device)
        vocabulary = load_vocabulary(source / VOCABULARY)
        if model.embedding.num_embeddings != len(vocabulary) or model.classes != len(run.corpus.classes):
            raise CheckpointError(f"{source}: model, vocabulary and classes do not fit together.")
        about: dict[str, Any] = {"from": source.name}
        if run.model_from is None:
            about = RunFolder(source).record["finished"][MODEL]
            about.pop("sha256")
    else:
        architecture = run.architecture
        model, vocabulary, about = _trained(run, path, device, progress)
    with replacing(path / TEXTS) as temporary:
        temporary.write_bytes(_training_texts(run, source))
    folder.finish(TEXTS)
    save_vocabulary(path / VOCABULARY, vocabulary)
    folder.finish(VOCABULARY, words=len(vocabulary))
    save_classifier(path / MODEL, model, architecture)
    folder.finish(MODEL, **{**about, "key": run.model_key})
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


def _training_texts(run: Run, source: Path | None) -> bytes:
    """The hashes of the texts the model was trained on, as another run kept them or from the corpus itself."""
    if source is None:
        return np.unique(hashes(run.texts["train"])).tobytes()
    kept = source / TEXTS
    return kept.read_bytes() if kept.is_file() else b""


def _neighbours(folder: RunFolder) -> Iterator[tuple[RunFolder, Mapping[str, Any]]]:
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
    for other, finished in _neighbours(folder):
        trained = finished.get(MODEL, {}).get("key") == key
        if trained and other.is_finished(MODEL) and other.is_finished(VOCABULARY):
            return other.path
    return None


def _borrowed(run: Run, folder: RunFolder, name: str, challenge: Challenge) -> bool:
    """Whether another run has put this challenge to the same model; its findings are copied."""
    key = run.findings_key(challenge)
    for other, finished in _neighbours(folder):
        if finished.get(_findings(name), {}).get("key") == key and other.is_finished(_findings(name)):
            make_folder(folder.path / "findings")
            with replacing(folder.path / _findings(name)) as temporary:
                shutil.copyfile(other.path / _findings(name), temporary)
            about = {k: v for k, v in finished[_findings(name)].items() if k != "sha256"}
            folder.finish(_findings(name), **about)
            return True
    return False


def _trained(
    run: Run, path: Path, device: torch.device, progress: Progress
) -> tuple[Classifier, Vocabulary, dict[str, Any]]:
    corpus = run.texts
    vocabulary = Vocabulary.from_split(corpus["train"], corpus.min_frequency)
    vectors, coverage = None, None
    size = run.architecture.embedding
    if run.vectors is not None:
        loaded = load_vectors(
            run.vectors, vocabulary, missing=run.missing_vectors, seed=run.seed, split=corpus["train"]
        )
        vectors = torch.from_numpy(loaded.matrix)
        coverage = {"types": loaded.types, "tokens": loaded.tokens}
        progress.say(
            f"Vectors {run.vectors.name}: {loaded.types:.1%} of words, {loaded.tokens or 0:.1%} of tokens covered"
        )
        if vectors.shape[1] != size:
            raise InputError(
                f"{run.vectors} holds vectors of {vectors.shape[1]} numbers, the model takes {size}. "
                f"Use --embedding {vectors.shape[1]}."
            )
    generator = torch.Generator().manual_seed(run.seed)
    with reproducibly():
        model = Classifier(run.architecture, len(vocabulary), len(corpus.classes), generator, vectors).to(device)
        train_, dev = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev"))
        resume = Resume(path / UNFINISHED, run.model_key, CHECKPOINT_SECONDS, progress.say)
        epochs = fit(model, train_, dev, run.training, seed=run.seed, resume=resume, progress=progress)
    if device.type == "cuda":
        torch.cuda.empty_cache()  # other cells on the card need what training no longer does
    about = {
        "epochs": [epoch.to_record() for epoch in epochs],
        "best_epoch": best_epoch(epochs).number,
        "dev_score": run.training.score(model.classes),
        "vector_coverage": coverage,
        "seconds": round(sum(epoch.seconds for epoch in epochs), 2),
    }
    return model, vocabulary, about


def _applicable(
    run: Run, folder: RunFolder, model: Classifier, split: Split, progress: Progress
) -> dict[str, Challenge]:
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
