"""The Stanford Sentiment Treebank, prepared as Jain & Wallace (2019) did."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.location import read_split

__all__ = ["SST"]

BRACKETS = ("-LRB-", "-RRB-")
NEUTRAL = 2
FIELDS = ("id", "tokens", "token_labels", "label")


@dataclass(frozen=True)
class Sentence:
    """A cleaned sentence: its tokens, and for each whether people gave it a sentiment."""

    id: str
    tokens: list[str]
    rationale: list[bool]
    label: int | None


@dataclass(frozen=True)
class SST:
    """Film-review sentences, negative or positive; the rationale is the tokens people gave a sentiment."""

    name: ClassVar[str] = "sst"
    summary: ClassVar[str] = "Sentences of film reviews, negative or positive (Stanford Sentiment Treebank)"
    licence: ClassVar[str] = "none stated (research use)"
    citation: ClassVar[str] = (
        "Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment treebank"
    )

    #: Sentences must have more tokens than this.
    more_than: int = 5
    #: Leave out the longest sentence of every split, as the released code does.
    drop_longest: bool = True

    def load(self) -> Corpus:
        """The three official splits, cleaned and filtered."""
        splits: dict[str, Split] = {}
        left_out: list[str] = []
        for name in ("train", "dev", "test"):
            kept, lines = self._kept([clean(row) for row in read_split("sst", name, FIELDS)])
            splits[name] = Split.of(
                [sentence.id for sentence in kept],
                [sentence.tokens for sentence in kept],
                [int(sentence.label or 0) for sentence in kept],
                rationale=[sentence.rationale for sentence in kept],
            )
            left_out += [f"{name}: {line}" for line in lines]
        return Corpus(
            self.name,
            ("negative", "positive"),
            splits,
            Provenance(
                source="Stanford Sentiment Treebank, official splits",
                preparation="bracket tokens dropped, lower case, non-word characters replaced by spaces; "
                "official order shuffled, because it is sorted by label",
                licence=self.licence,
                citation=self.citation,
                left_out=tuple(left_out),
                rationale="human",
            ),
        )

    def _kept(self, sentences: Sequence[Sentence]) -> tuple[list[Sentence], list[str]]:
        polar = [sentence for sentence in sentences if sentence.label is not None]
        longest = max((len(sentence.tokens) for sentence in polar), default=0)
        limit = longest if self.drop_longest else longest + 1
        long_enough = [sentence for sentence in polar if len(sentence.tokens) > self.more_than]
        kept = [sentence for sentence in long_enough if len(sentence.tokens) < limit]
        lines = [
            f"{count} {'sentence' if count == 1 else 'sentences'} left out: {reason}"
            for count, reason in (
                (len(sentences) - len(polar), "neutral"),
                (len(polar) - len(long_enough), f"{self.more_than} tokens or fewer"),
                (len(long_enough) - len(kept), f"{longest} tokens, the longest"),
            )
            if count
        ]
        return sorted(kept, key=_shuffled), lines


def clean(row: dict[str, Any]) -> Sentence:
    """A sentence without brackets, lower-cased, cut at non-word characters; parts keep their token's flag."""
    parts = [
        (part, label != NEUTRAL)
        for token, label in zip(row["tokens"], row["token_labels"], strict=True)
        if token not in BRACKETS
        for part in re.sub(r"\W", " ", token.lower()).split()
    ]
    return Sentence(row["id"], [part for part, _ in parts], [flag for _, flag in parts], row["label"])


def _shuffled(sentence: Sentence) -> bytes:
    """A hash of the id to sort by: an order that tells nothing of the label and never changes."""
    return hashlib.blake2b(sentence.id.encode(), digest_size=16).digest()
