"""Sentences: where tokens say that one ends and the next begins, by rules that need no model.

A sentence ends after a full stop, a question or exclamation mark or an ellipsis, alone or at the end of a word,
together with the quotes and brackets that close after it. The full stop of an abbreviation, of an initial or between
two numbers ends nothing. Texts in lower case have no capitals to look at, and the rules do without them there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from attentest.data.corpus import Corpus, Split
from attentest.errors import InputError

__all__ = ["kept_sentences", "labels_of", "sentence_lengths", "split_with_sentences", "with_sentences"]

_END = re.compile(r"(?P<word>.*?)(?P<mark>[.!?…。！？]+)[\"'”’»)\]}]*", re.DOTALL)
_ACRONYM = re.compile(r"[^\W\d_](\.[^\W\d_])+\.?")
_NUMBER = re.compile(r"[\d.,]*\d")
#: What closes; a straight quote closes where one is open, so it is looked at apart.
_CLOSES = frozenset(("'", "''", "”", "’", "»", ")", "]", "}", "-rrb-", "-rsb-"))
_QUOTE = '"'
#: Words whose full stop is a part of them: those that a name or a number follows, and those that may end a sentence.
_TITLES = frozenset(
    (
        *("mr", "mrs", "ms", "dr", "prof", "st", "vs", "sgt", "capt", "lt", "col", "gen", "rev", "hon", "gov", "sen"),
        *("rep", "mt", "ft", "cf", "al", "fig", "figs", "vol", "pp", "approx", "dept", "est", "messrs", "mme", "mlle"),
        *("jan", "feb", "aug", "sept", "oct", "nov", "dec", "e.g", "i.e", "eg", "ie"),
    )
)
_SHORTENED = frozenset(("etc", "jr", "sr", "inc", "ltd", "co", "corp", "bros", "a.m", "p.m", "ph.d"))


class _Kind(NamedTuple):
    """What a token can do to a sentence, known from the token alone."""

    #: It ends one: a mark by itself, or a word with a mark at its end.
    ends: bool = False
    #: It is nothing but a full stop.
    stop: bool = False
    #: It is an ellipsis, or ends in one.
    ellipsis: bool = False
    closes: bool = False
    quote: bool = False
    #: Before a full stop of its own token or of the next, it ends nothing; or does so only before a capital.
    title: bool = False
    shortened: bool = False
    initial: bool = False
    number: bool = False
    word: bool = False
    capital: bool = False


class _Kinds(NamedTuple):
    """The same for many tokens: an array of each flag."""

    ends: np.ndarray
    stop: np.ndarray
    ellipsis: np.ndarray
    closes: np.ndarray
    quote: np.ndarray
    title: np.ndarray
    shortened: np.ndarray
    initial: np.ndarray
    number: np.ndarray
    word: np.ndarray
    capital: np.ndarray


@lru_cache(maxsize=500_000)
def _kind(token: str) -> _Kind:
    found = _END.fullmatch(token)
    word, mark = (found["word"], found["mark"]) if found else (token, "")
    bare = word.lower()
    letters = any(map(str.isalnum, word))
    ellipsis = "…" in mark or (len(mark) > 1 and set(mark) == {"."})
    acronym = bool(_ACRONYM.fullmatch(token)) and "." in token
    initial = len(word) == 1 and word.isalpha() and bare != "i"
    stopped = mark == "." and letters
    return _Kind(
        ends=bool(mark) and not (stopped and (bare in _TITLES or initial)),
        stop=token == ".",
        ellipsis=ellipsis,
        closes=token in _CLOSES,
        quote=token == _QUOTE,
        title=bare in _TITLES,
        shortened=bare in _SHORTENED or acronym,
        initial=initial and not mark,
        number=bool(_NUMBER.fullmatch(token)),
        word=letters,
        capital=token[:1].isupper(),
    )


def sentence_lengths(tokens: pa.ListArray) -> tuple[pa.ListArray, bool]:
    """The number of tokens of every sentence of every text, and whether any token is a mark that ends one."""
    offsets = np.concatenate([[0], np.cumsum(tokens.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))])
    coded = tokens.flatten().dictionary_encode()
    words = coded.dictionary.to_pylist()
    kinds = np.array([_kind(word) for word in words], dtype=bool).reshape(-1, len(_Kind._fields))
    if not len(coded):
        return pa.ListArray.from_arrays(offsets.astype(np.int32), pa.array([], pa.int32())), False
    of = _Kinds(*kinds[coded.indices.to_numpy(zero_copy_only=False)].T)
    last = np.zeros(len(coded), bool)
    last[offsets[1:][np.diff(offsets) > 0] - 1] = True
    breaks = _without_wordless(_breaks(of, last, offsets), of.word, offsets)
    ends = np.flatnonzero(breaks) + 1
    sizes = np.diff(np.concatenate([[0], ends]))
    per_text = np.searchsorted(ends, offsets, side="right")
    return pa.ListArray.from_arrays(per_text.astype(np.int32), pa.array(sizes, pa.int32())), bool(kinds[:, 0].any())


def _breaks(of: _Kinds, last: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """After which tokens a sentence ends; the last token of a text always ends one."""
    lengths = np.diff(offsets)

    def before(flags: np.ndarray) -> np.ndarray:
        return np.concatenate([[False], flags[:-1] & ~last[:-1]])

    def after(flags: np.ndarray) -> np.ndarray:
        return np.concatenate([flags[1:] & ~last[:-1], [False]])

    capitals = np.concatenate([[0], np.cumsum(of.capital)])
    cased = np.repeat(capitals[offsets[1:]] > capitals[offsets[:-1]], lengths)
    # Where a text has capitals, what may or may not end a sentence does so before one.
    small = cased & after(of.word & ~of.capital)
    ends = of.ends & ~(of.ellipsis & small) & ~(~of.stop & of.shortened & ~after(of.capital))
    ends &= ~(of.stop & before(of.title))
    ends &= ~(of.stop & before(of.shortened) & small)
    ends &= ~(of.stop & before(of.initial) & after(of.word) & (before(of.capital) | ~cased))
    ends &= ~(of.stop & before(of.number) & after(of.number))
    # A straight quote closes when an odd number of them stands before it in the text.
    quotes = np.concatenate([[0], np.cumsum(of.quote)])
    closes = of.closes | (of.quote & ((quotes[:-1] - np.repeat(quotes[offsets[:-1]], lengths)) % 2 == 1))
    tail = ends
    while not np.array_equal(longer := ends | (closes & before(tail)), tail):
        tail = longer
    found: np.ndarray = (tail & ~after((of.ends & ~of.word) | closes)) | last
    return found


def _without_wordless(breaks: np.ndarray, word: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """A run of marks without any word belongs to the sentence before it, or to the one after at a text's beginning."""
    while True:
        ends = np.flatnonzero(breaks)
        starts = np.concatenate([[0], ends[:-1] + 1])
        empty = np.add.reduceat(word, starts) == 0
        first = np.isin(starts, offsets[:-1])
        final = np.isin(ends + 1, offsets[1:])
        kept = breaks.copy()
        kept[ends[:-1][empty[1:] & ~first[1:]]] = False
        kept[ends[empty & first & ~final]] = False
        if np.array_equal(kept, breaks):
            return kept
        breaks = kept  # several such runs at a text's beginning are joined first, and then go to what comes after


