"""A run: one corpus, one model, one seed, some challenges; its id is a hash of everything that matters."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attentest.challenges.challenge import Challenge
from attentest.challenges.companions import Companion
from attentest.challenges.instances.examine import Instances
from attentest.data.corpus import Corpus, Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.precomputed import Precomputed
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.progress import Progress
from attentest.registry import text_of
from attentest.runs.questions import Usual
from attentest.runs.version import name_of, version_of
from attentest.store.folder import RunFolder, verified
from attentest.store.seen_texts import seen_among
from attentest.tasks import TASKS
from attentest.training.loop import Training

__all__ = ["FORCED", "ModelRecord", "Run", "Size", "examined_of", "file_name", "with_instances"]

#: Whose words a translator is made to write while it is examined: the corpus's, or its own.
FORCED = ("reference", "own")
MODEL, VOCABULARY, TEXTS, COUNTS = "model.safetensors", "vocabulary.json", "training-texts.u64", "corpus.json"
#: The folder, within a run's, of a fine-tuned model as the Transformers library saves it.
CHECKPOINT = "checkpoint"
#: The code that decides what is found, apart from the model's own and the challenges'.
FINDS = (
    *("attentest.runs.examination.examiner:Examiner", "attentest.runs.examination.examiner:in_order"),
    *("attentest.data.batches:bucketed", "attentest.data.vocabulary:Vocabulary"),
)


@dataclass(frozen=True)
class Size:
    """What of a run's model tells how long it takes."""

    #: A name that tells what a token costs.
    kind: str
    #: How many weights, as far as they count.
    weights: int
    #: How it is trained; None where it is given.
    training: Training | None


@dataclass(frozen=True)
class ModelRecord:
    """What a run's record, its id and a reader are told of its model."""

    #: For the record: ``model``, ``training``, and what else made it.
    fields: Mapping[str, Any]
    #: Its own code, as ``version_of`` takes it, and its class.
    definitions: tuple[str, ...]
    subject_class: type[Subject]
    #: The version of the code that makes it; None where none does.
    code: str | None
    #: Where it comes from, in a few words.
    origin: str
    #: The site by name, also the first one, where sites are heads; "" for the last attention before the output.
    site: str
    #: What decides its weights, where that is not all of ``model``.
    weights: Mapping[str, Any] | None = None
    #: Where hashes of the texts that it was trained on elsewhere may lie.
    texts: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Run(ABC):
    """The choices of a run, whatever its model: trained here, fine-tuned here, or given."""

    corpus: Corpus
    _: KW_ONLY
    challenges: tuple[Challenge, ...] = ()
    #: What of the challenges nobody named; it decides no finding.
    usual: Usual = field(default=Usual(), compare=False)
    seed: int = 0
    #: Examine only this many instances of the split, drawn at random; 0: all.
    limit: int = 0
    #: Seconds that all of it may take: no more texts are examined than fit; 0: as long as it takes.
    time: float = 0.0
    split: str = "test"
    #: How texts were tokenised, kept so that a saved model meets new texts the same way.
    tokenizer: str = ""
    lowercase: bool = True
    #: Which attention is examined where there are several; "": the last one before the output.
    site: str = ""
    #: Whose words a translator writes: one of FORCED.
    forced: str = FORCED[0]
    #: The corpus without the tokens that a removal takes, once these are known.
    reduced: Corpus | None = field(default=None, compare=False)

    @property
    @abstractmethod
    def model_record(self) -> ModelRecord:
        """What the model is."""

    @abstractmethod
    def size(self, vocabulary: Vocabulary) -> Size:
        """How large the model is, over these words."""

    @abstractmethod
    def companion(self, companion: Companion) -> Run:
        """The run that trains a companion of this run's model, and puts no challenge to it."""

    @abstractmethod
    def obtain(self, folder: RunFolder, device: torch.device, progress: Progress) -> tuple[Run, Network, Vocabulary]:
        """The model on a device, and its words: trained, found where it was trained before, or given.

        With the run, which knows by then what texts it is about.
        """

    @property
    def texts(self) -> Corpus:
        """What is trained and examined on: the corpus, or what a removal left of it."""
        return self.corpus if self.reduced is None else self.reduced

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Everything that decides the findings, as plain values."""
        corpus, model = self.corpus, self.model_record
        return {
            "corpus": {
                "name": corpus.name,
                "digest": corpus.digest,
                "classes": list(corpus.classes),
                "sizes": {name: len(split) for name, split in corpus.splits.items()},
                "task": corpus.task,
                **corpus.provenance.to_record(),
                "tokenizer": self.tokenizer,
                "lowercase": self.lowercase,
                **({"candidates": True} if corpus.candidates else {}),
            },
            **model.fields,
            "challenges": [text_of(challenge) for challenge in self.challenges],
            "seed": self.seed,
            "limit": self.limit,
            **({"time": self.time} if self.time else {}),
            "split": self.split,
            **({"site": model.site} if model.site else {}),
            **({} if self.forced == FORCED[0] else {"forced": self.forced}),
            "code": {
                "model": model.code,
                "findings": {
                    text_of(challenge): code_of(challenge, model.definitions, model.subject_class)
                    for challenge in self.asked
                },
            },
        }

    @cached_property
    def id(self) -> str:
        """The corpus's name and a hash of the fields."""
        text = json.dumps(self.fields, sort_keys=True, ensure_ascii=False)
        safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in self.corpus.name)[:40] or "data"
        return f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    @property
    def asked(self) -> tuple[Challenge, ...]:
        """The challenges, and the instances, which are always kept."""
        return with_instances(self.challenges)

    @property
    def companions(self) -> tuple[Companion, ...]:
        """The other models that its challenges ask for, each once."""
        writes = TASKS[self.corpus.task].writes
        asked = (challenge for challenge in self.asked if not (writes and challenge.of_classifiers))
        return tuple(dict.fromkeys(companion for challenge in asked for companion in challenge.companions))

    @cached_property
    def model_key(self) -> str:
        """A hash of what decides the trained model: runs that ask it other questions share it."""
        fields = self.fields
        corpus = {name: fields["corpus"][name] for name in ("digest", "classes", "task")}
        names = ("training", "removal", "relation", "seed")
        weights = self.model_record.weights or fields["model"]
        decides = {"corpus": corpus, "model": weights, **{name: fields.get(name) for name in names}}
        return _hash({**decides, "code": fields["code"]["model"]})

    def findings_key(self, challenge: Challenge) -> str:
        """A hash of what decides one challenge's findings: runs that ask it among others share them."""
        fields = self.fields
        text = text_of(challenge)
        decides = {name: fields.get(name) for name in ("seed", "limit", "split", "site", "forced")}
        beside = [self.companion(companion).model_key for companion in challenge.companions]
        about = {"model": self.model_key, "beside": beside, "corpus": self.corpus.digest, "challenge": text}
        return _hash({**decides, **about, "code": fields["code"]["findings"][text]})

    def examined(self) -> Split:
        """The split that is examined, or a sample of it that depends on the seed alone."""
        return examined_of(self.texts, self.split, self.seed, self.limit)

    def seen_in_training(self) -> int:
        """How many of the texts to examine a given model was trained on, as far as that was kept."""
        path = next((path for path in self.model_record.texts if path.is_file()), None)
        return 0 if path is None else seen_among(self.examined(), verified(path))

    def drawn(self) -> np.ndarray:
        """All rows of the split that is examined, in the order in which a limit takes them."""
        return _drawn(self.texts[self.split], self.seed)


