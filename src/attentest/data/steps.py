"""Writing a text is one decision per word: a split of translations as a split of its steps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.data.corpus import Split
from attentest.data.vocabulary import END, Vocabulary

__all__ = ["stepped", "with_targets"]


def stepped(split: Split, vocabulary: Vocabulary) -> Split:
    """One row per word to write, and one for the end: the text to read, the words written so far, the next one.

    The label is the next word's place among the target's words, and ``sentence`` the id of the text that a row is a
    step of. Where the split has alignments, a row marks the words that are linked to the word it writes.
    """
    assert vocabulary.target is not None
    words = pa.concat_arrays(split.table["target"].chunks)
    values, offsets = vocabulary.target.encode(pa.chunked_array([words]))
    sizes = np.diff(offsets)
    steps = sizes + 1
    of = np.repeat(np.arange(len(split)), steps)
    step = _counted(steps)
    ends = step == sizes[of]
    labels = np.full(len(of), END, np.int32)
    labels[~ends] = values
    sentence = split.table["id"].take(of)
    columns = {
        "id": pc.binary_join_element_wise(sentence, pa.array(step).cast(pa.string()), "@"),
        "sentence": sentence,
        "tokens": split.table["tokens"].take(of),
        "label": pa.array(labels),
        "second": _prefixes(words, offsets[:-1][of], step),
    }
    if split.has("alignment"):
        columns["rationale"] = _linked(split, of, step, np.cumsum(steps) - steps)
    return Split(pa.table(columns).combine_chunks())


def with_targets(split: Split, targets: list[list[str]]) -> Split:
    """The same texts with other targets, such as what a model writes; alignments to the old ones are gone."""
    table = split.table.drop_columns([name for name in ("target", "alignment") if split.has(name)])
    return Split(table.append_column("target", pa.array(targets, pa.list_(pa.string()))).combine_chunks())


def _counted(sizes: np.ndarray) -> np.ndarray:
    """0, 1, … for each of the sizes, one after the other."""
    counted: np.ndarray = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return counted


def _prefixes(words: pa.ListArray, begins: np.ndarray, step: np.ndarray) -> pa.ListArray:
    """The words before each step."""
    place = np.repeat(begins, step) + _counted(step)
    offsets = np.concatenate([[0], np.cumsum(step)]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, words.flatten().take(place))


def _linked(split: Split, of: np.ndarray, step: np.ndarray, firsts: np.ndarray) -> pa.ListArray:
    """Which tokens are linked to the word of each step."""
    lengths = split.lengths[of]
    begins = np.concatenate([[0], np.cumsum(lengths)])
    links = pa.concat_arrays(split.table["alignment"].chunks)
    text = np.repeat(np.arange(len(split)), links.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    pairs = np.array([link.split("-") for link in links.flatten().to_pylist()], dtype=np.int64).reshape(-1, 2)
    flags = np.zeros(begins[-1], bool)
    flags[begins[firsts[text] + pairs[:, 1]] + pairs[:, 0]] = True
    return pa.ListArray.from_arrays(begins.astype(np.int32), pa.array(flags))
