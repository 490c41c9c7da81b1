"""A run of a model that is there already: a Transformers checkpoint, or a model in the hands of a Python program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast, final

import torch

from attentest.challenges.companions import Companion
from attentest.data.corpus import Corpus
from attentest.data.vocabulary import Vocabulary
from attentest.errors import CheckpointError, NotApplicable
from attentest.models.architecture import Architecture
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.progress import Progress
from attentest.runs.model import copy_model, holds_model
from attentest.runs.run import CHECKPOINT, MODEL, TEXTS, VOCABULARY, ModelRecord, Run, Size
from attentest.runs.trained import network_definitions, site_name
from attentest.runs.version import version_of
from attentest.store.atomic import checksum
from attentest.store.folder import RunFolder
from attentest.training.checkpoints import load_network, load_vocabulary

__all__ = ["UNTRAINED", "GivenRun"]

UNTRAINED = (
    "other models like this one would have to be trained, and a model that is given is taken as it is. To train them, "
    "audit without a model (--model)."
)

#: The code that reads a given model, of whatever kind.
READ_BY = (
    "attentest.models.huggingface.building",
    "attentest.models.custom.own_model",
    "attentest.models.custom.own_module",
)


@final
@dataclass(frozen=True, kw_only=True)
class GivenRun(Run):
    """A run whose model is given, not trained: a checkpoint, a model in memory, or that of a finished run."""

    subject: Subject = field(compare=False)
    vocabulary: Vocabulary = field(compare=False)
    #: What the model is, for the record: at least an ``encoder``, an ``attention`` and a hash of its weights.
    about: Mapping[str, Any]
    #: Where it comes from.
    source: str
    #: The finished run that trained it; its model is kept with this one too.
    finished: RunFolder | None = field(default=None, compare=False)

    @classmethod
    def of_run(cls, folder: RunFolder, corpus: Corpus, **choices: Any) -> GivenRun:
        """The run that examines the model of a finished one."""
        if MODEL not in folder.record["finished"]:
            raise CheckpointError(f"{folder.path} has no {MODEL}: its training did not finish.")
        path = folder.verify(MODEL)
        network, _ = load_network(path, torch.device("cpu"))
        vocabulary = load_vocabulary(folder.verify(VOCABULARY))
        count = len(corpus.classes) if vocabulary.target is None else len(vocabulary.target)
        if network.words != len(vocabulary) or network.classes != count:
            raise CheckpointError(f"{folder.path}: model, vocabulary and classes do not fit together.")
        about = {**folder.record["fields"]["model"], "sha256": checksum(path)}
        given: dict[str, Any] = {"subject": network, "vocabulary": vocabulary, "about": about, "finished": folder}
        return cls(corpus, source=str(folder.path), **given, **choices)

    @cached_property
    def model_record(self) -> ModelRecord:
        """What it is, where it comes from, and the code that reads it; none makes it."""
        folder, kind, origin = Path(self.source), type(self.subject), f"of {self.source}"
        texts = (folder / TEXTS, *([folder.parent / TEXTS] if folder.name == CHECKPOINT else []))
        if self.finished is None:
            fields = {"model": dict(self.about), "training": {"from": self.source}}
            return ModelRecord(fields, READ_BY, kind, version_of(*READ_BY), origin, self.site, texts=texts)
        built = Architecture.from_record(self.about)
        fields = {"model": dict(self.about), "training": {"from": self.finished.path.name}}
        site = site_name(built, self.site)
        return ModelRecord(fields, network_definitions(built), kind, None, origin, site, texts=texts)

    def size(self, vocabulary: Vocabulary) -> Size:
        """All its weights."""
        module = self.subject if isinstance(self.subject, torch.nn.Module) else torch.nn.Module()
        return Size("checkpoint", sum(value.numel() for value in module.parameters()), None)

    def companion(self, companion: Companion) -> GivenRun:
        """There is none: how the model was trained is not known, or not repeated."""
        raise NotApplicable(f"{companion}: {UNTRAINED}")

    def obtain(
        self, folder: RunFolder, device: torch.device, progress: Progress
    ) -> tuple[GivenRun, Network, Vocabulary]:
        """As it was given; the model of a finished run is copied, so that this one can be explained alone."""
        if self.finished is not None and not holds_model(folder, progress.say):
            copy_model(self.finished, folder, **{"from": self.finished.path.name, "key": self.model_key})
        if isinstance(self.subject, torch.nn.Module):
            self.subject.to(device).eval()
        return self, cast("Network", self.subject), self.vocabulary