def examined_of(corpus: Corpus, name: str, seed: int, limit: int) -> Split:
    """So many texts of a split, drawn by the seed; all of them where the limit is 0."""
    split = corpus[name]
    if not len(split):
        raise InputError(f"Corpus {corpus.name!r}: split {name!r} is empty, nothing to examine.")
    if limit and limit < len(split):
        return split.take(sorted(_drawn(split, seed)[:limit].tolist()))
    return split


def _drawn(split: Split, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(len(split))


def with_instances(challenges: Sequence[Challenge]) -> tuple[Challenge, ...]:
    """The challenges, after the instances, which are always kept."""
    named = [challenge for challenge in challenges if isinstance(challenge, Instances)]
    return (*(named or [Instances()]), *(challenge for challenge in challenges if challenge not in named))


def code_of(challenge: Challenge, model: tuple[str, ...], kind: type[Subject]) -> str:
    """The version of all that decides a challenge's findings: its code, the model's, its explainers', their scores."""
    definitions, scores = definitions_of(challenge, model, kind)
    return "+".join([version_of(*definitions), *scores])


def definitions_of(challenge: Challenge, model: tuple[str, ...], kind: type[Subject]) -> tuple[tuple[str, ...], ...]:
    """The definitions that decide a challenge's findings on a model of a kind, and hashes of the scores it reads."""
    explainers = [EXPLAINERS.parse(text) for text in challenge.explained_by]
    used = [explainer for explainer in explainers if all(issubclass(kind, need) for need in explainer.needs)]
    scores = tuple(explainer.fingerprint for explainer in explainers if isinstance(explainer, Precomputed))
    return (*FINDS, *model, *sorted({name_of(type(one)) for one in (challenge, *used)})), scores


def file_name(challenge: Challenge) -> str:
    """The challenge's text as a file name; the plain name when every field has its default."""
    text = text_of(challenge)
    if text == challenge.name:
        return text
    safe = "".join(c if c.isalnum() or c in "._=-" else "-" for c in text.replace(" ", ""))
    return f"{safe.strip('-')[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _hash(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
