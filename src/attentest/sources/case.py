"""One question before one model: its prompt, the answer that is explained, and what it says without some sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from attentest.errors import InputError, shown
from attentest.sources.attended import Attended, read_attention
from attentest.sources.language import Cost, LanguageModel, Prefix
from attentest.sources.prompt import Item, Prompt, Prompter
from attentest.sources.question import Question

__all__ = ["Answer", "Case", "open_case"]


@dataclass(frozen=True)
class Answer:
    """The answer's tokens, and which of them are explained."""

    ids: tuple[int, ...]
    text: str
    explained: np.ndarray

    def summed(self, log_probabilities: np.ndarray) -> np.ndarray:
        """The log-probability of what is explained: the sum over its tokens."""
        return np.asarray(log_probabilities[..., self.explained].sum(-1))


@dataclass(eq=False)
class Case:
    """A question with all that was computed for it; what was asked once is not computed again."""

    model: LanguageModel
    prompter: Prompter
    question: Question
    prompt: Prompt
    answer: Answer
    #: Sources of other questions, to be put in the place of this one's.
    others: Sequence[str] = ()
    _known: dict[bytes, tuple[float, Cost]] = field(default_factory=dict)

    @property
    def items(self) -> tuple[Item, ...]:
        """What is given a score."""
        return self.prompt.items

    @cached_property
    def attended(self) -> Attended:
        """What the answer attends to; read in the one pass over the whole prompt."""
        return read_attention(self.model, self.prompt, self.answer.ids, self.answer.explained)

    @property
    def prefix(self) -> Prefix:
        """The prompt's keys and values, all but those of its last token, whose output is the answer's first."""
        return self.attended.prefix

    @property
    def whole(self) -> float:
        """The log-probability of what is explained, with all items."""
        return float(self.answer.summed(self.attended.log_probabilities))

    def log_probability(self, kept: np.ndarray) -> np.ndarray:
        """The answer's log-probability with some items left out, for every row of ``kept`` [ablation, item]."""
        keys = [row.tobytes() for row in np.ascontiguousarray(kept, dtype=bool)]
        new = {key: row for key, row in zip(keys, kept, strict=True) if key not in self._known}
        if new:
            prompts = [self.prompter.build(self.question, self.items, row).ids for row in new.values()]
            found, spent = self.of_prompts(prompts)
            for key, value in zip(new, found, strict=True):
                self._known[key] = float(value), spent
        return np.array([self._known[key][0] for key in keys])

    @property
    def ablations(self) -> tuple[np.ndarray, np.ndarray]:
        """All that was left out so far, and the log-probability: [ablation, item], [ablation]."""
        kept = np.array([np.frombuffer(key, dtype=bool) for key in self._known]).reshape(-1, len(self.items))
        return kept, np.array([value for value, _ in self._known.values()])

    def spent_on(self, kept: np.ndarray) -> Cost:
        """What these ablations cost, each once."""
        keys = {row.tobytes() for row in np.ascontiguousarray(kept, dtype=bool)}
        each = [self._known[key][1] for key in keys if key in self._known]
        return Cost(len(each), sum(cost.tokens for cost in each), sum(cost.seconds for cost in each))

    def of_prompts(self, prompts: Sequence[Sequence[int]]) -> tuple[np.ndarray, Cost]:
        """The answer's log-probability behind other prompts, and what one of them cost on average."""
        prefix, before = self.prefix, (self.model.cost.tokens, self.model.cost.seconds)
        found = self.model.log_probabilities(prompts, self.answer.ids, prefix=prefix)
        tokens, seconds = self.model.cost.tokens - before[0], self.model.cost.seconds - before[1]
        each = Cost(1, round(tokens / len(prompts)), seconds / len(prompts))
        return self.answer.summed(found.numpy()), each

    def exchanged(self, others: Mapping[int, str]) -> Prompt:
        """The prompt with other texts in the place of some sources."""
        return self.prompter.build(self.question.exchanged(others))


def open_case(
    model: LanguageModel, prompter: Prompter, question: Question, *, unit: str = "source", longest: int = 32
) -> Case:
    """The question before the model, which answers it where no answer is given."""
    prompt = prompter.build(question, prompter.items(question, unit))
    where = f"Question {shown(question.id or question.question, 60)}"
    model.check_length(len(prompt.ids) + 1, where)
    if question.answer is None:
        ids = model.generate(prompt.ids, longest)
        text, explained = prompter.tokenizer.decode(ids), np.ones(len(ids), dtype=bool)
    else:
        ids, places = prompter.answer(question.answer)
        text, explained = question.answer, np.ones(len(ids), dtype=bool)
        if question.span:
            start = question.answer.index(question.span)
            explained = np.array([a < start + len(question.span) and b > start for a, b in places])
    if not ids:
        raise InputError(f"{where}: the model's answer is empty. Give an answer (column 'answer').")
    model.check_length(len(prompt.ids) + len(ids), where)
    return Case(model, prompter, question, prompt, Answer(tuple(ids), text, explained))
