"""A new text as tokens, cut the way a finished run's texts were cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attentest.data.catalog.cleaning import cleaned
from attentest.data.tokenizers import tokenize

__all__ = ["RULES", "Cut", "Rule", "cut_like"]

#: What Keras takes out of a text.
_KERAS = re.compile(r"[!\"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~\t\n]")

#: A word with punctuation on it, which no tokenizer would leave there.
_GLUED = re.compile(r"\w+[.,;:!?\")]+")


@dataclass(frozen=True)
class Cut:
    """The tokens of some texts, how they were made, and a warning where the run's own were made otherwise."""

    tokens: list[list[str]]
    how: str
    warning: str = ""


@dataclass(frozen=True)
class Rule:
    """One way to cut, known by words in a corpus's recorded preparation."""

    words: str
    cut: Callable[[str], list[str]]
    how: str
    warning: str = ""


def _plain(text: str) -> list[str]:
    return next(cleaned([text.replace("<br />", " ")], mask_digits=False))


def _masked(text: str) -> list[str]:
    return next(cleaned([text]))


def _treebank(text: str) -> list[str]:
    """Non-word characters become spaces, after "wasn't" was parted as the treebank parts it: was n t."""
    return re.sub(r"\W", " ", " ".join(_plain(text))).split()


def _without_punctuation(text: str) -> list[str]:
    """Of a run of non-word characters the last stays, which is a space where a word follows (Jain & Wallace's code)."""
    return re.sub(r"(\W)+", r" \1 ", " ".join(_masked(text))).split()


def _between_punctuation(text: str) -> list[str]:
    return _KERAS.sub(" ", text.lower()).split()


def _lower_with_punctuation(text: str) -> list[str]:
    return re.findall(r"[\w']+|[^\w\s]", text.lower())


SPACED = "the run's texts came in words already: put spaces around punctuation too"
#: The first rule whose words stand in the preparation is taken, so the particular stand before the general.
RULES = (
    Rule("lemma", _masked, "spaCy's English tokens, lower case, digits as qqq", "the run's texts are lemmas"),
    Rule("non-word characters replaced", _treebank, "lower case, cut at non-word characters"),
    Rule("tokens without punctuation", _without_punctuation, "spaCy's tokens without punctuation, digits as qqq"),
    Rule("words between punctuation, br kept", _between_punctuation, "words between punctuation, lower case"),
    Rule("words between spaces as released, lower", lambda t: t.lower().split(), "words between spaces", SPACED),
    Rule("words between spaces", str.split, "words between spaces, case kept", SPACED),
    Rule("the published tokens, case kept", str.split, "words between spaces, case kept", SPACED),
    Rule("the published tokens, lower case", lambda t: t.lower().split(), "words between spaces", SPACED),
    Rule("lower case, punctuation as tokens", _lower_with_punctuation, "words and punctuation, lower case"),
    Rule("digits as qqq", _masked, "spaCy's English tokens, lower case, digits as qqq"),
    Rule("spaCy tokens", _plain, "spaCy's English tokens, lower case"),
    Rule("words, lower case", lambda t: _between_punctuation(t.replace("<br />", " ")), "words between punctuation"),
    Rule("n't as tokens", _plain, "spaCy's English tokens, lower case"),
)
#: What is done where no rule is known.
USUAL = Rule("", _plain, "spaCy's English tokens, lower case", "how the run's texts were cut is not known")


def cut_like(texts: Sequence[str], corpus: Mapping[str, Any], tokenizer: str | None = None) -> Cut:
    """Texts as tokens; ``corpus`` is what a run recorded of its own, ``tokenizer`` overrides it.

    A run of your own file names its tokenizer. A corpus by name has a preparation of its own: the same rule is
    applied here, as far as it concerns a single text.
    """
    chosen = tokenizer or corpus.get("tokenizer") or ""
    if chosen:
        lowercase = bool(corpus.get("lowercase", True))
        case = "lower case" if lowercase else "case kept"
        return Cut(tokenize(texts, chosen, lowercase=lowercase), f"{chosen} tokens, {case}")
    preparation = str(corpus.get("preparation", ""))
    rule = next((rule for rule in RULES if rule.words in preparation), USUAL)
    tokens = [rule.cut(text) for text in texts]
    in_words = rule.warning == SPACED and not any(_GLUED.fullmatch(token) for one in tokens for token in one)
    return Cut(tokens, rule.how, "" if in_words else rule.warning)
