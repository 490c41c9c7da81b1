"""Subwords: byte-pair encoding (Sennrich et al. 2016) of both languages together, which leaves no word unknown.

A piece that begins a word begins with ``▁``, as sentencepiece has it, so that the text can be put together again.
Pieces are learnt and cut when a corpus is prepared; reading a prepared corpus needs no more than ``joined``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

__all__ = ["BEGINS", "Subwords", "in_subwords", "joined"]

#: Begins the first piece of every word.
BEGINS = "▁"
UNKNOWN = "<unk>"
#: Words whose pieces are kept.
KEPT = 1 << 20


class Subwords:
    """Words to pieces, by merges learnt from some texts; a character that they never had is a piece of its own."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        #: One word as pieces; joined they are the word behind its ``▁``.
        self.pieces = lru_cache(KEPT)(self._pieces)

    @classmethod
    def learnt(cls, texts: Iterable[Sequence[str]], symbols: int) -> Subwords:
        """At most so many symbols, characters included, from texts as words; the same texts give the same symbols."""
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN, fuse_unk=False))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
        trainer = trainers.BpeTrainer(vocab_size=symbols + 1, special_tokens=[UNKNOWN], show_progress=False)
        tokenizer.train_from_iterator((" ".join(map(_marked, words)) for words in texts), trainer)
        return cls(tokenizer)

    def _pieces(self, word: str) -> tuple[str, ...]:
        marked = _marked(word)
        encoding = self._tokenizer.encode(marked, add_special_tokens=False)
        return tuple(marked[begin:end] for begin, end in encoding.offsets)

    def segment(self, words: Iterable[str]) -> list[str]:
        """All words as pieces."""
        return [piece for word in words for piece in self.pieces(word)]

    def spans(self, words: Iterable[str]) -> list[range]:
        """For each word, the places of its pieces among all pieces."""
        spans: list[range] = []
        for word in words:
            begin = spans[-1].stop if spans else 0
            spans.append(range(begin, begin + len(self.pieces(word))))
        return spans

    @staticmethod
    def about(symbols: int) -> str:
        """One line on what was done."""
        return (
            f"{symbols:,} subwords of both languages together (byte-pair encoding, tokenizers {version('tokenizers')})"
        )


def _marked(word: str) -> str:
    # The sign itself, should a text have it, becomes the character that it resembles.
    return BEGINS + word.replace(BEGINS, "_")


def joined(pieces: Iterable[str]) -> str:
    """The text that these pieces were cut from, its words one space apart."""
    return "".join(pieces).replace(BEGINS, " ").removeprefix(" ")


def in_subwords(words: Iterable[str]) -> bool:
    """Whether these are pieces of words, not words."""
    return any(word.startswith(BEGINS) for word in words)