def split_with_sentences(split: Split) -> tuple[Split, bool]:
    """The split with a column ``sentences``, and whether it marks any end; a column that is there stays."""
    if split.has("sentences"):
        return split, True
    chunks = [sentence_lengths(chunk) for chunk in split.table["tokens"].chunks]
    column = pa.chunked_array([lengths for lengths, _ in chunks], pa.list_(pa.int32()))
    return Split(split.table.append_column("sentences", column)), any(found for _, found in chunks)


def with_sentences(corpus: Corpus) -> Corpus:
    """The corpus with its texts cut into sentences, as a hierarchical model reads them."""
    if all(split.has("sentences") for split in corpus.splits.values()):
        return corpus
    cut = {name: split_with_sentences(split) for name, split in corpus.splits.items()}
    if not any(found for _, found in cut.values()):
        raise InputError(
            f"The tokens of corpus {corpus.name!r} hold no mark that ends a sentence, so a hierarchical model cannot "
            "read them. Choose texts with punctuation, a preparation that keeps it, or structure 'flat'."
        )
    splits = {name: split for name, (split, _) in cut.items()}
    total = hashlib.sha256(corpus.digest.encode())
    for name in sorted(splits):
        for chunk in splits[name].table["sentences"].chunks:
            total.update(chunk.value_lengths().to_numpy(zero_copy_only=False).tobytes())
            total.update(chunk.flatten().to_numpy(zero_copy_only=False).tobytes())
    return dataclasses.replace(corpus, splits=splits, known_digest=total.hexdigest()[:16])


def labels_of(split: Split) -> np.ndarray | None:
    """Which of its text's sentences every token belongs to, all texts' tokens in one array; None without the column."""
    if not split.has("sentences"):
        return None
    parts = [np.zeros(0, np.int32)]
    for chunk in split.table["sentences"].chunks:
        counts, sizes = chunk.value_lengths().to_numpy(zero_copy_only=False), chunk.flatten().to_numpy()
        parts.append(np.repeat(_ordinals(counts), sizes).astype(np.int32))
    labels = np.concatenate(parts)
    if len(labels) != split.lengths.sum():
        raise InputError("The sentences of a split do not add up to its tokens. Prepare the corpus again.")
    return labels


def kept_sentences(split: Split, kept: np.ndarray) -> pa.ListArray:
    """The sentences' lengths when only some tokens are left, one flag each; sentences without any are gone."""
    labels = labels_of(split)
    assert labels is not None
    text = np.repeat(np.arange(len(split)), split.lengths)[kept]
    pairs, sizes = np.unique(np.stack([text, labels[kept]]), axis=1, return_counts=True)
    offsets = np.searchsorted(pairs[0], np.arange(len(split) + 1))
    return pa.ListArray.from_arrays(offsets.astype(np.int32), pa.array(sizes, pa.int32()))


def _ordinals(counts: np.ndarray) -> np.ndarray:
    """0 … count − 1 for every count, one after the other."""
    ordinals: np.ndarray = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return ordinals
