"""The run that fine-tunes a checkpoint of the Transformers library."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from attentest.challenges.challenge import Challenge
from attentest.data.catalog.location import data_folder
from attentest.data.corpus import Corpus
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.models.huggingface.building import build_pretrained, longest_allowed
from attentest.models.huggingface.checkpoint import fetched, find_checkpoint, is_checkpoint, load_checkpoint, quietly
from attentest.models.huggingface.safe_loading import DECIDING
from attentest.models.huggingface.site import site_names
from attentest.models.huggingface.texts import described, fitting_pieces
from attentest.runs.applicable import applicable, refuse_lacking, refuse_terms_of
from attentest.runs.fine_tuned import FineTunedRun, Start
from attentest.runs.options import Options
from attentest.runs.questions import OF_CHECKPOINTS, Questions, Usual
from attentest.runs.run import with_instances
from attentest.store.atomic import checksum
from attentest.tasks import TASKS
from attentest.training.fine_tuning import FINE_TUNING, refuse_writing, words_of
from attentest.training.terms import Term, terms_named

__all__ = ["checkpoint_folder", "describe_fine_tuned"]


def describe_fine_tuned(options: Options, corpus: Corpus, training: Mapping[str, Any], tokenizer: str) -> FineTunedRun:
    """The run that fine-tunes a checkpoint on a corpus; ``training`` says in what it departs from FINE_TUNING."""
    refuse_writing(corpus)
    for name in ("train", "dev"):
        if not len(corpus[name]):
            raise InputError(f"Corpus {corpus.name!r}: split {name!r} is empty, nothing to fine-tune on.")
    folder, site = checkpoint_folder(options.fine_tune or ""), options.site
    _refuse_long(folder, corpus)
    words = Vocabulary.from_split(corpus["train"].take(range(min(3, len(corpus["train"])))))
    put = Questions.of(options).put(OF_CHECKPOINTS)
    asked = with_instances(put.challenges), put.usual, corpus["test"].has("rationale")
    terms = terms_named(options.terms)
    refuse_lacking(terms, corpus["train"])
    found = _begun(folder, _digest(folder), words.words, TASKS[corpus.task].pairs, site, terms, *asked)
    return FineTunedRun(
        corpus,
        training=replace(FINE_TUNING, **training),
        terms=terms,
        site="" if site == site_names(found.places)[0] else site,
        start=found,
        challenges=put.challenges,
        usual=put.usual,
        seed=options.seed,
        limit=options.limit or 0,
        tokenizer=tokenizer,
        lowercase=options.data is None,
    )


def _refuse_long(folder: Path, corpus: Corpus) -> None:
    """Refuse texts of more words than the model takes pieces before weights are loaded; training counts the pieces."""
    found = find_checkpoint(folder, new_classes=corpus.classes)
    tokenizer = found.tokenizer()
    allowed = longest_allowed(found.config, tokenizer)
    if allowed is None or all(split.lengths.max(initial=0) <= allowed for split in corpus.splits.values()):
        return
    splits, pair = corpus.splits.values(), TASKS[corpus.task].pairs
    fitting_pieces(found.config, tokenizer, words_of(corpus), *splits, pair=pair)


def checkpoint_folder(start: str | Path, *, hub: bool = False) -> Path:
    """The folder of a checkpoint; a bare name may also lie in ``models/`` of the data folder, or on the hub."""
    for path in (Path(start), data_folder() / "models" / start):
        if (path / "config.json").is_file():
            return path
    if hub and is_checkpoint(start):
        return fetched(str(start), DECIDING)
    raise InputError(
        f"{start}: no checkpoint there, nor in models/ of the data folder ({data_folder()}). Give the "
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
    terms: tuple[Term, ...],
    challenges: tuple[Challenge, ...],
    usual: Usual,
    marked: bool,
) -> Start:
    """What there is to say of a checkpoint, once for all cells that begin with it; what cannot be put is refused."""
    model, tokenizer = load_checkpoint(folder, new_classes=("0", "1"))
    with quietly():
        subject = build_pretrained(model, tokenizer, Vocabulary(words), pair=pair)
    refuse_terms_of(terms, subject)
    applicable(challenges, usual, subject.at(site), has_rationale=marked)
    weights = sum(value.numel() for value in model.parameters())
    return Start(folder, digest, described(subject), subject.places, subject.rows, weights)
