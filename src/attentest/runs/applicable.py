"""Which challenges apply to a model: what is usual is passed over with the reason, what was named is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import torch

from attentest.challenges.challenge import Challenge
from attentest.data.corpus import Split
from attentest.errors import InputError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.models.architecture import Architecture
from attentest.models.network import Network, build_network
from attentest.models.networks.classifier import Classifier
from attentest.models.subject import Subject
from attentest.registry import text_of
from attentest.runs.questions import Usual
from attentest.runs.run import FORCED, Run, file_name
from attentest.runs.trained import TrainedRun
from attentest.tasks import TASKS
from attentest.training.terms.term import OfReading, Term

__all__ = [
    "applicable",
    "explained",
    "has_marks",
    "refuse_lacking",
    "refuse_terms",
    "refuse_terms_of",
    "refuse_untrained",
]

#: So few words, or words to write, are enough to see what a network can do.
WORDS = 8


def applicable(
    challenges: Iterable[Challenge], usual: Usual, model: Subject, *, has_rationale: bool
) -> tuple[dict[str, Challenge], dict[str, str], dict[str, str]]:
    """The challenges that apply, by the name of their findings; those passed over, and explainers, with the reason."""
    wanted: dict[str, Challenge] = {}
    passed_over: dict[str, str] = {}
    for challenge in challenges:
        reason = challenge.objection(model, has_rationale=has_rationale)
        if reason is None:
            wanted[file_name(challenge)] = challenge
        elif challenge in usual.challenges:
            passed_over[text_of(challenge)] = reason
        else:
            raise NotApplicable(f"Challenge {challenge.name!r} does not apply: {reason}. Leave it out.")
    return wanted, passed_over, _left_out(wanted.values(), usual, model)


def explained(challenges: Mapping[str, Challenge], model: Subject) -> dict[str, Challenge]:
    """The challenges without the explainers that do not apply."""
    out = dict(challenges)
    for name, challenge in challenges.items():
        kept = tuple(e for e in challenge.explained_by if EXPLAINERS.parse(e).objection(model) is None)
        if kept != challenge.explained_by:
            own: Any = challenge
            out[name] = dataclasses.replace(own, explainers=kept)
    return out


def has_marks(run: Run) -> bool:
    """Whether the texts that a run examines mark words, or link them to the words to write."""
    if not TASKS[run.corpus.task].writes:
        return run.texts[run.split].has("rationale")
    return run.forced == FORCED[0] and run.texts[run.split].has("alignment")


def refuse_untrained(run: TrainedRun) -> None:
    """Refuse, before anything is trained, what no training would make applicable: an untrained network tells."""
    if run.challenges:
        _refuse(run.architecture, max(2, len(run.corpus.classes)), run.site, run.asked, run.usual, has_marks(run))


def refuse_terms(run: TrainedRun) -> None:
    """Refuse, before anything is trained, loss terms that the model or its texts have no place for."""
    if not run.terms:
        return
    if run.architecture.decoder is not None:
        written = build_network(run.architecture, WORDS, WORDS, torch.Generator().manual_seed(0))
        refuse_terms_of(run.terms, written)
        refuse_lacking(run.terms, run.corpus["train"])
        return
    untrained = build_network(run.architecture, WORDS, len(run.corpus.classes), torch.Generator().manual_seed(0))
    for term in run.terms:
        if run.architecture.selector is not None:
            raise InputError(
                f"Loss term {term.name!r} is for models that read every word, and selector="
                f"{text_of(run.architecture.selector)!r} selects some. Leave out one of them."
            )
        if not isinstance(untrained, Classifier):
            raise InputError(
                f"Loss term {term.name!r} is for models that attend to words, and structure="
                f"{run.architecture.structure!r} attends to sentences. Use structure flat, or leave it out."
            )
        if run.removal is not None and not isinstance(term, OfReading):
            raise InputError(
                f"Loss term {term.name!r} knows whole texts, and a removal takes words from them: leave out one."
            )
        _refuse_if(term, term.objection(untrained))
    refuse_lacking(run.terms, run.corpus["train"])


def refuse_terms_of(terms: Iterable[Term], network: Network) -> None:
    """Refuse loss terms that a model which writes, or a checkpoint, has no place for."""
    for term in terms:
        if not term.of_attention:
            raise InputError(
                f"Loss term {term.name!r} is for classifiers that are trained from nothing: of translators and "
                "checkpoints attention alone can be asked. Leave it out."
            )
        _refuse_if(term, term.objection(network))


def refuse_lacking(terms: Iterable[Term], train: Split) -> None:
    """Refuse loss terms that the texts to train on have no place for."""
    for term in terms:
        _refuse_if(term, term.lacking(train))


def _refuse_if(term: Term, reason: str | None) -> None:
    if reason is not None:
        raise InputError(f"Loss term {term.name!r} does not apply: {reason}, or leave it out.")


@lru_cache(maxsize=64)
def _refuse(
    architecture: Architecture, classes: int, site: str, challenges: tuple[Challenge, ...], usual: Usual, marked: bool
) -> None:
    count = classes if architecture.decoder is None else WORDS
    untrained = build_network(architecture, WORDS, count, torch.Generator().manual_seed(0))
    applicable(challenges, usual, untrained.at(site), has_rationale=marked)


def _left_out(challenges: Iterable[Challenge], usual: Usual, model: Subject) -> dict[str, str]:
    """The usual explainers of the challenges that do not apply, with the reason; those that were named must."""
    found: dict[str, str] = {}
    for challenge in challenges:
        for explainer in challenge.explained_by:
            if (reason := EXPLAINERS.parse(explainer).objection(model)) is None:
                continue
            if challenge not in usual.explained:
                raise NotApplicable(
                    f"Challenge {challenge.name!r}: {explainer!r} does not apply: {reason}. Leave it out."
                )
            found[explainer] = reason
    return found
