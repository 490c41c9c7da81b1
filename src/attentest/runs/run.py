"""A run: one corpus, one model, one seed, some challenges; its id is a hash of everything that matters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from attentest.challenges.challenge import Challenge
from attentest.challenges.companions import SUBJECT, Against, Companion
from attentest.challenges.instances.examine import Instances
from attentest.data.corpus import Corpus, Split
from attentest.data.vectors import load_vectors
from attentest.data.vocabulary import Vocabulary
from attentest.errors import CheckpointError, InputError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.explainers.precomputed import Precomputed
from attentest.models.network import Network, build_network, network_class
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import Subject
from attentest.registry import text_of
from attentest.runs.questions import Usual
from attentest.runs.removal import Removal
from attentest.runs.seen_texts import seen_among
from attentest.runs.version import name_of, version_of
from attentest.store.atomic import checksum
from attentest.store.folder import RunFolder
from attentest.tasks import TASKS
from attentest.training.checkpoints import load_network, load_vocabulary, save_network
from attentest.training.loop import Training

__all__ = ["FORCED", "Run", "file_name"]

#: Whose words a translator is made to write while it is examined: the corpus's, or its own.
FORCED = ("reference", "own")
MODEL, VOCABULARY, TEXTS, COUNTS = "model.safetensors", "vocabulary.json", "training-texts.u64", "corpus.json"
#: The folder, within a run's, of a fine-tuned model as the Transformers library saves it.
CHECKPOINT = "checkpoint"
#: The code that decides what is trained, and what is found, apart from the model's own and the challenges'.
TRAINS = ("attentest.training.loop:fit", "attentest.data.vocabulary:Vocabulary")
FINDS = (
    *("attentest.runs.examination.examiner:Examiner", "attentest.runs.examination.examiner:in_order"),
    *("attentest.data.batches:bucketed", "attentest.data.vocabulary:Vocabulary"),
)
VECTORS = "attentest.data.vectors:load_vectors"
GUIDES, OPPOSES = "attentest.models.wrappers.guided:Guided", "attentest.training.adversarial:Imitation"
REMOVES = ("attentest.runs.removal:ranks_of", "attentest.runs.removal:without_top")


@dataclass(frozen=True)
class Relation:
    """What a companion's training takes from other runs' models."""

    #: Its attention weights, in training and after.
    guide: Run | None = None
    #: The predictions it imitates and the attention it keeps away from.
    opponent: Run | None = None
    against: Against | None = None
    #: The weights it begins with.
    start: Run | None = None

    def to_record(self) -> dict[str, Any]:
        """As plain values: the other models by their keys, and the code that brings them together."""
        about: dict[str, Any] = {"guide": self.guide, "opponent": self.opponent, "start": self.start}
        keys = {name: run.model_key for name, run in about.items() if run is not None}
        modules = [*([GUIDES] if self.guide else []), *([OPPOSES] if self.against else [])]
        against = {} if self.against is None else {"against": asdict(self.against)}
        return {**keys, **against, "code": version_of(*modules) if modules else ""}


@dataclass(frozen=True)
class Run:
    """Every choice of one run."""

    corpus: Corpus
    architecture: Architecture = field(default_factory=Architecture)
    training: Training = field(default_factory=Training)
    challenges: tuple[Challenge, ...] = ()
    #: What of the challenges nobody named; it decides no finding.
    usual: Usual = field(default=Usual(), compare=False)
    seed: int = 0
    #: Examine only this many instances of the split, drawn at random; 0: all.
    limit: int = 0
    #: Seconds that all of it may take: no more texts are examined than fit; 0: as long as it takes.
    time: float = 0.0
    split: str = "test"
    vectors: Path | None = None
    #: Words without a vector start from N(0, 1) (the paper) or from zeros (its code).
    missing_vectors: Literal["normal", "zero"] = "normal"
    #: A finished run whose model is examined instead of training one.
    model_from: RunFolder | None = None
    #: How texts were tokenised, kept so that a saved model meets new texts the same way.
    tokenizer: str = ""
    lowercase: bool = True
    #: Train and examine on texts without the tokens that mattered most to a first model.
    removal: Removal | None = None
    #: Which attention is examined where there are several; "": the last one before the output.
    site: str = ""
    #: What its training takes from other runs' models.
    relation: Relation | None = None
    #: Whose words a translator writes: one of FORCED.
    forced: str = FORCED[0]
    #: The corpus after the removal, once it is known.
    reduced: Corpus | None = field(default=None, compare=False)

    @property
    def texts(self) -> Corpus:
        """What is trained and examined on: the corpus, or what a removal left of it."""
        return self.corpus if self.reduced is None else self.reduced

    @property
    def examined_at(self) -> str:
        """The site by name, also the first one, where sites are heads; "" for the last attention before the output."""
        made = self._built_as
        heads = made.decoder is not None and len(made.sites) > 1
        return made.sites[0] if heads and not self.site else self.site

    @cached_property
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
                **corpus.provenance.to_record(),
                "tokenizer": self.tokenizer,
                "lowercase": self.lowercase,
                **({"candidates": True} if corpus.candidates else {}),
            },
            **self._model_fields(),
            "challenges": [text_of(challenge) for challenge in self.challenges],
            "seed": self.seed,
            "limit": self.limit,
            **({"time": self.time} if self.time else {}),
            "split": self.split,
            **({"site": self.examined_at} if self.examined_at else {}),
            **({} if self.forced == FORCED[0] else {"forced": self.forced}),
            "code": {
                "model": self._model_code(),
                "findings": {
                    text_of(challenge): code_of(challenge, self.read_by, self.subject_class) for challenge in self.asked
                },
            },
        }

    @property
    def asked(self) -> tuple[Challenge, ...]:
        """The challenges, and the instances, which are always kept."""
        given = [challenge for challenge in self.challenges if isinstance(challenge, Instances)]
        return (*(given or [Instances()]), *(c for c in self.challenges if c not in given))

    @cached_property
    def model_key(self) -> str:
        """A hash of what decides the trained model: runs that ask it other questions share it."""
        fields = self.fields
        corpus = {name: fields["corpus"][name] for name in ("digest", "classes", "task")}
        names = ("training", "removal", "relation", "seed")
        decides = {"corpus": corpus, "model": self._trained_as(), **{name: fields.get(name) for name in names}}
        return _hash({**decides, "code": fields["code"]["model"]})

    def findings_key(self, challenge: Challenge) -> str:
        """A hash of what decides one challenge's findings: runs that ask it among others share them."""
        fields = self.fields
        text = text_of(challenge)
        decides = {name: fields.get(name) for name in ("seed", "limit", "split", "site", "forced")}
        beside = [self.companion(companion).model_key for companion in challenge.companions]
        about = {"model": self.model_key, "beside": beside, "corpus": self.corpus.digest, "challenge": text}
        return _hash({**decides, **about, "code": fields["code"]["findings"][text]})

    def companion(self, companion: Companion) -> Run:
        """The run that trains a companion of this run's model, and puts no challenge to it."""
        if self.model_from is not None:
            raise NotApplicable(
                "These tests train other models like this one, and a model given with --model is taken as it is: "
                "audit without --model, with the options and the corpus it was trained with."
            )
        if self.site and (companion.guide is not None or companion.against is not None):
            raise NotApplicable(
                f"Guided and adversarial models take their part in the attention over {self.architecture.sites[0]}s, "
                f"so these challenges do not apply to that over {self.site}s: leave out --site."
            )
        parts: dict[str, Any] = {}
        if companion.encoder is not None:
            parts["encoder"] = ENCODERS.parse(companion.encoder)
        if companion.attention is not None:
            parts["attention"] = ATTENTIONS.parse(companion.attention)
        taken = Relation(
            guide=None if companion.guide is None else self.companion(companion.guide),
            opponent=None if companion.against is None else self.companion(SUBJECT),
            against=companion.against,
            start=None if companion.starts_from is None else self.companion(companion.starts_from),
        )
        if companion.encoder is not None and self.architecture.query == "conditional":
            parts["query"] = "separate"  # words alone have no last state to go on from
        return replace(
            self,
            architecture=replace(self.architecture, **parts),
            seed=self.seed + companion.seed,
            challenges=(),
            limit=0,
            time=0.0,
            site="",
            relation=self.relation if taken == Relation() else taken,
        )

    @property
    def made(self) -> str:
        """Where its model comes from, in a few words."""
        return f"of {self.model_from.path}" if self.model_from is not None else f"seed {self.seed}"

    @property
    def kind(self) -> str:
        """What its model is, by a name that tells what a token costs."""
        return self.architecture.encoder.name

    def weights(self, words: int) -> int:
        """How many weights its model has, over so many words, as far as they count."""
        return words * self.architecture.embedding

    @property
    def companions(self) -> tuple[Companion, ...]:
        """The other models that its challenges ask for, each once."""
        writes = TASKS[self.corpus.task].writes
        asked = (challenge for challenge in self.asked if not (writes and challenge.of_classifiers))
        return tuple(dict.fromkeys(companion for challenge in asked for companion in challenge.companions))

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
            **({} if self.removal is None else {"removal": {**asdict(self.removal), "code": _explained(self.removal)}}),
            **({} if self.relation is None else {"relation": self.relation.to_record()}),
        }

    def _model_code(self) -> str | None:
        """The version of the code that makes the model."""
        vectors = () if self.vectors is None else (VECTORS,)
        return None if self.model_from is not None else version_of(*TRAINS, *self.read_by, *vectors)

    @property
    def read_by(self) -> tuple[str, ...]:
        """The code of the model itself."""
        return tuple(sorted(map(name_of, {self.subject_class, *map(type, self._built_as.parts)})))

    @property
    def subject_class(self) -> type[Subject]:
        """The class of its model."""
        return network_class(self._built_as)

    @property
    def _built_as(self) -> Architecture:
        given = self.model_from
        return self.architecture if given is None else Architecture.from_record(given.record["fields"]["model"])

    def _trained_as(self) -> dict[str, Any]:
        """What of the model's fields decides its weights."""
        found: dict[str, Any] = self.fields["model"]
        return found

    def on(self, device: torch.device) -> tuple[Network, Vocabulary] | None:
        """The model that is there already, on a device, with its words; None where one is to be trained or loaded."""
        return None

    def build(self, device: torch.device, say: Callable[[str], None]) -> tuple[Network, Vocabulary, dict[str, Any]]:
        """A new model to train, its words, and what is worth keeping of how it was made."""
        corpus, size = self.texts, self.architecture.embedding
        vocabulary = Vocabulary.from_split(corpus["train"], corpus.min_frequency)
        vectors, coverage = None, None
        if self.vectors is not None:
            loaded = load_vectors(
                self.vectors, vocabulary, missing=self.missing_vectors, seed=self.seed, split=corpus["train"]
            )
            vectors = torch.from_numpy(loaded.matrix)
            coverage = {"types": loaded.types, "tokens": loaded.tokens}
            covered = f"{loaded.types:.1%} of words, {loaded.tokens or 0:.1%} of tokens covered"
            say(f"Vectors {self.vectors.name}: {covered}")
            if vectors.shape[1] != size:
                raise InputError(
                    f"{self.vectors} holds vectors of {vectors.shape[1]} numbers, the model takes {size}. "
                    f"Use --embedding {vectors.shape[1]}."
                )
        generator = torch.Generator().manual_seed(self.seed)
        model = build_network(self.architecture, len(vocabulary), self.classes(vocabulary), generator, vectors)
        return model.to(device), vocabulary, {"vector_coverage": coverage}

    def classes(self, vocabulary: Vocabulary) -> int:
        """How many classes its model tells apart: those of the corpus, or the words it may write."""
        return len(self.corpus.classes) if vocabulary.target is None else len(vocabulary.target)

    def load(self, folder: Path, device: torch.device) -> tuple[Network, Vocabulary]:
        """The trained model that a run's folder holds, and its words."""
        return load_network(folder / MODEL, device)[0], load_vocabulary(folder / VOCABULARY)

    def save(self, folder: Path, model: Network) -> tuple[str, ...]:
        """Keep the trained model in a run's folder: the names of its files, MODEL the last."""
        save_network(folder / MODEL, model, model.architecture)
        return (MODEL,)

    def seen_in_training(self) -> int:
        """How many of the texts to examine the trained model it is given was trained on."""
        path = None if self.model_from is None else self.model_from.path / TEXTS
        if path is None or not path.is_file():
            return 0
        return seen_among(self.examined(), path)

    @cached_property
    def id(self) -> str:
        """The corpus's name and a hash of the fields."""
        text = json.dumps(self.fields, sort_keys=True, ensure_ascii=False)
        safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in self.corpus.name)[:40] or "data"
        return f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    def examined(self) -> Split:
        """The split that is examined, or a sample of it that depends on the seed alone."""
        split = self.texts[self.split]
        if not len(split):
            raise InputError(f"Corpus {self.corpus.name!r}: split {self.split!r} is empty, nothing to examine.")
        if self.limit and self.limit < len(split):
            return split.take(sorted(self.drawn()[: self.limit].tolist()))
        return split

    def drawn(self) -> np.ndarray:
        """All rows of the split that is examined, in the order in which a limit takes them."""
        return np.random.default_rng(self.seed).permutation(len(self.texts[self.split]))


