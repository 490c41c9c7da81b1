"""A run that fine-tunes a checkpoint of the Transformers library, with a new head, and then examines it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import torch

from attentest.challenges.challenge import Challenge
from attentest.challenges.companions import Companion
from attentest.data.catalog.location import data_folder
from attentest.data.corpus import Corpus
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.checkpoint import load_checkpoint, quietly
from attentest.models.huggingface.places import Places
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.safe_loading import NO_CODE, library
from attentest.models.huggingface.site import parse_site, site_names
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.runs.applicable import applicable, has_marks
from attentest.runs.existing import SUITED, cut_short, described
from attentest.runs.questions import Questions, Usual
from attentest.runs.run import CHECKPOINT, MODEL, VOCABULARY, Run
from attentest.runs.version import version_of
from attentest.store.atomic import checksum, replacing
from attentest.tasks import TASKS
from attentest.training.checkpoints import load_vocabulary
from attentest.training.fine_tuning import FINE_TUNING, new_head, refuse_writing, save_checkpoint, words_of

__all__ = ["FineTunedRun", "Start", "checkpoint_folder", "describe_fine_tuned"]

#: The files of a checkpoint that decide what it computes: weights, configuration, words.
DECIDING = (".safetensors", ".json", ".txt", ".model", ".spm", ".tiktoken")


@dataclass(frozen=True)
class Start:
    """The checkpoint that fine-tuning begins with."""

    folder: Path
    sha256: str
    #: Its class, with a head, and its size in words.
    encoder: str
    places: Places
    #: The rows that its output depends on.
    rows: str
    #: How many weights it has.
    weights: int


@dataclass(frozen=True)
class FineTunedRun(Run):
    """A run whose model is a checkpoint with a new head, all of it trained."""

    start: Start = field(kw_only=True)

    @property
    def sites(self) -> tuple[str, ...]:
        """Where its model attends; the last attention first."""
        return site_names(self.start.places)

    @property
    def examined_at(self) -> str:
        """The site by name, where it is not the last attention before the output."""
        return self.site

    @property
    def made(self) -> str:
        """Where its model comes from."""
        return f"fine-tuned from {self.start.folder}, seed {self.seed}"

    @property
    def kind(self) -> str:
        """A checkpoint, whatever its class."""
        return "checkpoint"

    def weights(self, words: int) -> int:
        """All of the checkpoint's, however many words are read."""
        return self.start.weights

    def _model_code(self) -> str:
        return version_of("attentest.training.fine_tuning:fine_tune", *self.read_by)

    @property
    def read_by(self) -> tuple[str, ...]:
        """The code that reads the model."""
        return ("attentest.models.huggingface.building:build_pretrained",)

    @property
    def subject_class(self) -> type[Subject]:
        """A checkpoint's."""
        return Pretrained

    def _model_fields(self) -> dict[str, Any]:
        start = self.start
        site = parse_site(self.site, start.places, start.rows)
        seen = {"attention": self.site or self.sites[0], "row": str(site.rows)}
        about = {"encoder": start.encoder, **seen, "fine_tuned": start.folder.name, "sha256": start.sha256}
        return {"model": about, "training": asdict(self.training)}

    def _trained_as(self) -> dict[str, Any]:
        """The weights that it begins with: where it is examined, and what they are called, decides nothing."""
        return {"fine_tuned": self.start.sha256}

    def companion(self, companion: Companion) -> Run:
        """The same fine-tuning with another seed; there are no others."""
        if companion != Companion(seed=companion.seed):
            raise NotApplicable(
                f"{companion}: a checkpoint is fine-tuned as it is, and no other model is made of its parts. Of the "
                "tests that train other models, seed_variance alone applies to it."
            )
        return replace(self, seed=self.seed + companion.seed, challenges=(), limit=0, time=0.0, site="")

    def build(self, device: torch.device, say: Callable[[str], None]) -> tuple[Network, Vocabulary, dict[str, Any]]:
        """The checkpoint with a new head, and the words of all splits."""
        vocabulary = words_of(self.corpus)
        subject, _ = new_head(self.start.folder, self.corpus, vocabulary, seed=self.seed, device=device)
        cut = cut_short(subject, self.corpus[self.split], vocabulary)
        if cut:
            say(cut)
        return subject, vocabulary, {"cut_short": cut} if cut else {}

    def load(self, folder: Path, device: torch.device) -> tuple[Network, Vocabulary]:
        """The checkpoint that a run's folder holds, over the words kept with it."""
        vocabulary = load_vocabulary(folder / VOCABULARY)
        model, tokenizer = load_checkpoint(folder / CHECKPOINT)
        with quietly():
            pair = TASKS[self.corpus.task].pairs
            return build_pretrained(model.to(device), tokenizer, vocabulary, pair=pair), vocabulary

    def save(self, folder: Path, model: Network) -> tuple[str, ...]:
        """Keep it as a checkpoint; the file of its weights is the run's MODEL too, one file by two names."""
        with quietly():
            tokenizer = library().AutoTokenizer.from_pretrained(self.start.folder, local_files_only=True, **NO_CODE)
        kept = folder / CHECKPOINT
        save_checkpoint(cast("Pretrained", model), tokenizer, kept)
        with replacing(folder / MODEL) as temporary:
            try:
                os.link(kept / MODEL, temporary)
            except OSError:  # a file system without links
                shutil.copyfile(kept / MODEL, temporary)
        return (*sorted(f"{CHECKPOINT}/{path.name}" for path in kept.iterdir()), MODEL)


