"""The Stanford Sentiment Treebank's trees as rows, and its sentences cleaned as Jain & Wallace (2019) did."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.data.catalog.cleaning import counted, shuffled
from attentest.data.corpora.declared import Instance, Row
from attentest.data.corpora.official_files import found, lines
from attentest.data.sources.archive import Archive
from attentest.errors import InputError

__all__ = ["FIELDS", "PREPARATION", "SOURCE", "SPLITS", "Sentence", "clean", "kept", "read_trees", "row_of_tree"]

SPLITS = ("train", "dev", "test")
FIELDS = ("id", "text", "tokens", "label5", "label", "token_labels", "spans")
SOURCE = Archive(
    "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
    sha256="5c613a4f673fc74097d523a2c83f38e0cc462984d847b82c7aaf36b01cbbbfcc",
    size=789_539,
    members=("trees/*.txt",),
)
PREPARATION = (
    "bracket tokens dropped, lower case, non-word characters replaced by spaces; "
    "official order shuffled, because it is sorted by label"
)
BRACKETS = ("-LRB-", "-RRB-")
NEUTRAL = 2
#: 0 and 1 are negative, 3 and 4 positive.
POLARITY = (0, 0, None, 1, 1)
#: A word may hold a no-break space, so only plain spaces part them.
_PART = re.compile(r"\(([0-4]) |([^ ()]+)|(\))|([^ ])")


# ── official form ──


def read_trees(folder: Path) -> dict[str, Iterator[Row]]:
    """The rows of train.txt, dev.txt and test.txt, one tree a line."""
    return {split: _rows(found(folder, f"{split}.txt"), split) for split in SPLITS}


def _rows(path: Path, split: str) -> Iterator[Row]:
    trees = ((number, line.strip(" ")) for number, line in enumerate(lines(path), start=1))
    for place, (number, tree) in enumerate((number, tree) for number, tree in trees if tree):
        try:
            yield row_of_tree(tree, f"sst-{split}-{place}")
        except ValueError as error:
            raise InputError(f"{path}, line {number} is no tree such as '(3 (2 a) (4 delight))': {error}.") from error


def row_of_tree(tree: str, name: str) -> dict[str, Any]:
    """A labelled tree as a row: tokens and their labels, and a span for every phrase of two tokens or more."""
    tokens: list[str] = []
    token_labels: list[int] = []
    spans: list[list[int]] = []
    opened: list[tuple[int, int]] = []
    label = -1
    for label_text, word, closing, other in _PART.findall(tree):
        if other or (label >= 0 and not opened) or (word and not opened):
            raise ValueError(f"{other or word or label_text!r} is out of place")
        if label_text:
            opened.append((int(label_text), len(tokens)))
        elif word:
            tokens.append(word)
            token_labels.append(opened[-1][0])
        elif closing:
            label, start = opened.pop()
            if start == len(tokens):
                raise ValueError("a phrase has no words")
            if len(tokens) - start > 1:
                spans.append([start, len(tokens), label])
            label = label if not opened else -1
    if opened or label < 0:
        raise ValueError("a bracket is not closed")
    return {
        "id": name,
        "text": re.sub(r"\\([/*])", r"\1", " ".join(tokens)).replace("-LRB-", "(").replace("-RRB-", ")"),
        "tokens": tokens,
        "label5": label,
        "label": POLARITY[label],
        "token_labels": token_labels,
        "spans": spans,
    }


# ── preparation ──


@dataclass(frozen=True)
class Sentence:
    """A cleaned sentence: its tokens, and for each whether it is marked."""

    id: str
    tokens: list[str]
    rationale: list[bool]
    label: int | None


def clean(row: Row, label: str = "label", *, marks: str = "tokens", punctuation: bool = False) -> Sentence:
    """A sentence without brackets, lower-cased, cut at non-word characters; parts keep their token's mark.

    With ``punctuation`` the tokens stay whole.
    """
    flags = MARKS[marks](row)
    parts = [
        (part, mark)
        for token, mark in zip(row["tokens"], flags, strict=True)
        if token not in BRACKETS
        for part in ([token.lower()] if punctuation else re.sub(r"\W", " ", token.lower()).split())
    ]
    return Sentence(row["id"], [part for part, _ in parts], [mark for _, mark in parts], row[label])


def _phrase_marks(row: Row) -> list[bool]:
    """The tokens of the smallest phrases with a sentiment: those no smaller part of which has one."""
    marks = [value != NEUTRAL for value in row["token_labels"]]
    for start, end, value in sorted(row["spans"], key=lambda span: span[1] - span[0]):
        if value != NEUTRAL and not any(marks[start:end]):
            marks[start:end] = [True] * (end - start)
    return marks


#: What may be marked: words by the sentiment that people gave them alone, or also phrases.
MARKS: Mapping[str, Callable[[Row], list[bool]]] = {
    "tokens": lambda row: [value != NEUTRAL for value in row["token_labels"]],
    "negative": lambda row: [value < NEUTRAL for value in row["token_labels"]],
    "positive": lambda row: [value > NEUTRAL for value in row["token_labels"]],
    "phrases": _phrase_marks,
}


def kept(
    split: str, sentences: Iterable[Sentence], more_than: int, drop_longest: bool, left_out: list[str]
) -> Sequence[Instance]:
    """The labelled sentences inside the limits, in an order that tells nothing of the label."""
    every = list(sentences)
    polar = [sentence for sentence in every if sentence.label is not None]
    longest = max((len(sentence.tokens) for sentence in polar), default=0)
    limit = longest if drop_longest else longest + 1
    long_enough = [sentence for sentence in polar if len(sentence.tokens) > more_than]
    inside = [sentence for sentence in long_enough if len(sentence.tokens) < limit]
    short = f"{more_than} tokens or fewer" if more_than else "no tokens"
    counted(left_out, split, len(every) - len(polar), "neutral", "sentence")
    counted(left_out, split, len(polar) - len(long_enough), short, "sentence")
    counted(left_out, split, len(long_enough) - len(inside), f"{longest} tokens, the longest", "sentence")
    ordered = sorted(inside, key=lambda sentence: shuffled(sentence.id))
    return [Instance(s.id, s.tokens, int(s.label or 0), rationale=s.rationale) for s in ordered]
