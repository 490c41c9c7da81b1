"""A run that fine-tunes a checkpoint of the Transformers library, with a new head, and then examines it."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast, final

import torch

from attentest.challenges.companions import Companion
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.devices import reproducibly
from attentest.errors import AttentestError, InputError, NotApplicable
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.checkpoint import load_checkpoint, quietly
from attentest.models.huggingface.places import Places
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.safe_loading import NO_CODE, library
from attentest.models.huggingface.site import parse_site, site_names
from attentest.models.huggingface.texts import cut_short
from attentest.models.network import Network
from attentest.progress import SILENT, Progress
from attentest.runs.model import found_or_trained, link, train, trained_by
from attentest.runs.run import CHECKPOINT, MODEL, TEXTS, VOCABULARY, ModelRecord, Run, Size
from attentest.runs.trained import term_definitions, terms_record
from attentest.runs.version import version_of
from attentest.store.atomic import write_text
from attentest.store.folder import RunFolder
from attentest.tasks import TASKS
from attentest.training.checkpoints import load_vocabulary
from attentest.training.fine_tuning import FINE_TUNING, new_head, save_checkpoint, words_of
from attentest.training.loop import Training, task_objective
from attentest.training.terms import Term
from attentest.training.terms.objective import WithTerms

__all__ = ["FineTunedRun", "Start", "fine_tune", "finished_before"]

#: What was done stands in this file of a folder that fine-tuning made.
RECORD = "fine-tuning.json"
#: The code that decides what fine-tuning makes, apart from the model's own.
FINE_TUNES = (
    *("attentest.training.fine_tuning:new_head", "attentest.training.fine_tuning:words_of"),
    "attentest.training.loop:fit",
)
READ_BY = ("attentest.models.huggingface.building:build_pretrained",)


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


@final
@dataclass(frozen=True, kw_only=True)
class FineTunedRun(Run):
    """A run whose model is a checkpoint with a new head, all of it trained on the corpus."""

    start: Start
    training: Training = FINE_TUNING
    #: What training asks of the model beside its task.
    terms: tuple[Term, ...] = ()

    @cached_property
    def model_record(self) -> ModelRecord:
        """The checkpoint it begins with, where it is examined (which decides no weight), and its training."""
        start, sites = self.start, site_names(self.start.places)
        seen = {"attention": self.site or sites[0], "row": str(parse_site(self.site, start.places, start.rows).rows)}
        model = {"encoder": start.encoder, **seen, "fine_tuned": start.folder.name, "sha256": start.sha256}
        return ModelRecord(
            {"model": model, "training": {**asdict(self.training), **terms_record(self.terms)}},
            READ_BY,
            Pretrained,
            version_of(*FINE_TUNES, *READ_BY, *term_definitions(self.terms)),
            f"fine-tuned from {start.folder}, seed {self.seed}",
            self.site,
            weights={"fine_tuned": start.sha256},
        )

    def size(self, vocabulary: Vocabulary) -> Size:
        """All weights of the checkpoint, however many words are read."""
        return Size("checkpoint", self.start.weights, self.training)

    def companion(self, companion: Companion) -> FineTunedRun:
        """The same fine-tuning with another seed; there are no others."""
        if companion != Companion(seed=companion.seed):
            raise NotApplicable(
                f"{companion}: a checkpoint is fine-tuned as it is, and no other model is made of its parts. Of the "
                "tests that train other models, seed_variance alone applies to it."
            )
        return replace(self, seed=self.seed + companion.seed, challenges=(), limit=0, time=0.0, site="")

    def obtain(
        self, folder: RunFolder, device: torch.device, progress: Progress
    ) -> tuple[FineTunedRun, Network, Vocabulary]:
        """Fine-tuned, or found."""
        return self, *found_or_trained(self, folder, device, progress)

    def load(self, folder: Path, device: torch.device) -> tuple[Network, Vocabulary]:
        """The checkpoint that a run's folder holds, over the words kept with it."""
        vocabulary = load_vocabulary(folder / VOCABULARY)
        model, tokenizer = load_checkpoint(folder / CHECKPOINT)
        with quietly():
            pair = TASKS[self.corpus.task].pairs
            return build_pretrained(model.to(device), tokenizer, vocabulary, pair=pair), vocabulary

    def save(self, folder: Path, model: Network) -> tuple[str, ...]:
        """As a checkpoint; the file of its weights is the run's MODEL too, one file by two names."""
        with quietly():
            tokenizer = library().AutoTokenizer.from_pretrained(self.start.folder, local_files_only=True, **NO_CODE)
        kept = folder / CHECKPOINT
        save_checkpoint(cast("Pretrained", model), tokenizer, kept)
        link(kept / MODEL, folder / MODEL)
        return (*sorted(f"{CHECKPOINT}/{path.name}" for path in kept.iterdir()), MODEL)

    def fitted(
        self, folder: RunFolder, device: torch.device, progress: Progress
    ) -> tuple[Network, Vocabulary, dict[str, Any]]:
        """The checkpoint with a new head, fine-tuned, over the words of all splits."""
        corpus, vocabulary = self.corpus, words_of(self.corpus)
        with reproducibly():
            subject = new_head(self.start.folder, corpus, vocabulary, seed=self.seed, device=device)
            if cut := cut_short(subject, corpus[self.split], vocabulary):
                progress.say(cut)
            train, dev = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev"))
            pursued = None
            if self.terms:
                added = tuple(term.over(corpus["train"], device) for term in self.terms)
                pursued = WithTerms(task_objective(subject, train, self.training), subject, added)
            entry = trained_by(self, subject, train, dev, folder.path, progress, pursued)
        return subject, vocabulary, {**entry, **({"cut_short": cut} if cut else {})}


