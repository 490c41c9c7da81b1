"""A run: one corpus, one model, one seed, some challenges; its id is a hash of everything that matters."""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from attentest import __version__
from attentest.challenges import CHALLENGES, DEFAULT, Challenge
from attentest.challenges.instances import Instances
from attentest.data.batches import Encoded
from attentest.data.corpus import Corpus, Split
from attentest.data.vectors import load_vectors
from attentest.data.vocabulary import Vocabulary
from attentest.errors import CheckpointError, InputError, NotApplicable, StorageError
from attentest.models.classifier import Architecture, Classifier
from attentest.progress import SILENT, Progress
from attentest.registry import text_of
from attentest.store.atomic import checksum, make_folder, replacing
from attentest.store.folder import RunFolder, runs_in
from attentest.studies.examine import examine
from attentest.training.checkpoints import (
    load_classifier,
    load_vocabulary,
    save_classifier,
    save_vocabulary,
)
from attentest.training.loop import Training, best_epoch, fit

__all__ = ["Run", "execute", "train"]

MODEL, VOCABULARY, TEXTS = "model.safetensors", "vocabulary.json", "training-texts.u64"
#: Raised when the columns or the meaning of findings change, so that old ones are not taken for new.
SCHEMA = 2


def default_challenges() -> tuple[Challenge, ...]:
    """What an audit runs when nothing else is asked for."""
    return tuple(CHALLENGES.parse(name) for name in DEFAULT)


@dataclass(frozen=True)
class Run:
    """Every choice of one run."""

    corpus: Corpus
    architecture: Architecture = field(default_factory=Architecture)
    training: Training = field(default_factory=Training)
    challenges: tuple[Challenge, ...] = field(default_factory=default_challenges)
    seed: int = 0
    #: Examine only this many instances of the split, drawn at random; 0: all.
    limit: int = 0
    split: str = "test"
    vectors: Path | None = None
    #: Words without a vector start from N(0, 1) (the paper) or from zeros (its code).
    missing_vectors: Literal["normal", "zero"] = "normal"
    #: A finished run whose model is examined instead of training one.
    model_from: RunFolder | None = None
    #: How texts were tokenised, kept so that a saved model meets new texts the same way.
    tokenizer: str = ""
    lowercase: bool = True

    @property
    def fields(self) -> dict[str, Any]:
        """Everything that decides the findings, as plain values."""
        corpus = self.corpus
        return {
            "corpus": {
                "name": corpus.name,
                "digest": corpus.digest,
                "classes": list(corpus.classes),
                "sizes": {name: len(split) for name, split in corpus.splits.items()},
                "task": corpus.task,
                **asdict(corpus.provenance),
                "left_out": list(corpus.provenance.left_out),
                "tokenizer": self.tokenizer,
                "lowercase": self.lowercase,
            },
            **self._model_fields(),
            "challenges": [text_of(challenge) for challenge in self.challenges],
            "seed": self.seed,
            "limit": self.limit,
            "split": self.split,
            "attentest": __version__,
            "schema": SCHEMA,
        }

    @property
    def model_key(self) -> str:
        """A hash of what decides the trained model: runs that ask it other questions share it."""
        fields = self.fields
        corpus = {name: fields["corpus"][name] for name in ("digest", "classes", "task")}
        decides = {"corpus": corpus, **{name: fields[name] for name in ("model", "training", "seed", "attentest")}}
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()

    def _model_fields(self) -> dict[str, Any]:
        if self.model_from is not None:
            path = self.model_from.path / MODEL
            if not path.is_file():
                raise CheckpointError(f"{self.model_from.path} has no {MODEL}: its training did not finish.")
            was = self.model_from.record["fields"]
            return {
                "model": {**was.get("model", {}), "sha256": checksum(path)},
                "training": {"from": self.model_from.path.name},
            }
        vectors = None
        if self.vectors is not None:
            if not self.vectors.is_file():
                raise InputError(f"No file of word vectors at {self.vectors}. Check --vectors.")
            vectors = {
                "file": self.vectors.name,
                "sha256": checksum(self.vectors),
                "missing": self.missing_vectors,
            }
        return {
            "model": self.architecture.to_record() | {"vectors": vectors},
            "training": asdict(self.training),
        }

    def seen_in_training(self) -> int:
        """How many of the texts to examine the trained model it is given was trained on."""
        path = None if self.model_from is None else self.model_from.path / TEXTS
        if path is None or not path.is_file():
            return 0
        known = np.frombuffer(path.read_bytes(), dtype=np.uint64)
        return int(np.isin(_hashes(_examined(self)), known).sum())

    @property
    def id(self) -> str:
        """The corpus's name and a hash of the fields."""
        text = json.dumps(self.fields, sort_keys=True, ensure_ascii=False)
        safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in self.corpus.name)[:40] or "data"
        return f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def execute(
    run: Run,
    root: Path,
    *,
    device: str = "cpu",
    workers: int = 1,
    fresh: bool = False,
    progress: Progress = SILENT,
) -> RunFolder:
    """Do what is not done yet: train, then every challenge; each finished stage is kept."""
    folder, model, vocabulary = _prepared(run, root, device, fresh, progress)
    split = _examined(run)
    wanted = _applicable(run, model, split, progress)
    missing = {name: c for name, c in wanted.items() if not folder.is_finished(f"findings/{name}.parquet")}
    if missing:
        make_folder(folder.path / "findings")
        encoded = Encoded.of(split, vocabulary)
        target = folder.path / "findings"
        side_by_side = workers if model.device.type == "cpu" else 1
        with reproducibly():
            examine(model, split, encoded, missing, target, seed=run.seed, workers=side_by_side, progress=progress)
        for name in missing:
            folder.finish(f"findings/{name}.parquet", instances=len(split))
    return folder


