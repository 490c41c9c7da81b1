"""An explanation as one HTML file that needs no network and runs nothing, as the report's is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attentest.presentation.certificates import OUTCOMES, figure
from attentest.presentation.text import visible_token
from attentest.report.explanations.explanation import NOTHING, Explanation, Pairs, Scored, excerpt
from attentest.report.pages.html import environment

__all__ = ["explanation_page"]

#: Words of a text shown at first, words of one that is shown whole on request, characters of a word.
FIRST, WHOLE, LONGEST = 120, 1500, 60
#: Words listed for each direction.
TOP = 8
#: Pairs listed, words of the matrix, pixels of its cells and of a letter, characters of its words.
STRONGEST, MATRIX, CELL, LETTER, SHORT = 8, 40, 24, 7.5, 14

Row = dict[str, Any]


def explanation_page(explanation: Explanation) -> str:
    """The page as text."""
    made = explanation
    chances = sorted(zip(made.classes, made.probabilities, strict=True), key=lambda pair: -pair[1])
    return (
        environment(OUTCOMES=OUTCOMES)
        .get_template("explanation.html")
        .render(
            explanation=made,
            chance=made.probabilities[made.classes.index(made.predicted)],
            chances=chances,
            unknown=list(dict.fromkeys(visible_token(t, LONGEST) for t in made.never_met)),
            signed=any(method.signed for method in made.methods) or made.pairs is not None,
            unsigned=any(not method.signed for method in made.methods),
            methods=[_method(made, method) for method in made.methods],
            pairs=None if made.pairs is None else _pairs(made, made.pairs),
        )
    )


def _method(made: Explanation, method: Scored) -> Row:
    first = list(excerpt(len(made.tokens), [method.scores], FIRST))
    whole = any(isinstance(place, range) for place in first) and len(made.tokens) <= WHOLE
    return {
        "about": method,
        "words": list(_words(made, method, first)),
        "whole": list(_words(made, method, range(len(made.tokens)))) if whole else None,
        "lists": [(name, _listed(made, method, places)) for name, places in method.top(TOP).items()],
    }


def _words(made: Explanation, method: Scored, places: Sequence[int | range]) -> Iterator[Row]:
    for place in places:
        if isinstance(place, range):
            yield {"gap": len(place)}
            continue
        shade = method.shade(place)
        yield {
            "text": visible_token(made.tokens[place], LONGEST),
            "size": abs(shade),
            "side": ("for" if shade > 0 else "against") if method.signed else "most",
            "unknown": made.unknown[place],
            "score": figure(method.scores[place], signed=method.signed),
        }


def _listed(made: Explanation, method: Scored, places: Sequence[int]) -> list[tuple[str, str, float]]:
    figures = [figure(method.scores[place], signed=method.signed) for place in places]
    words = [visible_token(made.label(place), LONGEST) for place in places]
    return list(zip(words, figures, (abs(method.shade(place)) for place in places), strict=True))


def _pairs(made: Explanation, pairs: Pairs) -> Row:
    """The strongest pairs in words, and a matrix of all, or of the words that take part in the strongest."""
    every = pairs.strongest(len(pairs.scores) ** 2)
    shown = list(range(len(made.tokens)))
    if len(shown) > MATRIX:
        strongest: dict[int, None] = {}
        for i, j, _ in every:
            strongest |= dict.fromkeys((i, j))
        shown = sorted(list(strongest)[:MATRIX])
    largest = abs(every[0][2]) if every else 0.0
    words = [visible_token(made.tokens[i], SHORT) for i in shown]
    margin = round(16 + LETTER * max(map(len, words)))
    cells = [
        {
            "x": margin + CELL * column,
            "y": margin + CELL * row,
            "side": "for" if pairs.scores[i][j] > 0 else "against",
            "size": abs(pairs.scores[i][j]) / largest,
            "says": f"{made.label(i)} + {made.label(j)}: {figure(pairs.scores[i][j], signed=True)}",
        }
        for row, i in enumerate(shown)
        for column, j in enumerate(shown)
        if i != j and largest and abs(pairs.scores[i][j]) >= NOTHING * largest
    ]
    return {
        "about": pairs,
        "listed": [(made.label(i), made.label(j), figure(s, signed=True), s > 0) for i, j, s in every[:STRONGEST]],
        "labels": [(word, margin + CELL * place) for place, word in enumerate(words)],
        "cells": cells,
        "side": margin + CELL * len(shown) + 2,
        "left_out": len(made.tokens) - len(shown),
        "cell": CELL,
        "margin": margin,
    }