def code_of(challenge: Challenge, model: tuple[str, ...], kind: type[Subject] | None = None) -> str:
    """The version of all that decides a challenge's findings: its code, the model's, its explainers', their scores."""
    explainers = [EXPLAINERS.parse(text) for text in challenge.explained_by]
    read = [explainer.fingerprint for explainer in explainers if isinstance(explainer, Precomputed)]
    return "+".join([version_of(*definitions_of(challenge, model, kind)), *read])


def definitions_of(challenge: Challenge, model: tuple[str, ...], kind: type[Subject] | None = None) -> tuple[str, ...]:
    """The definitions that decide a challenge's findings on a model of a kind, as ``version_of`` takes them."""
    explainers = [EXPLAINERS.parse(text) for text in challenge.explained_by]
    if kind is not None:
        explainers = [one for one in explainers if all(issubclass(kind, need) for need in one.needs)]
    return (*FINDS, *model, *sorted({name_of(type(one)) for one in (challenge, *explainers)}))


def _explained(removal: Removal) -> str:
    return version_of(*REMOVES, name_of(type(EXPLAINERS.parse(removal.explainer))))


def file_name(challenge: Challenge) -> str:
    """The challenge's text as a file name; the plain name when every field has its default."""
    text = text_of(challenge)
    if text == challenge.name:
        return text
    safe = "".join(c if c.isalnum() or c in "._=-" else "-" for c in text.replace(" ", ""))
    return f"{safe.strip('-')[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _hash(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