def train(run: Run, root: Path, *, device: str = "cpu", fresh: bool = False, progress: Progress = SILENT) -> RunFolder:
    """Only train (or find the trained model) and keep it."""
    return _prepared(run, root, device, fresh, progress)[0]


def _prepared(
    run: Run, root: Path, device: str, fresh: bool, progress: Progress
) -> tuple[RunFolder, Classifier, Vocabulary]:
    """The run's folder with its trained model, trained now unless it is there."""
    where = _device(device)
    path = root / run.id
    make_folder(root)
    if fresh and path.exists():
        shutil.rmtree(path)
    folder = RunFolder.create(path, run.fields, made_with=_made_with(where))
    if folder.is_finished(MODEL) and folder.is_finished(VOCABULARY):
        model, _ = load_classifier(path / MODEL, where)
        return folder, model, load_vocabulary(path / VOCABULARY)
    source = _same_model(run, root)
    if source is not None:
        model, architecture = load_classifier(source / MODEL, where)
        vocabulary = load_vocabulary(source / VOCABULARY)
        if model.embedding.num_embeddings != len(vocabulary) or model.classes != len(run.corpus.classes):
            raise CheckpointError(f"{source}: model, vocabulary and classes do not fit together.")
        about: dict[str, Any] = {"from": source.name}
        if run.model_from is None:
            about = RunFolder(source).record["finished"][MODEL]
            about.pop("sha256")
    else:
        architecture = run.architecture
        model, vocabulary, about = _trained(run, where, progress)
    with replacing(path / TEXTS) as temporary:
        temporary.write_bytes(_training_texts(run, source))
    folder.finish(TEXTS)
    save_vocabulary(path / VOCABULARY, vocabulary)
    folder.finish(VOCABULARY, words=len(vocabulary))
    save_classifier(path / MODEL, model, architecture)
    folder.finish(MODEL, **{**about, "key": run.model_key})
    return folder, model, vocabulary


def _training_texts(run: Run, source: Path | None) -> bytes:
    """The hashes of the texts the model was trained on, as another run kept them or from the corpus itself."""
    if source is None:
        return np.unique(_hashes(run.corpus["train"])).tobytes()
    kept = source / TEXTS
    return kept.read_bytes() if kept.is_file() else b""


def _hashes(split: Split) -> np.ndarray:
    """A 64-bit hash of every text, to tell whether two splits share some."""
    texts = (" ".join(tokens) for tokens in split.table["tokens"].to_pylist())
    return np.array(
        [int.from_bytes(hashlib.blake2b(t.encode(), digest_size=8).digest(), "big") for t in texts], dtype=np.uint64
    )


def _same_model(run: Run, root: Path) -> Path | None:
    """The folder whose model this run examines: the one it was given, or another run's that trained the same."""
    if run.model_from is not None:
        return run.model_from.path
    key = run.model_key
    for other in runs_in(root):
        try:
            entry = other.record["finished"].get(MODEL, {})
        except StorageError:
            continue  # a neighbour that cannot be read is not this run's concern
        if entry.get("key") == key and other.is_finished(MODEL) and other.is_finished(VOCABULARY):
            return other.path
    return None


def _trained(run: Run, device: torch.device, progress: Progress) -> tuple[Classifier, Vocabulary, dict[str, Any]]:
    corpus = run.corpus
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
        epochs = fit(model, train_, dev, run.training, seed=run.seed, progress=progress)
    about = {
        "epochs": [epoch.to_record() for epoch in epochs],
        "best_epoch": best_epoch(epochs).number,
        "dev_score": run.training.score(model.classes),
        "vector_coverage": coverage,
    }
    return model, vocabulary, about


def _examined(run: Run) -> Split:
    """The split that is examined, or a sample of it that depends on the seed alone."""
    split = run.corpus[run.split]
    if not len(split):
        raise InputError(f"Corpus {run.corpus.name!r}: split {run.split!r} is empty, nothing to examine.")
    if run.limit and run.limit < len(split):
        rows = np.random.default_rng(run.seed).permutation(len(split))[: run.limit]
        return split.take(sorted(rows.tolist()))
    return split


def _applicable(run: Run, model: Classifier, split: Split, progress: Progress) -> dict[str, Challenge]:
    """The challenges by the name of their findings; those that do not apply are named with the reason."""
    wanted: dict[str, Challenge] = {"instances": Instances()}
    for challenge in run.challenges:
        reason = challenge.objection(model, has_rationale=split.has("rationale"))
        if reason is None:
            wanted[_file_name(challenge)] = challenge
        elif text_of(challenge) in DEFAULT:
            progress.say(f"Challenge {text_of(challenge)!r} does not apply: {reason}.")
        else:
            raise NotApplicable(f"Challenge {text_of(challenge)!r} does not apply: {reason}.")
    return wanted


def _file_name(challenge: Challenge) -> str:
    """The challenge's text as a file name; the plain name when every field has its default."""
    text = text_of(challenge)
    if text == challenge.name:
        return text
    safe = "".join(c if c.isalnum() or c in "._=-" else "-" for c in text.replace(" ", ""))
    return f"{safe.strip('-')[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"--device {name!r} is not a device. Use cpu, cuda or auto.") from error
    if device.type == "cuda" and not torch.cuda.is_available():
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
