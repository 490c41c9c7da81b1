"""A run that trains its model from nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, final

import torch

from attentest.challenges.companions import SUBJECT, Against, Companion
from attentest.data.batches import Encoded
from attentest.data.steps import stepped
from attentest.data.vectors import load_vectors
from attentest.data.vocabulary import Vocabulary
from attentest.devices import reproducibly
from attentest.errors import InputError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.models.architecture import Architecture
from attentest.models.network import Network, build_network, network_class
from attentest.models.networks.selecting import Selecting
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.wrappers.guided import Guided
from attentest.progress import Progress
from attentest.registry import text_of
from attentest.runs.model import found_or_trained, model_of, train, trained_by
from attentest.runs.removal import Removal, ranks_of, without_top
from attentest.runs.run import MODEL, VOCABULARY, ModelRecord, Run, Size
from attentest.runs.version import name_of, version_of
from attentest.store.atomic import checksum
from attentest.store.folder import RunFolder
from attentest.training.adversarial import Imitation, Recorded
from attentest.training.checkpoints import load_network, load_vocabulary, save_network
from attentest.training.frozen import frozen_embeddings
from attentest.training.loop import Training, task_objective
from attentest.training.selection import Selection
from attentest.training.terms import Term
from attentest.training.terms.objective import WithTerms

__all__ = ["Relation", "TrainedRun", "network_definitions", "site_name", "term_definitions", "terms_record"]

#: The code that decides what is trained, apart from the model's own.
TRAINS = ("attentest.training.loop:fit", "attentest.data.vocabulary:Vocabulary")
VECTORS = "attentest.data.vectors:load_vectors"
GUIDES, OPPOSES = "attentest.models.wrappers.guided:Guided", "attentest.training.adversarial:Imitation"
FREEZES, ADDS = "attentest.training.frozen:frozen_embeddings", "attentest.training.terms.objective:WithTerms"
SELECTS = "attentest.training.selection:Selection"
REMOVES = ("attentest.runs.removal:ranks_of", "attentest.runs.removal:without_top")


@dataclass(frozen=True)
class Relation:
    """What a companion's training takes from other runs' models."""

    #: Its attention weights, in training and after.
    guide: TrainedRun | None = None
    #: The predictions it imitates and the attention it keeps away from.
    opponent: TrainedRun | None = None
    against: Against | None = None
    #: The weights it begins with.
    start: TrainedRun | None = None

    def to_record(self) -> dict[str, Any]:
        """As plain values: the other models by their keys, and the code that brings them together."""
        about: dict[str, Any] = {"guide": self.guide, "opponent": self.opponent, "start": self.start}
        keys = {name: run.model_key for name, run in about.items() if run is not None}
        modules = [*([GUIDES] if self.guide else []), *([OPPOSES] if self.against else [])]
        against = {} if self.against is None else {"against": asdict(self.against)}
        return {**keys, **against, "code": version_of(*modules) if modules else ""}


@final
@dataclass(frozen=True, kw_only=True)
class TrainedRun(Run):
    """A run whose model is a network of these parts, trained on the corpus."""

    architecture: Architecture = field(default_factory=Architecture)
    training: Training = field(default_factory=Training)
    vectors: Path | None = None
    #: Words without a vector start from N(0, 1) (the paper) or from zeros (its code).
    missing_vectors: Literal["normal", "zero"] = "normal"
    #: What training asks of the model beside its task.
    terms: tuple[Term, ...] = ()
    #: The table of word embeddings is not trained; some terms ask for that too.
    frozen_embeddings: bool = False
    #: Train and examine on texts without the tokens that mattered most to a first model.
    removal: Removal | None = None
    #: What its training takes from other runs' models.
    relation: Relation | None = None

    def __post_init__(self) -> None:
        if self.removal is not None and self.architecture.decoder is not None:
            raise InputError(f"Removal is for classifiers, and {self.corpus.name!r} has texts to write: leave it out.")
        if self.architecture.decoder is not None and self.frozen_embeddings:
            chosen = "frozen_embeddings (--frozen-embeddings)"
            raise InputError(f"{self.corpus.name!r} has texts to write: {chosen} is for classifiers. Leave it out.")
        guided = next((c for c in self.challenges if any(other.guide for other in c.companions)), None)
        if self.removal is not None and guided is not None:
            raise InputError(
                f"Challenge {guided.name!r} compares with a guided model, which reads whole texts: it cannot follow "
                "a removal. Leave out one of them."
            )

    @cached_property
    def model_record(self) -> ModelRecord:
        """Its parts and vectors, its training, and the other models that have a part in it."""
        definitions, removal, relation = network_definitions(self.architecture), self.removal, self.relation
        fields = {
            "model": self.architecture.to_record() | {"vectors": self._vectors_record()},
            "training": {**asdict(self.training), **self._terms_record()},
            **({} if removal is None else {"removal": {**asdict(removal), "code": _code_of(removal)}}),
            **({} if relation is None else {"relation": relation.to_record()}),
        }
        return ModelRecord(
            fields,
            definitions,
            network_class(self.architecture),
            version_of(*TRAINS, *definitions, *(() if self.vectors is None else (VECTORS,)), *self._term_definitions()),
            f"seed {self.seed}",
            site_name(self.architecture, self.site),
        )

    @property
    def freezes(self) -> bool:
        """Whether its word embeddings are not trained."""
        return self.frozen_embeddings or any(term.freezes_embeddings for term in self.terms)

    def _terms_record(self) -> dict[str, Any]:
        """What stands in the record only where it was chosen."""
        return {**terms_record(self.terms), **({"frozen_embeddings": True} if self.freezes else {})}

    def _term_definitions(self) -> tuple[str, ...]:
        terms = set(term_definitions(self.terms))
        terms |= {SELECTS} if self.architecture.selector is not None else set()
        return tuple(sorted(terms | ({FREEZES} if self.freezes else set())))

    def _vectors_record(self) -> dict[str, str] | None:
        if self.vectors is None:
            return None
        if not self.vectors.is_file():
            raise InputError(f"No file of word vectors at {self.vectors}. Check vectors (--vectors).")
        return {"file": self.vectors.name, "sha256": checksum(self.vectors), "missing": self.missing_vectors}

    def size(self, vocabulary: Vocabulary) -> Size:
        """Of a classifier, the embedding counts; of a translator, every weight."""
        if self.architecture.decoder is None:
            return Size(self.architecture.encoder.name, len(vocabulary) * self.architecture.embedding, self.training)
        network = build_network(self.architecture, len(vocabulary), self._classes(vocabulary), torch.Generator())
        return Size("translator", sum(value.numel() for value in network.parameters()), self.training)

    def companion(self, companion: Companion) -> TrainedRun:
        """The same run but for what is named.

        Loss terms and selectors are kept by control models. An adversary has a loss of its own, and a simple model that
        is given weights is a probe of them: neither has terms or selects, and both have frozen embeddings where the
        subject has.
        """
        if self.architecture.selector is not None and companion.starts_from is not None:
            raise NotApplicable(
                "An adversary that begins with the model's own weights reads every word, and this model selects: leave "
                "out warm starts."
            )
        if self.site and (companion.guide is not None or companion.against is not None):
            raise NotApplicable(
                f"Guided and adversarial models take their part in the attention over {self.architecture.sites[0]}s, "
                f"so these challenges do not apply to that over {self.site}s: leave out site (--site)."
            )
        parts: dict[str, Any] = {}
        if companion.encoder is not None:
            parts["encoder"] = ENCODERS.parse(companion.encoder)
            if self.architecture.query == "conditional":
                parts["query"] = "separate"  # words alone have no last state to go on from
        if companion.attention is not None:
            parts["attention"] = ATTENTIONS.parse(companion.attention)
        relation = Relation(
            guide=None if companion.guide is None else self.companion(companion.guide),
            opponent=None if companion.against is None else self.companion(SUBJECT),
            against=companion.against,
            start=None if companion.starts_from is None else self.companion(companion.starts_from),
        )
        control = companion.against is None and companion.encoder is None and companion.guide is None
        if not control:
            parts["selector"] = None
        return replace(
            self,
            architecture=replace(self.architecture, **parts),
            terms=self.terms if control else (),
            frozen_embeddings=self.frozen_embeddings if control else self.freezes,
            seed=self.seed + companion.seed,
            challenges=(),
            limit=0,
            time=0.0,
            site="",
            relation=self.relation if relation == Relation() else relation,
        )

    def obtain(
        self, folder: RunFolder, device: torch.device, progress: Progress
    ) -> tuple[TrainedRun, Network, Vocabulary]:
        """Trained, or found, on the texts that its removal leaves; with the weights of its guide, where it has one."""
        run = self._without_removed(folder.path.parent, device, progress)
        model, vocabulary = found_or_trained(run, folder, device, progress)
        if self.relation is not None and self.relation.guide is not None:
            model = Guided(model, model_of(self.relation.guide, folder.path.parent, str(device), progress))
        return run, model, vocabulary

    def _without_removed(self, root: Path, device: torch.device, progress: Progress) -> TrainedRun:
        """Trains, or finds, the first model and asks its explainer."""
        if self.removal is None:
            return self
        first = replace(self, removal=None, challenges=(), time=0.0)
        folder = train(first, root, device=str(device), progress=progress)
        with folder.locked(progress.say), reproducibly():
            model, vocabulary = first.load(folder.path, device)
            ranks = ranks_of(folder, model, vocabulary, self.corpus, self.removal.explainer, progress)
        return replace(self, reduced=without_top(self.corpus, ranks, self.removal))

    def load(self, folder: Path, device: torch.device) -> tuple[Network, Vocabulary]:
        """The network that a run's folder holds, and its words."""
        return load_network(folder / MODEL, device)[0], load_vocabulary(folder / VOCABULARY)

    def save(self, folder: Path, model: Network) -> tuple[str, ...]:
        """The weights, in one file."""
        save_network(folder / MODEL, model, model.architecture)
        return (MODEL,)

    def fitted(
        self, folder: RunFolder, device: torch.device, progress: Progress
    ) -> tuple[Network, Vocabulary, dict[str, Any]]:
        """A new network, trained as its relation to other models asks."""
        corpus, relation = self.texts, self.relation or Relation()

        def other(run: TrainedRun) -> Network:
            return model_of(run, folder.path.parent, str(device), progress)

        with reproducibly():
            network, vocabulary, coverage = self._built(device, progress.say)
            select = "dev" if relation.against is None else relation.against.select
            training, choosing = (Encoded.of(corpus[name], vocabulary) for name in ("train", select))
            if relation.start is not None:
                network.load_state_dict(other(relation.start).state_dict())
            model = network if relation.guide is None else Guided(network, other(relation.guide))
            pursued: tuple[Any, ...] = ()
            if relation.against is not None and relation.opponent is not None:
                against, opponent = relation.against, other(relation.opponent)
                about = against.weight, against.divergence, against.halved
                objective, chosen = (Imitation(Recorded.of(opponent, of), *about) for of in (training, choosing))
                pursued = objective, chosen.score
            elif self.terms:
                pursued = (self._with_terms(network, training, vocabulary),)
            elif isinstance(model, Selecting):
                chosen_by = Selection(model, task_objective(model, training, self.training), self.training)
                pursued = chosen_by, chosen_by.score, chosen_by.scored
            with frozen_embeddings(network) if self.freezes else contextlib.nullcontext():
                entry = trained_by(self, model, training, choosing, folder.path, progress, *pursued)
        return network, vocabulary, {**entry, "vector_coverage": coverage}

    def _with_terms(self, network: Network, training: Encoded, vocabulary: Vocabulary) -> WithTerms:
        """The cross-entropy and the terms, over the training split; where texts are written, over their steps."""
        texts = self.texts["train"]
        rows = texts if vocabulary.target is None else stepped(texts, vocabulary)
        added = tuple(term.over(rows, network.device) for term in self.terms)
        return WithTerms(task_objective(network, training, self.training), network, added)

    def _built(
        self, device: torch.device, say: Callable[[str], None]
    ) -> tuple[Network, Vocabulary, dict[str, Any] | None]:
        """A new network, the words of the training split, and how many of them have a vector."""
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
                    f"Use embedding (--embedding) {vectors.shape[1]}."
                )
        generator = torch.Generator().manual_seed(self.seed)
        network = build_network(self.architecture, len(vocabulary), self._classes(vocabulary), generator, vectors)
        return network.to(device), vocabulary, coverage

    def _classes(self, vocabulary: Vocabulary) -> int:
        """How many classes it tells apart: those of the corpus, or the words it may write."""
        return len(self.corpus.classes) if vocabulary.target is None else len(vocabulary.target)


def terms_record(terms: Sequence[Term]) -> dict[str, Any]:
    """What stands of loss terms in the record of a training: nothing where there are none."""
    return {"terms": [text_of(term) for term in terms]} if terms else {}


def term_definitions(terms: Sequence[Term]) -> tuple[str, ...]:
    """The code of loss terms."""
    return (ADDS, *(name_of(type(term)) for term in terms)) if terms else ()


def network_definitions(architecture: Architecture) -> tuple[str, ...]:
    """The code of a network of this architecture."""
    return tuple(sorted(map(name_of, {network_class(architecture), *map(type, architecture.parts)})))


def site_name(architecture: Architecture, site: str) -> str:
    """The site by name, also the first one, where sites are heads; "" for the last attention before the output."""
    heads = architecture.decoder is not None and len(architecture.sites) > 1
    return architecture.sites[0] if heads and not site else site


def _code_of(removal: Removal) -> str:
    return version_of(*REMOVES, name_of(type(EXPLAINERS.parse(removal.explainer))))
