"""The run of a model that is there already: a Transformers checkpoint, or a model in the hands of a Python program."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attentest.data.batches import Encoded
from attentest.data.corpus import Corpus, Split
from attentest.data.marking import with_marks
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable
from attentest.models.custom.own_model import OwnModel, self_tested
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.checkpoint import class_names, find_checkpoint, fingerprint, quietly
from attentest.models.huggingface.pieces import Pieces
from attentest.models.huggingface.texts import cut_short, described, fitting_pieces
from attentest.models.subject import Subject
from attentest.runs.applicable import applicable, has_marks
from attentest.runs.describe.texts import corpus_for, in_memory, refuse_no_texts
from attentest.runs.describe.trained import FILES
from attentest.runs.given import UNTRAINED, GivenRun
from attentest.runs.options import GIVEN, OWN, Options
from attentest.runs.questions import OF_CHECKPOINTS, SUITED, Questions
from attentest.runs.run import examined_of
from attentest.tasks import TASKS

__all__ = ["describe_checkpoint", "describe_in_memory"]

#: So many texts tell one model of a Python program from another.
BEHAVIOUR = 32


def describe_checkpoint(options: Options) -> GivenRun:
    """The run that audits a checkpoint of the Transformers library."""
    options.refuse_idle(GIVEN)
    refuse_no_texts(options.corpus, options.data, options.model)
    words = options.label_words
    found = find_checkpoint(options.model, language=words is not None)
    names = tuple(map(str, words)) if words else class_names(found.made, found.config)
    asked = _asked_of(options, names, found.config, found.tokenizer)
    return _described(asked, found.model(), str(options.model))


def describe_in_memory(options: Options) -> GivenRun:
    """The run that audits a Transformers model, or a subject made from a model of one's own."""
    model, tokenizer = options.model, options.tokenizer
    if isinstance(model, Subject):
        options.refuse_idle(OWN)
        numbered = tuple(map(str, range(model.classes)))
        return _describe_subject(_with_corpus(options, options.classes or numbered), model, numbered)
    options.refuse_idle(GIVEN)
    if not isinstance(model, torch.nn.Module) or not hasattr(model, "set_attn_implementation"):
        raise InputError(
            f"{type(model).__name__} is neither a model of the Transformers library nor a subject: wrap it with "
            "attentest.subject_of_module or attentest.subject_of_functions (see 'Your own model' in the documentation)."
        )
    if tokenizer is None or isinstance(tokenizer, str):
        raise InputError("Give the model's own tokenizer: audit(model, tokenizer, texts, labels).")
    options = dataclasses.replace(options, tokenizer=None)
    if options.texts is not None:
        names = tuple(map(str, options.classes)) if options.classes and not options.label_words else _names_of(options)
        options = dataclasses.replace(_with_corpus(options, names), classes=names)
    asked = _asked_of(options, _names_of(options), model.config, lambda: tokenizer)
    return _described(asked, model, type(model).__name__)


def _with_corpus(options: Options, names: Sequence[str]) -> Options:
    """The options, with texts and labels as their corpus."""
    if options.texts is None or options.labels is None:
        return options
    return dataclasses.replace(options, corpus=in_memory(options.texts, options.labels, names))


def _names_of(options: Options) -> tuple[str, ...]:
    """The names that a model in memory has for its classes."""
    model = options.model
    if options.label_words:
        return tuple(map(str, options.label_words))
    if model.get_output_embeddings() is not None:
        raise InputError(
            f"{type(model).__name__} is a language model: say by which words it names the classes, as "
            "label_words={'negative': 'bad', 'positive': 'good'}."
        )
    return class_names(type(model).__name__, model.config)


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


def _asked_of(options: Options, names: tuple[str, ...], config: Any, own_tokenizer: Callable[[], Any]) -> _Asked:
    """The texts and questions for a model with these classes and this configuration."""
    words, prompt = options.label_words, "{text}" if options.prompt is None else options.prompt
    answers = list(words.values() if isinstance(words, Mapping) else words) if words else None
    loaded = with_marks(corpus_for(options.corpus, names, options.classes, **options.only(FILES)), options.mark)
    split = examined_of(loaded, "test", options.seed, options.limit or 0)
    chosen = _chosen(options, OF_CHECKPOINTS)
    vocabulary, tokenizer = Vocabulary.from_split(split), own_tokenizer()
    pair = TASKS[loaded.task].pairs
    pieces = fitting_pieces(config, tokenizer, vocabulary, split, pair=pair, prompt=prompt)
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


def _describe_subject(options: Options, subject: Subject, numbered: tuple[str, ...]) -> GivenRun:
    """The run that audits a subject made from a model of one's own."""
    chosen = _chosen(options, SUITED)
    names = tuple(options.classes or numbered)
    loaded = with_marks(corpus_for(options.corpus, names, options.classes, **options.only(FILES)), options.mark)
    if len(loaded.classes) != subject.classes:
        raise InputError(
            f"The data has {len(loaded.classes)} classes ({', '.join(loaded.classes)}), and the model "
            f"{subject.classes}."
        )
    if TASKS[loaded.task].pairs:
        raise NotApplicable(f"{loaded.name!r} has pairs of texts, and a model of your own reads one text here.")
    split = examined_of(loaded, "test", options.seed, options.limit or 0)
    vocabulary = Vocabulary.from_split(split)
    encoded = Encoded.of(split, vocabulary)
    if isinstance(subject, OwnModel):
        subject = self_tested(subject.over(vocabulary), encoded)
    behaviour = _behaviour(subject.at(options.site), encoded)
    module = subject if isinstance(subject, torch.nn.Module) else None
    inner = getattr(subject, "module", None)
    made = type(subject if inner is None else inner).__name__
    about = {
        "encoder": made,
        "attention": options.site or subject.sites[0],
        **({} if module is None else {"sha256": fingerprint(module)}),
        "behaviour": behaviour,
    }
    given: dict[str, Any] = {"subject": subject, "vocabulary": vocabulary, "about": about, "source": made}
    return _all_apply(GivenRun(loaded, **chosen, **given))


@torch.no_grad()
def _behaviour(subject: Subject, encoded: Encoded) -> str:
    """A hash of what a subject says of some texts, and where it looks: weights do not tell two functions apart."""
    total = hashlib.sha256()
    for row in np.unique(np.linspace(0, len(encoded) - 1, BEHAVIOUR).astype(np.int64)):
        reading = subject.read(encoded.batch(np.array([row])).to(subject.device))
        for values in (reading.logits, reading.weights):
            total.update((values.double().cpu().round(decimals=6) + 0.0).numpy().tobytes())
    return total.hexdigest()[:16]


def _chosen(options: Options, suited: Mapping[str, str]) -> dict[str, Any]:
    """What is put to such a model, and where; no challenge may ask for other models."""
    put = Questions.of(options).put(suited)
    if asking := next((challenge for challenge in put.challenges if challenge.companions), None):
        raise NotApplicable(f"Challenge {asking.name!r}: {UNTRAINED}")
    asked = {"challenges": put.challenges, "usual": put.usual}
    return {**asked, "seed": options.seed, "limit": options.limit or 0, "site": options.site}


def _all_apply(run: GivenRun) -> GivenRun:
    """The run, if what was named for it applies; refused before any work begins otherwise."""
    applicable(run.asked, run.usual, run.subject.at(run.site), has_rationale=has_marks(run))
    return run
