"""A run of a model that is there already: a Transformers checkpoint, or a model in the hands of a Python program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast, final

import numpy as np
import torch

from attentest.challenges.companions import Companion
from attentest.data.batches import Encoded
from attentest.data.corpus import Corpus, Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import CheckpointError, InputError, NotApplicable
from attentest.models.architecture import Architecture
from attentest.models.custom.own_model import OwnModel, self_tested
from attentest.models.huggingface.building import build_pretrained, framed_pieces
from attentest.models.huggingface.checkpoint import class_names, find_checkpoint, fingerprint, quietly
from attentest.models.huggingface.pieces import MOST, Pieces
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.progress import Progress
from attentest.runs.applicable import applicable, has_marks
from attentest.runs.existing_texts import corpus_for, refuse_no_texts
from attentest.runs.model import copy_model, holds_model
from attentest.runs.questions import Put, Questions
from attentest.runs.run import CHECKPOINT, MODEL, TEXTS, VOCABULARY, ModelRecord, Run, Size, examined_of
from attentest.runs.trained import network_definitions, site_name
from attentest.runs.version import version_of
from attentest.store.atomic import checksum
from attentest.store.folder import RunFolder
from attentest.tasks import TASKS
from attentest.training.checkpoints import load_network, load_vocabulary
from attentest.training.fine_tuning import refuse_long_texts

__all__ = [
    "SUITED",
    "GivenRun",
    "cut_short",
    "describe_checkpoint",
    "describe_model",
    "describe_subject",
    "described",
    "names_of",
]

_METHODS = ("attention", "gradient", "gradient_norm", "gradient_x_input", "occlusion", "leave_one_out")
_ERASED = ("attention", "gradient_norm", "gradient_x_input", "leave_one_out")
#: What an audit of such a model puts in the place of the challenges of this name: no rules of lrp are known for it, and
#: every erased text is read anew, so fewer orders are tried.
SUITED: Mapping[str, str] = {
    "adversary": "adversary(steps=100)",
    "rationale": f"rationale(explainers={_METHODS!r})",
    "faithfulness": f"faithfulness(explainers={_ERASED!r}, bins=(0.1, 0.2, 0.5), flip_bins=(), draws=1, candidates=1)",
    "certificates": f"certificates(explainers={_METHODS!r})",
}

UNTRAINED = (
    "other models like this one would have to be trained, and a model that is given is taken as it is. To train them, "
    "audit without --model."
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
        path = folder.path / MODEL
        if not path.is_file():
            raise CheckpointError(f"{folder.path} has no {MODEL}: its training did not finish.")
        network, _ = load_network(path, torch.device("cpu"))
        vocabulary = load_vocabulary(folder.path / VOCABULARY)
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


def describe_checkpoint(
    model: str | Path,
    *,
    label_words: Mapping[str, str] | Sequence[str] | None = None,
    **choices: Any,
) -> GivenRun:
    """The run that audits a checkpoint of the Transformers library; everything is checked before any work begins."""
    refuse_no_texts(choices.get("corpus"), choices.get("data"), model)
    found = find_checkpoint(model, language=label_words is not None)
    names = tuple(map(str, label_words)) if label_words else class_names(found.made, found.config)
    asked = _asked_of(names, found.config, found.tokenizer, label_words=label_words, **choices)
    return _described(asked, found.model(), str(model))


def describe_model(
    model: Any,
    own_tokenizer: Any,
    *,
    source: str = "",
    label_words: Mapping[str, str] | Sequence[str] | None = None,
    **choices: Any,
) -> GivenRun:
    """The run that audits a Transformers model in memory, on a corpus or on files (see ``corpus_for``)."""
    names = names_of(model, {"label_words": label_words})
    asked = _asked_of(names, model.config, lambda: own_tokenizer, label_words=label_words, **choices)
    return _described(asked, model, source or type(model).__name__)


@dataclass(frozen=True)
class _Asked:
    """What a Transformers model is asked, all of it checked that can be without its weights."""

    corpus: Corpus
    #: The choices of its run.
    choices: Mapping[str, Any]
    split: Split
    vocabulary: Vocabulary
    tokenizer: Any
    pieces: Pieces
    answers: list[str] | None
    prompt: str


def _asked_of(
    names: tuple[str, ...],
    config: Any,
    own_tokenizer: Callable[[], Any],
    *,
    corpus: str | Corpus | None = None,
    classes: Sequence[str] | None = None,
    label_words: Mapping[str, str] | Sequence[str] | None = None,
    prompt: str = "{text}",
    site: str = "",
    challenges: Sequence[str] | Questions | None = None,
    seed: int = 0,
    limit: int = 0,
    **data: Any,
) -> _Asked:
    """The texts and questions for a model with these classes and this configuration."""
    answers = list(label_words.values() if isinstance(label_words, Mapping) else label_words) if label_words else None
    loaded = corpus_for(corpus, names, classes, **data)
    split = examined_of(loaded, "test", seed, limit)
    put = _put_alone(challenges)
    chosen = {"challenges": put.challenges, "usual": put.usual, "seed": seed, "limit": limit, "site": site}
    vocabulary, tokenizer = Vocabulary.from_split(split), own_tokenizer()
    pieces = framed_pieces(tokenizer, vocabulary, pair=TASKS[loaded.task].pairs, prompt=prompt)
    refuse_long_texts(config, tokenizer, pieces, split, vocabulary)
    return _Asked(loaded, chosen, split, vocabulary, tokenizer, pieces, answers, prompt)


def _described(asked: _Asked, model: Any, source: str) -> GivenRun:
    """The run that asks a model what was prepared for it."""
    site, pair = asked.choices["site"], TASKS[asked.corpus.task].pairs
    spoken: dict[str, Any] = {"answers": asked.answers, "prompt": asked.prompt}
    with quietly():
        subject = build_pretrained(
            model, asked.tokenizer, asked.vocabulary, pair=pair, pieces=asked.pieces, site=site, **spoken
        )
    cut = cut_short(subject, asked.split, asked.vocabulary)
    about = {
        "encoder": described(subject),
        "attention": site or subject.sites[0],
        "row": str(subject.at(site).site.rows),
        "sha256": fingerprint(model),
        **({} if asked.answers is None else spoken),
        **({"cut_short": cut} if cut else {}),
    }
    given: dict[str, Any] = {"subject": subject, "vocabulary": asked.vocabulary, "about": about, "source": source}
    return _all_apply(GivenRun(asked.corpus, **asked.choices, **given))


def describe_subject(
    subject: Subject,
    *,
    corpus: str | Corpus | None = None,
    classes: Sequence[str] | None = None,
    site: str = "",
    challenges: Sequence[str] | Questions | None = None,
    seed: int = 0,
    limit: int = 0,
    source: str = "",
    **data: Any,
) -> GivenRun:
    """The run that audits a subject made from a model of one's own."""
    put = _put_alone(challenges)
    numbered = tuple(map(str, range(subject.classes)))
    loaded = corpus_for(corpus, tuple(classes or numbered), classes, **data)
    if len(loaded.classes) != subject.classes:
        raise InputError(
            f"The data has {len(loaded.classes)} classes ({', '.join(loaded.classes)}), and the model "
            f"{subject.classes}."
        )
    if TASKS[loaded.task].pairs:
        raise NotApplicable(f"{loaded.name!r} has pairs of texts, and a model of your own reads one text here.")
    split = examined_of(loaded, "test", seed, limit)
    vocabulary = Vocabulary.from_split(split)
    if isinstance(subject, OwnModel):
        subject = self_tested(subject.over(vocabulary), Encoded.of(split, vocabulary))
    subject.at(site)
    module = subject if isinstance(subject, torch.nn.Module) else None
    inner = getattr(subject, "module", None)
    made = type(subject if inner is None else inner).__name__
    about = {
        "encoder": made,
        "attention": site or subject.sites[0],
        **({} if module is None else {"sha256": fingerprint(module)}),
    }
    return _all_apply(
        GivenRun(
            loaded,
            challenges=put.challenges,
            usual=put.usual,
            seed=seed,
            limit=limit,
            site=site,
            subject=subject,
            vocabulary=vocabulary,
            about=about,
            source=source or made,
        )
    )


