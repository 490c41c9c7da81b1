"""The default corpus: generated reviews whose deciding words are known exactly.

A review states the writer's opinion of a thing once or twice, each time outright ("the plot was gripping") or
through a negation ("it was never dull"). Around it stand neutral remarks and, in four texts of ten, a
sentiment that does not count: somebody else's, or of something else. The rationale marks the opinion words
and their negations, nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar, TypeVar

from attentest.data.corpora import review_grammar as grammar
from attentest.data.corpora.review_grammar import Phrase
from attentest.data.corpora.review_things import THINGS, Thing, Topic
from attentest.data.corpora.review_words import NEGATIONS, OPINIONS
from attentest.data.corpus import Split
from attentest.data.generated import Generated

__all__ = ["Reviews"]

T = TypeVar("T")

SHORTEST, LONGEST = 5, 40

#: How often, before texts that are too long are left out: a second opinion, a negation (per clause),
#: a distractor, one against the label, one in a sentence of its own.
TWO_OPINIONS, NEGATION, DISTRACTOR, CONTRAST, APART = 0.45, 0.18, 0.45, 0.55, 0.3


@dataclass(frozen=True)
class Reviews(Generated):
    """Generated reviews, two classes, with the words that decide each label.

    Generated on the spot, so nothing is downloaded. Each text gives its writer's opinion of a film, a meal, a hotel
    and the like once or twice, outright ("the plot was gripping") or through a negation ("it was never dull").
    Around it stand neutral remarks and, in about four texts of ten, a sentiment that does not count: somebody
    else's, or of something else. Because the generator knows which words decide the label, they are marked, and the
    `rationale` challenge can ask whether attention finds them. The default of every audit.
    """

    name: ClassVar[str] = "reviews"
    summary: ClassVar[str] = "generated English reviews whose deciding words are known; no download"
    classes: ClassVar[tuple[str, ...]] = ("negative", "positive")
    preparation: ClassVar[str] = "lower case, punctuation and n't as tokens"
    #: The grammar has far more, but short ones would grow rare.
    most: ClassVar[int] = 100_000

    train: int = 4000
    dev: int = 600
    test: int = 1000
    seed: int = 7

    def _split(self, name: str, size: int, stream: int, seen: set[Phrase]) -> Split:
        random = Random(3 * self.seed + stream)
        texts: list[Phrase] = []
        flags: list[list[bool]] = []
        labels: list[int] = []
        while len(texts) < size:
            # Labels come in pairs of both, in either order, so every beginning of a split is balanced.
            label = 1 - labels[-1] if len(labels) % 2 else int(random.random() < 0.5)
            review = _Review(random, label)
            text = tuple(review.tokens)
            if SHORTEST <= len(text) <= LONGEST and text not in seen:
                seen.add(text)
                texts.append(text)
                flags.append(review.deciding)
                labels.append(label)
        ids = [f"reviews-{name}-{i}" for i in range(size)]
        return Split.of(ids, texts, labels, rationale=flags)


class _Review:
    """One review, written clause by clause: its tokens, and which of them decide its label."""

    def __init__(self, random: Random, label: int) -> None:
        self.tokens: list[str] = []
        self.deciding: list[bool] = []
        self._random = random
        self._label = label
        self._thing: Thing = self._pick(THINGS)
        self._name: Phrase = self._pick(self._thing.names)
        self._remarks = self._choose_remarks()
        self._used: set[object] = set()  # clauses and opinion words, lest a text repeat itself
        self._mentioned = False  # has the thing been named?
        self._in_focus = False  # would "it" be understood as the thing?
        self._contrast = self._chance(CONTRAST)
        for frame in self._plan():
            self._write_sentence(frame)
        for i, (token, following) in enumerate(zip(self.tokens, self.tokens[1:], strict=False)):
            if token == "a" and following[0] in "aeiou":
                self.tokens[i] = "an"

    # ── what is said ────────────────────────────────────────────────────────────────────────────────────────

    def _plan(self) -> list[Phrase]:
        """Sentence frames in a random order: one or two opinions, perhaps a distractor, remarks."""
        opinions = 2 if self._chance(TWO_OPINIONS) else 1
        frames = ["filler"] * len(self._remarks)
        if self._chance(DISTRACTOR):
            if self._chance(APART):
                frames.append("distractor")
            else:
                frames.append("against" if self._contrast else "with")
                opinions -= 1
        if opinions == 2 and self._chance(0.5):
            frames.append("opinions")
        else:
            frames += ["opinion"] * opinions
        return [self._pick(grammar.FRAMES[frame]) for frame in self._shuffled(frames)]

    def _choose_remarks(self) -> list[Phrase]:
        count = self._pick((0, 0, 1, 1, 1, 2, 2, 2, 3, 3))
        remarks = self._shuffled(self._thing.remarks)[:count]
        if remarks and self._chance(0.6):
            remarks[0] = self._pick(self._thing.shared)
        return self._shuffled(remarks)

    def _write_sentence(self, frame: Phrase) -> None:
        for token in frame:
            if token == "O":
                self._write_judgement(grammar.STATED, grammar.NEGATED, self._label, deciding=True)
            elif token == "D":
                label = 1 - self._label if self._contrast else self._label
                self._write_judgement(grammar.DISTRACTORS, grammar.NEGATED_DISTRACTORS, label, deciding=False)
            elif token == "F":
                remark = self._remarks.pop()
                self._write(remark)
                self._in_focus = "{it}" in remark
            else:
                self._write((token,))
        self._add("!" if "O" in frame and self._chance(0.1) else ".")

    def _write_judgement(
        self, stated: Sequence[Phrase], negated: Sequence[Phrase], label: int, *, deciding: bool
    ) -> None:
        """A sentiment of that label; a negation turns its word round."""
        turned = self._chance(NEGATION)
        clause = self._fresh(negated if turned else stated)
        self._write(clause, polarity=1 - label if turned else label, deciding=deciding, negated=turned)

    # ── how it is said ──────────────────────────────────────────────────────────────────────────────────────

    def _write(self, phrase: Phrase, *, polarity: int = 0, deciding: bool = False, negated: bool = False) -> None:
        kind, plural = self._kind(self._thing.kind, negated), False
        for token in phrase:
            slot = token[1:-1]
            if token[0] == "[":
                if slot in NEGATIONS:
                    self._add(self._pick(NEGATIONS[slot]), deciding)
                else:
                    words = OPINIONS[kind if slot == "fit" else slot]
                    self._add(self._fresh(words[polarity]), deciding)
            elif token[0] != "{":
                self._add(token)
            elif slot == "it" or (slot == "topic" and self._chance(0.5)):
                self._write_thing()
            elif slot in ("topic", "part", "near"):
                topic: Topic = self._fresh(self._thing.near if slot == "near" else self._thing.parts)
                self._write(topic.phrase)
                self._in_focus = False
                kind, plural = self._kind(topic.kind, negated), topic.plural
            elif slot == "was":
                self._add(self._pick(("were", "were", "are") if plural else ("was", "was", "is")))
            elif slot == "were":
                self._add("were" if plural else "was")
            elif slot in grammar.OPTIONAL:
                if self._chance(0.5):
                    strong = slot == "very" and kind == "strong"
                    self._write(self._pick(grammar.OPTIONAL["very-strong" if strong else slot]))
            else:
                self._write(self._alternatives(slot))

    def _alternatives(self, slot: str) -> Phrase:
        if slot == "name":
            self._mentioned = self._in_focus = True
            return self._name
        if slot in ("doing", "made"):
            return self._pick(self._thing.doing if slot == "doing" else self._thing.made)
        return self._pick(grammar.SLOTS[slot])

    def _write_thing(self) -> None:
        """The thing by its name, or "it" where that cannot be misread."""
        if self._in_focus and self._chance(0.8):
            self._add("it")
            return
        self._add("the" if self._mentioned and self._chance(0.85) else "this")
        self._write(self._name)
        self._mentioned = self._in_focus = True

    def _kind(self, kind: str, negated: bool) -> str:
        """The adjectives to use of such a topic; never "not awful", which is hardly praise."""
        return self._pick((kind, kind, "plain") if negated else (kind, kind, "plain", "strong"))

    def _add(self, token: str, deciding: bool = False) -> None:
        self.tokens.append(token)
        self.deciding.append(deciding)

    # ── chance: only Random.random(), whose stream is the same in every Python ──────────────────────────────

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, options: Sequence[T]) -> T:
        return options[int(self._random.random() * len(options))]

    def _fresh(self, options: Sequence[T]) -> T:
        """One that this text has not used yet, more often one of the first."""
        while True:
            place = self._random.random()
            option = options[int(place * (1 + place) / 2 * len(options))]
            if option not in self._used:
                break
        self._used.add(option)
        return option

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        return [items[i] for _, i in sorted((self._random.random(), i) for i in range(len(items)))]
