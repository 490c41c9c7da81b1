"""Parts of speech of English words, by the rules that the package textblob carries; nothing is fetched."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["MISSING", "TAGS", "missing", "tagged"]

#: Universal parts of speech (Petrov et al. 2012), each with the tags of the Penn Treebank that are of it.
TAGS = {
    "noun": ("NN", "NNS", "NNP", "NNPS", "NP"),
    "verb": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"),
    "adjective": ("JJ", "JJR", "JJS"),
    "adverb": ("RB", "RBR", "RBS", "WRB"),
    "pronoun": ("PRP", "PRP$", "WP", "WP$"),
    "determiner": ("DT", "PDT", "WDT", "EX"),
    "adposition": ("IN",),
    "number": ("CD",),
    "conjunction": ("CC",),
    "particle": ("POS", "RP", "TO"),
    "punctuation": (".", "!", "?", ",", ":", "(", ")", '"', "'", "#", "$", "SYM", "LS"),
    "other": ("UH", "FW", "X"),
}
_PLACE = {penn: place for place, tags in enumerate(TAGS.values()) for penn in tags}
MISSING = "it needs a tagger, and the package textblob is not installed: pip install 'attentest[tagger]'"


def missing() -> bool:
    """Whether there is no tagger."""
    return find_spec("textblob") is None


def tagged(texts: Sequence[Sequence[str]]) -> np.ndarray:
    """The part of speech of every token, text after text, by its place in TAGS; each different text is tagged once."""
    distinct = {text: _places(text) for text in dict.fromkeys(map(tuple, texts))}
    return np.concatenate([np.zeros(0, np.int64), *(distinct[tuple(text)] for text in texts)])


@cache
def _parser() -> Any:
    from textblob.en import parser

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves the file of its lexicon open
        parser.find_tags(["a"])
    return parser


def _places(text: tuple[str, ...]) -> np.ndarray:
    # A name is tagged NNP-PERS and the like.
    found = (tag.partition("-")[0] for _, tag in _parser().find_tags(list(text)))
    return np.array([_PLACE.get(tag, len(TAGS) - 1) for tag in found], np.int64)