def described(subject: Pretrained) -> str:
    """The model's class and size in a few words."""
    kinds = [
        (kind or "attention", [p for p in subject.places.places if p.kind == kind]) for kind in subject.places.kinds
    ]
    sizes = "; ".join(f"{kind} in {len(places)} layers of {places[0].heads} heads" for kind, places in kinds)
    return f"{type(subject.model).__name__} ({sizes})"


def cut_short(subject: Pretrained, split: Split, vocabulary: Vocabulary) -> str:
    """How many texts have words of more pieces than are read, in words; "" where none has."""
    encoded = Encoded.of(split, vocabulary)
    is_cut = np.isin(np.arange(len(vocabulary)), subject.pieces.cut)
    concerned = np.zeros(len(split), dtype=bool)
    for values, offsets in (text for text in (encoded.text, encoded.second) if text is not None):
        total = np.concatenate([[0], np.cumsum(is_cut[values])])
        concerned |= total[offsets[1:]] > total[offsets[:-1]]
    cut = int(concerned.sum())
    return f"{cut} texts have words of more than {MOST} pieces, read by the first {MOST}" if cut else ""


def names_of(model: Any, choices: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that the model has for its classes, or that were chosen for them."""
    if choices.get("label_words"):
        return tuple(map(str, choices["label_words"]))
    if choices.get("classes"):
        return tuple(choices["classes"])
    if model.get_output_embeddings() is not None:
        raise InputError(
            f"{type(model).__name__} is a language model: say by which words it names the classes, as "
            "label_words={'negative': 'bad', 'positive': 'good'}."
        )
    return class_names(type(model).__name__, model.config)


def _put_alone(challenges: Sequence[str] | Questions | None) -> Put:
    """The challenges as they are put to such a model, none of which may ask for other models."""
    put = Questions.of(challenges).put(SUITED)
    if asking := next((challenge for challenge in put.challenges if challenge.companions), None):
        raise NotApplicable(f"Challenge {asking.name!r}: {UNTRAINED}")
    return put


def _all_apply(run: GivenRun) -> GivenRun:
    """The run, if what was named for it applies; refused before any work begins otherwise."""
    applicable(run.asked, run.usual, run.subject.at(run.site), has_rationale=has_marks(run))
    return run
