"""A model that is there, with all that is needed to put new texts to it: a run's, or a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from attentest.data.corpus import Split
from attentest.data.files.new_texts import Cut, cut_like
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable, UnknownName
from attentest.models.capabilities import CutsWords
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.checkpoint import class_names, find_checkpoint, is_checkpoint, quietly
from attentest.models.huggingface.texts import cut_short, described, fitting_pieces
from attentest.models.network import Network
from attentest.models.subject import Subject
from attentest.runs.model import verify_checkpoint, verify_given
from attentest.runs.run import MODEL, VOCABULARY
from attentest.store.folder import RunFolder, find_run
from attentest.tasks import TASKS
from attentest.training.checkpoints import load_network, load_vocabulary

__all__ = ["Loaded", "load_for"]

#: How texts for a checkpoint are cut, where no run says it: its own tokenizer knows words as they are written.
AT_SPACES = {"tokenizer": "whitespace", "lowercase": False}


@dataclass(frozen=True)
class Loaded:
    """A finished run's model and all that is needed to put a new text to it."""

    folder: RunFolder
    model: Network
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    fields: dict[str, Any]
    #: Whether it reads pairs of texts.
    pair: bool = False
    #: What there is to say of how its texts are read.
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: RunFolder) -> Loaded:
        """The model that a run trained from nothing."""
        fields = folder.record["fields"]
        if "embedding" not in fields["model"]:
            raise NotApplicable(
                f"{folder.path} audited a model that was given, and kept none: give the checkpoint itself, "
                "--model FOLDER."
            )
        model, _ = load_network(folder.verify(MODEL), torch.device("cpu"))
        vocabulary = load_vocabulary(folder.verify(VOCABULARY))
        return cls(
            folder,
            model,
            vocabulary,
            tuple(map(str, fields["corpus"]["classes"])),
            fields,
            model.architecture.pairs,
        )

    @property
    def is_checkpoint(self) -> bool:
        """Whether it cuts words into pieces, as those of the Transformers library do."""
        return isinstance(self.model, CutsWords)

    @property
    def is_hierarchical(self) -> bool:
        """Whether it reads sentences."""
        return "sentence" in self.model.sites

    @property
    def subject(self) -> Subject:
        """The model where it attends to words; of a checkpoint, at its last attention."""
        return self.model.at("word" if "word" in self.model.sites else "")

    def index_of(self, target: str | None) -> int | None:
        """The class by its name."""
        _check_target(target, self.classes)
        return None if target is None else self.classes.index(target)

    def cut(self, texts: Sequence[str], tokenizer: str | None) -> Cut:
        """The texts as tokens, as the model's own were cut."""
        return _cut(texts, self.fields, tokenizer)

    def seconds(
        self, texts: Sequence[str], given: Sequence[str] | None, tokenizer: str | None
    ) -> list[list[str]] | None:
        """The second texts as tokens, where the model reads pairs."""
        _check_seconds(self.pair, texts, given)
        return None if given is None else self.cut(given, tokenizer).tokens

    @property
    def described(self) -> str:
        """The model in a few words."""
        model = self.fields.get("model", {})
        return f"{model.get('encoder')}, {model.get('attention')} attention"


def load_for(
    texts: Sequence[str],
    seconds: Sequence[str] | None,
    model: str,
    runs: Path,
    tokenizer: str | None,
    target: str | None = None,
) -> Loaded:
    """The model of a run, or a checkpoint, that these texts are put to; a checkpoint is read over their words.

    What can be refused of texts and class without the weights is refused before they are read.
    """
    if is_checkpoint(model, runs):
        verify_given(model)
        about = {"corpus": {**AT_SPACES, "task": "single" if seconds is None else "pair"}}
        return _of_checkpoint(Path(model), model, about, texts, seconds, tokenizer, target)
    folder = find_run(model, runs)
    fields = folder.record["fields"]
    if "fine_tuned" not in fields["model"]:
        return Loaded.of(folder)
    return _of_checkpoint(folder.path, verify_checkpoint(folder), fields, texts, seconds, tokenizer, target)


def _of_checkpoint(
    path: Path,
    checkpoint: str | Path,
    fields: dict[str, Any],
    texts: Sequence[str],
    seconds: Sequence[str] | None,
    tokenizer: str | None,
    target: str | None,
) -> Loaded:
    """A checkpoint, or a run that fine-tuned one, over the words of the texts."""
    pair = TASKS[fields["corpus"]["task"]].pairs
    _check_seconds(pair, texts, seconds)
    tokens = _cut(texts, fields, tokenizer).tokens
    second = None if seconds is None else _cut(seconds, fields, tokenizer).tokens
    split = Split.of([f"text {number + 1}" for number in range(len(texts))], tokens, [0] * len(texts), second=second)
    vocabulary = Vocabulary.from_split(split)
    found = find_checkpoint(checkpoint)
    classes = class_names(found.made, found.config)
    _check_target(target, classes)
    own_tokenizer = found.tokenizer()
    pieces = fitting_pieces(found.config, own_tokenizer, vocabulary, split, pair=pair)
    with quietly():
        subject = build_pretrained(found.model(), own_tokenizer, vocabulary, pair=pair, pieces=pieces)
    short = cut_short(subject, split, vocabulary)
    # A run's own site is where it was examined: a text is explained where an audit looks by default.
    about = {**fields, "model": {"encoder": described(subject), "attention": subject.sites[0]}}
    notes = (f"Mind the words: {short}.",) if short else ()
    return Loaded(RunFolder(path), subject, vocabulary, classes, about, pair, notes)


def _check_target(target: str | None, classes: tuple[str, ...]) -> None:
    if target is not None and target not in classes:
        raise UnknownName("class of this model", target, classes)


def _check_seconds(pair: bool, texts: Sequence[str], given: Sequence[str] | None) -> None:
    """A model of pairs is given a second text for each, any other none."""
    if not pair and given is not None:
        raise InputError("This run's model reads one text, so there is no place for a second: leave it out.")
    if pair and (given is None or len(given) != len(texts)):
        raise InputError(
            f"This run's model reads pairs of texts: give a second text for each of the {len(texts)} (--second)."
        )


def _cut(texts: Sequence[str], fields: dict[str, Any], tokenizer: str | None) -> Cut:
    if not texts:
        raise InputError("There is no text to explain: give at least one.")
    cut = cut_like(texts, fields["corpus"], tokenizer)
    for number, tokens in enumerate(cut.tokens, start=1):
        if not tokens:
            which = "The text" if len(texts) == 1 else f"Text {number} of {len(texts)}"
            raise InputError(f"{which} is empty: there is no word to explain. Give a text with words in it.")
    return cut
