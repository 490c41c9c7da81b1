"""From a question to the tokens a model reads, and what each token belongs to.

The sources stand in a user's message, and that in the model's chat template. Every token of the prompt has one role: it
is of an item (a source, or a word of one), of the question, of the frame round them (template and instructions), or it
is the first token of all, which attention uses as a sink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attentest.errors import InputError, shown
from attentest.models.huggingface.safe_loading import tokenizing
from attentest.sources.question import Question
from attentest.sources.template import Frame, frame_of

__all__ = ["FRAME", "PROMPT", "QUESTION", "SEPARATOR", "SINK", "Item", "Prompt", "Prompter"]

#: How sources and question make a message; that of ContextCite (Cohen-Wang et al. 2024).
PROMPT = "Context: {context}\n\nQuery: {query}"
#: What stands between two sources.
SEPARATOR = "\n\n"
#: Roles of tokens that belong to no item; items are numbered from 0.
FRAME, QUESTION, SINK = -1, -2, -3


@dataclass(frozen=True)
class Item:
    """What is given a score and can be taken out: a source, or a word of one, by its characters there."""

    source: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Prompt:
    """What a model reads before it answers."""

    text: str
    ids: tuple[int, ...]
    #: Of every token the number of its item, or one of the roles above.
    roles: np.ndarray
    items: tuple[Item, ...]

    def tokens_of(self, item: int) -> np.ndarray:
        """The positions of an item's tokens; of a role's, too."""
        return np.flatnonzero(self.roles == item)


@dataclass(frozen=True)
class Prompter:
    """Builds prompts for one tokenizer; ``chat=False``: the message stands by itself, without a template."""

    tokenizer: Any
    prompt: str = PROMPT
    separator: str = SEPARATOR
    chat: bool = True

    def __post_init__(self) -> None:
        for slot in ("{context}", "{query}"):
            if self.prompt.count(slot) != 1:
                raise InputError(
                    f"prompt={shown(self.prompt)} must hold {slot} once: it says where "
                    f"{'the sources stand' if slot == '{context}' else 'the question stands'}."
                )
        if self.chat and not getattr(self.tokenizer, "chat_template", None):
            raise InputError(
                "The model's tokenizer has no chat template. If it was not trained on chats, read it without one "
                "(--no-chat, chat=False); else save the template with it."
            )
        if not getattr(self.tokenizer, "is_fast", False):
            raise InputError(
                f"{type(self.tokenizer).__name__} does not say where its tokens stand in the text. Load the fast "
                "tokenizer (AutoTokenizer does), and save it again."
            )

    def items(self, question: Question, unit: str = "source") -> tuple[Item, ...]:
        """What is given scores: the sources, or the words in them (runs without white space)."""
        if unit == "source":
            return tuple(
                Item(n, text.index(text.strip()), len(text.rstrip()), text.strip())
                for n, text in enumerate(question.sources)
            )
        if unit != "word":
            raise InputError(f"unit={shown(unit)} must be 'source' or 'word'.")
        return tuple(item for n, text in enumerate(question.sources) for item in _words(n, text))

    def build(self, question: Question, items: Sequence[Item] | None = None, kept: np.ndarray | None = None) -> Prompt:
        """The prompt, with all items or with those that are kept; a source without any of its items is left out."""
        items = self.items(question) if items is None else tuple(items)
        kept = np.ones(len(items), dtype=bool) if kept is None else np.asarray(kept, dtype=bool)
        pieces: list[tuple[str, int]] = []
        for source, text in enumerate(question.sources):
            found = _pieces(text, [(n, item) for n, item in enumerate(items) if item.source == source], kept)
            if found:
                pieces += [(self.separator, FRAME)] if pieces else []
                pieces += found
        before, between, after = _cut(self.prompt)
        asked = (question.question, QUESTION)
        middle = [*pieces, (between, FRAME), asked] if self._sources_first else [asked, (between, FRAME), *pieces]
        return self._coded([(before, FRAME), *middle, (after, FRAME)], items)

    def answer(self, text: str) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """The tokens of an answer, which begins a turn of its own, and their characters."""
        with tokenizing():
            coded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return tuple(coded["input_ids"]), [(int(a), int(b)) for a, b in coded["offset_mapping"]]

    @cached_property
    def _frame(self) -> Frame:
        return frame_of(self.tokenizer)

    @property
    def _sources_first(self) -> bool:
        return self.prompt.index("{context}") < self.prompt.index("{query}")

    def _coded(self, pieces: list[tuple[str, int]], items: tuple[Item, ...]) -> Prompt:
        content = "".join(text for text, _ in pieces)
        roles = np.repeat([role for _, role in pieces], [len(text) for text, _ in pieces])
        text, start, shift = content, 0, 0
        if self.chat:
            text = self._frame.around(content)
            bare, shift = content.strip(), len(content) - len(content.lstrip())
            start = len(self._frame.before) + (0 if self._frame.bare else shift)
            roles = roles[shift : shift + len(bare)]
        with tokenizing():
            coded = self.tokenizer(text, add_special_tokens=not self.chat, return_offsets_mapping=True)
        of_character = np.full(len(text) + 1, FRAME)
        of_character[start : start + len(roles)] = roles
        # A token that begins with a space is the word's behind it: its last character says whose it is.
        ends = [max(first, last - 1) if last else len(text) for first, last in coded["offset_mapping"]]
        of_token = of_character[np.array(ends, dtype=int)]
        of_token[:1] = SINK
        return Prompt(text, tuple(coded["input_ids"]), of_token, items)


def _words(source: int, text: str) -> list[Item]:
    found, place = [], 0
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        found.append(Item(source, start, place, word))
    return found


def _pieces(text: str, items: list[tuple[int, Item]], kept: np.ndarray) -> list[tuple[str, int]]:
    """A source's text in pieces, each with its item; white space goes with the item behind it."""
    found: list[tuple[str, int]] = []
    place = 0
    for number, item in items:
        if kept[number]:
            found.append((text[place : item.end] if found else text[item.start : item.end], number))
        place = item.end
    return found


def _cut(prompt: str) -> tuple[str, str, str]:
    """What stands before, between and after the two slots."""
    first, second = sorted(("{context}", "{query}"), key=prompt.index)
    before, rest = prompt.split(first)
    between, after = rest.split(second)
    return before, between, after