def describe_fine_tuned(
    start: str | Path,
    corpus: Corpus,
    *,
    questions: Questions,
    training: Mapping[str, Any],
    site: str = "",
    **choices: Any,
) -> FineTunedRun:
    """The run that fine-tunes a checkpoint on a corpus; ``training`` says in what it departs from FINE_TUNING."""
    refuse_writing(corpus)
    for name in ("train", "dev"):
        if not len(corpus[name]):
            raise InputError(f"Corpus {corpus.name!r}: split {name!r} is empty, nothing to fine-tune on.")
    folder = checkpoint_folder(start)
    words = Vocabulary.from_split(corpus["train"].take(range(min(3, len(corpus["train"])))))
    put = questions.put(SUITED)
    plain = Run(corpus, challenges=put.challenges, usual=put.usual, **choices)
    about = TASKS[corpus.task].pairs, site, plain.asked, plain.usual, has_marks(plain)
    found = _begun(folder, _digest(folder), words.words, *about)
    return FineTunedRun(
        corpus,
        training=replace(FINE_TUNING, **training),
        site="" if site == site_names(found.places)[0] else site,
        start=found,
        challenges=put.challenges,
        usual=put.usual,
        **choices,
    )


def checkpoint_folder(start: str | Path) -> Path:
    """The folder of a checkpoint; a bare name may also lie in ``models/`` of the data folder."""
    for path in (Path(start), data_folder() / "models" / start):
        if (path / "config.json").is_file():
            return path
    raise InputError(
        f"--fine-tune {start}: no checkpoint there, nor in models/ of the data folder ({data_folder()}). Give the "
        "folder that holds its config.json."
    )


def _digest(folder: Path) -> str:
    """A hash of the files that decide what a checkpoint computes, the same wherever the folder lies."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(DECIDING))
    sums = [f"{path.name} {checksum(path)}\n" for path in files]
    return hashlib.sha256("".join(sums).encode()).hexdigest()[:16]


@lru_cache(maxsize=4)
def _begun(
    folder: Path,
    digest: str,
    words: tuple[str, ...],
    pair: bool,
    site: str,
    challenges: tuple[Challenge, ...],
    usual: Usual,
    marked: bool,
) -> Start:
    """What there is to say of a checkpoint, once for all cells that begin with it; what cannot be put is refused."""
    model, tokenizer = load_checkpoint(folder, new_classes=("0", "1"))
    with quietly():
        subject = build_pretrained(model, tokenizer, Vocabulary(words), pair=pair)
    applicable(challenges, usual, subject.at(site), has_rationale=marked)
    weights = sum(value.numel() for value in model.parameters())
    return Start(folder, digest, described(subject), subject.places, subject.rows, weights)
