"""Models of runs, loaded when they are asked, a few kept; one question at a time is put to them."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from attentest.challenges.challenge import Challenge
from attentest.data.batches import Batch, Encoded
from attentest.data.candidates import with_candidates
from attentest.data.corpus import Split
from attentest.data.sentences import split_with_sentences
from attentest.data.steps import stepped
from attentest.devices import reproducibly
from attentest.errors import InputError, NotApplicable
from attentest.explorer.data.files import Kept, RunFiles
from attentest.models.capabilities import Generates
from attentest.models.subject import Reading, Subject
from attentest.runs.examination.examine import examiner_of
from attentest.runs.examination.examiner import Texts
from attentest.runs.examination.own_translations import own_translations
from attentest.runs.loaded import Loaded, load_for

__all__ = ["Models", "Put", "Text"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Text:
    """A text to put to a model."""

    id: str
    tokens: tuple[str, ...]
    second: tuple[str, ...] | None = None
    label: int = 0
    #: How many tokens each sentence has, where that is known.
    sentences: tuple[int, ...] | None = None
    #: What is to be written; None: what the model writes by itself.
    target: tuple[str, ...] | None = None

    @classmethod
    def typed(cls, tokens: tuple[str, ...], second: tuple[str, ...] | None = None) -> Text:
        """A text that is in no corpus: its random numbers are its own, as those of any other."""
        return cls(hashlib.sha256("\0".join(tokens).encode()).hexdigest(), tokens, second)


@dataclass(frozen=True)
class Put:
    """A text that was put to a model at one of its sites; steps of writing are rows of its batch."""

    loaded: Loaded
    subject: Subject
    text: Text
    split: Split
    encoded: Encoded
    seed: int
    meaning: str

    @property
    def writes(self) -> bool:
        """Whether the model writes."""
        return isinstance(self.loaded.model, Generates)

    @cached_property
    def batch(self) -> Batch:
        """The text alone."""
        return self.encoded.batch(np.arange(1))

    @cached_property
    def reading(self) -> Reading:
        """What the model says of it."""
        with torch.no_grad():
            return self.subject.read(self.batch)

    def asked(self, challenges: Mapping[str, Challenge]) -> dict[str, pa.Table]:
        """What challenges find of it, by their own code, as in an audit."""
        lost = {}
        for name, challenge in challenges.items():
            if (reason := challenge.objection(self.subject, has_rationale=False)) is not None:
                lost[name] = NotApplicable(f"{name} does not apply to this model: {reason}.")
        vocabulary = self.loaded.vocabulary
        there = {name: one for name, one in challenges.items() if name not in lost}
        examiner = examiner_of(
            self.subject,
            stepped(self.split, vocabulary) if self.writes else self.split,
            self.encoded,
            there,
            seed=self.seed,
            meaning=self.meaning,
            written=Texts(self.split, vocabulary) if self.writes else None,
        )
        found = dict(examiner.examined(self.batch, list(there)).tables)
        if failed := lost | examiner.failed:
            raise next(iter(failed.values()))
        return {
            name: table.take(pa.array(np.argsort(table["row"].to_numpy(), kind="stable")))
            for name, table in found.items()
        }


class Models:
    """The models of runs that were named; of checkpoints only those that the user named."""

    def __init__(self, checkpoints: tuple[Path, ...] = ()) -> None:
        self._checkpoints = tuple(path.resolve() for path in checkpoints)
        self._loaded, self._put = Kept(3), Kept(12)
        #: Held while a model computes.
        self.lock = threading.RLock()

    def cut(self, run: RunFiles, text: str, second: str | None) -> tuple[Text, str]:
        """A typed text in tokens, as the run's own were cut, and how that was."""
        from attentest.data.files.new_texts import cut_like

        corpus = run.fields["corpus"]
        made = [cut_like([each], corpus, None) for each in (text, *([] if second is None else [second]))]
        if not all(one.tokens[0] for one in made):
            raise InputError("The text is empty: there is no word to read. Give a text with words in it.")
        tokens = [tuple(one.tokens[0]) for one in made]
        how = f"{made[0].how}; {made[0].warning}" if made[0].warning else made[0].how
        return Text.typed(tokens[0], tokens[1] if len(tokens) > 1 else None), how

    def put(self, run: RunFiles, text: Text, site: str = "") -> Put:
        """The text put to the run's model, at the site that was examined or another."""
        site = site or str(run.fields.get("site") or "")
        return self._put.get((run.id, run.stamp, text, site), lambda: self._putting(run, text, site))

    def _putting(self, run: RunFiles, text: Text, site: str) -> Put:
        with self.lock, reproducibly():
            loaded = self._load(run, text)
            if loaded.pair != (text.second is not None) and not isinstance(loaded.model, Generates):
                needed = "pairs of texts: give a second one" if loaded.pair else "one text: leave the second out"
                raise InputError(f"This run's model reads {needed}.")
            split = self._split(loaded, text)
            fields = run.fields
            return Put(
                loaded,
                loaded.model.at(site),
                text,
                split,
                Encoded.of(split, loaded.vocabulary),
                int(fields.get("seed") or 0),
                str(fields.get("corpus", {}).get("rationale") or ""),
            )

    def _load(self, run: RunFiles, text: Text) -> Loaded:
        model = run.fields["model"]
        if "embedding" in model:
            return self._loaded.get((run.id, run.stamp), lambda: Loaded.of(run.folder))
        source = str(run.folder.path)
        if "fine_tuned" not in model:
            source = self._named(run)
        # A checkpoint is read over the words that it is asked about.
        seconds = None if text.second is None else [" ".join(text.second)]
        found = load_for([" ".join(text.tokens)], seconds, source, run.folder.path.parent, "whitespace")
        unknown = [token for token in text.tokens if token not in found.vocabulary.index]
        if unknown:
            raise InputError(f"The token {unknown[0][:40]!r} cannot be put to this checkpoint: it holds a space.")
        return found

    def _named(self, run: RunFiles) -> str:
        """The checkpoint that a run audited, where the user named it."""
        source = str(run.fields.get("training", {}).get("from", ""))
        if source and Path(source).resolve() in self._checkpoints:
            return source
        raise NotApplicable(
            f"{run.id} audited a model that was given, and kept none. To ask it, start the explorer with "
            f"--model {source or 'FOLDER'}."
        )

    @staticmethod
    def _split(loaded: Loaded, text: Text) -> Split:
        beside: dict[str, Any] = {}
        writes = isinstance(loaded.model, Generates)
        if text.second is not None and not writes:
            beside["second"] = [list(text.second)]
        if text.sentences is not None:
            beside["sentences"] = [list(text.sentences)]
        if writes:
            beside["target"] = [list(text.target or ())]
        split = Split.of([text.id], [list(text.tokens)], [text.label], **beside)
        if loaded.is_hierarchical:
            split, _ = split_with_sentences(split)
        if loaded.fields["corpus"].get("candidates"):
            split = with_candidates(split, loaded.classes)
        if writes and text.target is None:
            split = own_translations(loaded.model, split, loaded.vocabulary)
        return split
