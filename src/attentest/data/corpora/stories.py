"""Generated stories with a question each, whose supporting sentences are known exactly: nothing to download."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from attentest.data.corpora.story_world import PLACES, Event, Question, Tokens, questions, tell
from attentest.data.corpus import Split
from attentest.data.generated import Generated
from attentest.tasks import TaskName

__all__ = ["Stories", "Stories1", "Stories2", "Stories3"]


@dataclass(frozen=True)
class Stories(Generated):
    """Stories, each with one question about it; the rationale is the sentences that give the answer."""

    task: ClassVar[TaskName] = "answer"
    classes: ClassVar[tuple[str, ...]] = PLACES
    preparation: ClassVar[str] = "lower case, punctuation as tokens; one question a story, answers equally frequent"
    #: The number of supporting facts, and the fewest and most sentences of a story.
    facts: ClassVar[int]
    sentences: ClassVar[tuple[int, int]]

    train: int = 4000
    dev: int = 500
    test: int = 1000
    seed: int = 11

    def _split(self, name: str, size: int, stream: int, seen: set[Tokens]) -> Split:
        random = Random(9 * self.seed + 3 * (self.facts - 1) + stream)
        made: list[tuple[list[Event], Question]] = []
        wanted: list[str] = []
        while len(made) < size:
            wanted = wanted or [place for _, place in sorted((random.random(), place) for place in PLACES)]
            story, question = self._one(random, wanted[-1])
            key = (*(token for event in story for token in event.tokens), *question.tokens)
            if key not in seen:
                seen.add(key)
                made.append((story, question))
                wanted.pop()
        return Split.of(
            [f"{self.name}-{self.seed}-{name}-{i}" for i in range(size)],
            [[token for event in story for token in event.tokens] for story, _ in made],
            [PLACES.index(question.answer) for _, question in made],
            second=[question.tokens for _, question in made],
            rationale=[
                [i in question.facts for i, event in enumerate(story) for _ in event.tokens] for story, question in made
            ],
        )

    def _one(self, random: Random, answer: str) -> tuple[list[Event], Question]:
        """A story and a question with that answer."""
        fewest, most = self.sentences
        while True:
            story = tell(random, fewest + int(random.random() * (most - fewest + 1)))
            fitting = [question for question in questions(story, self.facts) if question.answer == answer]
            if fitting:
                return story, fitting[int(random.random() * len(fitting))]


@dataclass(frozen=True)
class Stories1(Stories):
    """Where is a person: one supporting fact.

    Generated on the spot, so nothing is downloaded. People walk between places, and one question asks where one of
    them is; the six places are the classes. The one sentence that gives the answer is marked. Like bAbI's first
    task.
    """

    name: ClassVar[str] = "stories-1"
    summary: ClassVar[str] = "generated stories: where is a person? One supporting fact; no download"
    facts: ClassVar[int] = 1
    sentences: ClassVar[tuple[int, int]] = (3, 10)


@dataclass(frozen=True)
class Stories2(Stories):
    """Where is an object: two supporting facts.

    As `stories-1`, but people also take and lay down objects, and the question is where an object is: two sentences
    decide.
    """

    name: ClassVar[str] = "stories-2"
    summary: ClassVar[str] = "generated stories: where is an object? Two supporting facts; no download"
    facts: ClassVar[int] = 2
    sentences: ClassVar[tuple[int, int]] = (5, 16)


@dataclass(frozen=True)
class Stories3(Stories):
    """Where was an object before it was somewhere: three supporting facts.

    As `stories-2`, with longer stories, and the question is where an object was before: three sentences decide.
    """

    name: ClassVar[str] = "stories-3"
    summary: ClassVar[str] = "generated stories: where was an object before? Three supporting facts; no download"
    facts: ClassVar[int] = 3
    sentences: ClassVar[tuple[int, int]] = (8, 24)