def fine_tune(run: FineTunedRun, to: str | Path, *, device: str = "cpu", progress: Progress = SILENT) -> dict[str, Any]:
    """Fine-tune a checkpoint and leave its best epoch on dev in ``to``, as a checkpoint; the record of how it went.

    This is a run without challenges, of which only the checkpoint stays. On a GPU the layers compute in bfloat16, as
    autocast chooses; weights stay in single precision. What was killed resumes after its last epoch that was kept; what
    is finished in ``to`` is not trained again.
    """
    folder = Path(to)
    unfinished = folder.with_name(f"{folder.name}.training")
    about: dict[str, Any] = {
        "from": str(run.start.folder),
        "sha256": run.start.sha256,
        "corpus": {"name": run.corpus.name, "digest": run.corpus.digest},
        "training": asdict(run.training),
        "seed": run.seed,
    }
    if (before := finished_before(folder)) is not None:
        if any(before.get(name) != value for name, value in about.items()):
            raise _taken(folder)
        progress.say(f"{folder} is the outcome of just this fine-tuning: nothing is trained again.")
        shutil.rmtree(unfinished, ignore_errors=True)
        return before
    try:
        trained = train(replace(run, challenges=()), unfinished, device=device, progress=progress)
    except AttentestError:
        shutil.rmtree(unfinished, ignore_errors=True)  # it would end the same way again
        raise
    entry, checkpoint = trained.record["finished"][MODEL], trained.path / CHECKPOINT
    about |= {"best_epoch": entry["best_epoch"], "epochs": entry["epochs"]}
    shutil.copyfile(trained.verify(TEXTS), checkpoint / TEXTS)
    write_text(checkpoint / RECORD, json.dumps(about, indent=1) + "\n")
    checkpoint.replace(folder)
    shutil.rmtree(unfinished, ignore_errors=True)
    return about


def finished_before(folder: Path) -> dict[str, Any] | None:
    """What a folder records of the fine-tuning that made it; None where there is no folder, or an empty one."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_bytes())
        record["epochs"][record["best_epoch"] - 1]["number"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise _taken(folder) from error
    return record


def _taken(folder: Path) -> InputError:
    return InputError(f"{folder} is there already: name a new folder for the fine-tuned model.")
