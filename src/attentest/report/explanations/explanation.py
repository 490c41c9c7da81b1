"""An explanation: one text, what a model makes of it, and how much each word mattered by several methods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attentest.presentation.certificates import Check, checks_of
from attentest.printing import Printer
from attentest.report.explanations.savable import Savable

if TYPE_CHECKING:
    import pandas

__all__ = ["Explanation", "Pairs", "Scored", "excerpt"]

#: The share of a method's largest score below which a word is not listed.
NOTHING = 0.01


@dataclass(frozen=True)
class Scored:
    """One method's scores of the words, and what can be said for their correctness."""

    #: The method with its parameters, as ``integrated_gradients(n_steps=100)``.
    name: str
    summary: str
    reference: str
    cost: str
    #: Whether scores below zero speak against the class; else every score is a size.
    signed: bool
    scores: tuple[float, ...]
    certificate: Mapping[str, float] = field(default_factory=dict)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The certificate in words."""
        return checks_of(self.certificate)

    @property
    def largest(self) -> float:
        """The size of the largest score; 0 where there is none."""
        return max((abs(score) for score in self.scores if math.isfinite(score)), default=0.0)

    def shade(self, place: int) -> float:
        """The word's score as a share of the largest, from −1 to 1; 0 where it is not a number."""
        score = self.scores[place]
        return score / self.largest if math.isfinite(score) and self.largest else 0.0

    def top(self, count: int) -> dict[str, list[int]]:
        """The places of the highest scores, the largest first: for and against the class, or of all."""
        lists = {"for": 1, "against": -1} if self.signed else {"most": 1}
        sizes = {name: [sign * self.shade(place) for place in range(len(self.scores))] for name, sign in lists.items()}
        return {
            name: [i for i in sorted(range(len(each)), key=lambda i: -each[i])[:count] if each[i] >= NOTHING]
            for name, each in sizes.items()
        }


@dataclass(frozen=True)
class Pairs:
    """What every two words do together beyond what each does alone."""

    name: str
    summary: str
    reference: str
    cost: str
    #: Symmetric; on the diagonal stands what a word does by itself.
    scores: tuple[tuple[float, ...], ...]
    certificate: Mapping[str, float] = field(default_factory=dict)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The certificate in words."""
        return checks_of(self.certificate)

    def strongest(self, count: int) -> list[tuple[int, int, float]]:
        """The pairs with the largest scores, whatever their sign."""
        every = [
            (i, j, score)
            for i, row in enumerate(self.scores)
            for j, score in enumerate(row)
            if i < j and math.isfinite(score) and score
        ]
        return sorted(every, key=lambda pair: -abs(pair[2]))[:count]


@dataclass(frozen=True)
class Explanation(Savable):
    """A text's words with the scores of every method for one class; ``show`` prints it, ``save`` keeps it."""

    text: str
    tokens: tuple[str, ...]
    #: Words that the model has never met: it reads all of them alike.
    unknown: tuple[bool, ...]
    classes: tuple[str, ...]
    probabilities: tuple[float, ...]
    #: The class that is explained.
    target: str
    methods: tuple[Scored, ...]
    pairs: Pairs | None = None
    run: str = ""
    model: str = ""
    #: How the text was cut into words.
    tokenisation: str = ""
    #: What a reader should know before trusting the scores.
    notes: tuple[str, ...] = ()

    @property
    def predicted(self) -> str:
        """The predicted class."""
        return self.classes[max(range(len(self.classes)), key=self.probabilities.__getitem__)]

    @property
    def never_met(self) -> tuple[str, ...]:
        """The words that are unknown to the model, each once."""
        return tuple(dict.fromkeys(t for t, new in zip(self.tokens, self.unknown, strict=True) if new))

    @property
    def scores(self) -> dict[str, tuple[float, ...]]:
        """Every method's scores, one for each word."""
        return {method.name: method.scores for method in self.methods}

    @property
    def certificates(self) -> dict[str, tuple[str, ...]]:
        """What was checked of every method's scores, in sentences."""
        return {method.name: tuple(check.words for check in method.checks) for method in self.methods}

    def label(self, place: int) -> str:
        """A word, with its place where the text has it twice."""
        token = self.tokens[place]
        return token if self.tokens.count(token) == 1 else f"{token} ({place + 1})"

    def show(self) -> None:
        """Print it, in colour where the terminal has colours."""

        from attentest.report.explanations.terminal import ExplanationView

        Printer(highlight=False).print(ExplanationView(self))

    def to_frame(self) -> pandas.DataFrame:
        """A row for every word: the word, whether it is unknown, and a column for every method."""
        import pandas

        return pandas.DataFrame({"token": self.tokens, "unknown": self.unknown, **self.scores})

    def to_record(self) -> dict[str, Any]:
        """Everything as plain values; a number that does not exist is None."""
        return {
            "text": self.text,
            "run": self.run,
            "model": self.model,
            "tokenisation": self.tokenisation,
            "notes": list(self.notes),
            "tokens": list(self.tokens),
            "unknown": list(self.unknown),
            "probabilities": dict(zip(self.classes, self.probabilities, strict=True)),
            "predicted": self.predicted,
            "target": self.target,
            "methods": [
                {**_about(m), "signed": m.signed, "scores": list(map(_number, m.scores))} for m in self.methods
            ],
            "interactions": None
            if self.pairs is None
            else {**_about(self.pairs), "scores": [list(map(_number, row)) for row in self.pairs.scores]},
        }

    def to_html(self) -> str:
        """A page of its own, without scripts."""
        from attentest.report.explanations.page import explanation_page

        return explanation_page(self)

    def _repr_html_(self) -> str:
        """The page in a frame, for notebooks: its style stays inside, and nothing in it can run."""
        from attentest.report.pages.card import framed

        height = 420 + 190 * len(self.methods) + (520 if self.pairs is not None else 0)
        return framed(self.to_html(), "Explanation", height)


def excerpt(length: int, weights: Sequence[Sequence[float]], most: int, around: int = 3) -> Iterator[int | range]:
    """The places of a text that are shown: all, or those near the heaviest of each weighting; gaps as ranges."""
    if length <= most:
        yield from range(length)
        return
    each = max(1, most // (2 * around + 1) // max(1, len(weights)))
    centres = {i for w in weights for i in sorted(range(length), key=lambda i: -abs(w[i]))[:each]}
    near = sorted({i for c in centres for i in range(c - around, c + around + 1) if 0 <= i < length})
    places = sorted({*near, *(i for a, b in pairwise(near) if b - a <= around for i in range(a, b))})
    last = -1
    for place in places:
        if place > last + 1:
            yield range(last + 1, place)
        yield place
        last = place
    if last + 1 < length:
        yield range(last + 1, length)


def _about(what: Scored | Pairs) -> dict[str, Any]:
    return {
        "name": what.name,
        "summary": what.summary,
        "reference": what.reference,
        "cost": what.cost,
        "certificate": {name: _number(value) for name, value in what.certificate.items()},
        "checks": [{"outcome": check.outcome, "words": check.words} for check in what.checks],
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
