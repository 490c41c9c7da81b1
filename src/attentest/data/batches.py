"""Padded batches, bucketed by length, made from flat arrays without a loop over instances."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attentest.data.candidates import Candidates
from attentest.data.corpus import Split
from attentest.data.sentence_rows import Sentences
from attentest.data.sentences import labels_of
from attentest.data.vocabulary import END, PAD, START, Vocabulary
from attentest.errors import InputError
from attentest.measures.chance import uniforms

__all__ = ["Batch", "Encoded", "Sequences", "Targets", "bucketed", "shuffled", "step_keys"]

#: Of fewer texts than this none are tried by themselves.
FEWEST_TO_TRY = 8
#: Odd numbers with bits all over: of a sentence's random key and a step they make the step's.
_MIX = (0x1E3779B97F4A7C15, 0x2545F4914F6CDD1D)


@dataclass(frozen=True)
class Sequences:
    """Padded word indices between start and end symbols; the mask keeps real tokens only."""

    tokens: Int[Tensor, "batch token"]
    lengths: Int[Tensor, " batch"]
    mask: Bool[Tensor, "batch token"]
    #: Where the texts are cut into sentences.
    sentences: Sentences | None = None

    def __getitem__(self, part: slice | Int[Tensor, " row"]) -> Sequences:
        sentences = None if self.sentences is None else self.sentences[part]
        return Sequences(self.tokens[part], self.lengths[part], self.mask[part], sentences)

    def narrowed(self, width: int) -> Sequences:
        """Without the positions beyond, which hold padding."""
        sentences = None if self.sentences is None else self.sentences.narrowed(width)
        return Sequences(self.tokens[:, :width], self.lengths, self.mask[:, :width], sentences)

    def without_each(self) -> Sequences:
        """Every text once for each of its positions, and without it: [batch × position] rows.

        Beyond its end a text has nothing to lose, and such a row means nothing.
        """
        width = self.tokens.shape[1]
        here = torch.arange(width - 1, device=self.tokens.device)
        kept = here + (here >= torch.arange(width, device=here.device)[:, None])
        tokens, mask = (values[:, kept].flatten(0, 1) for values in (self.tokens, self.mask))
        return Sequences(tokens, (self.lengths - 1).repeat_interleave(width), mask)

    def to(self, device: torch.device) -> Sequences:
        """The same sequences on another device."""
        sentences = None if self.sentences is None else self.sentences.to(device)
        return Sequences(self.tokens.to(device), self.lengths.to(device), self.mask.to(device), sentences)


@dataclass(frozen=True)
class Targets:
    """The texts to write, word by word: every row of their batch is one step of one of them."""

    #: Each sentence to read once, and the words to write, between start and end symbols.
    text: Sequences
    words: Sequences
    #: Which sentence a row belongs to, and which of its words it writes, the end symbol last.
    of: Int[Tensor, " row"]
    step: Int[Tensor, " row"]
    #: Rows of the split of sentences, and their random keys.
    sentences: Int[Tensor, " sentence"]
    keys: Int[Tensor, " sentence"]
    #: Whether the rows are all steps of all sentences, in order, and read the sentences as they are.
    whole: bool = True

    def __getitem__(self, part: slice | Int[Tensor, " row"]) -> Targets:
        return replace(self, of=self.of[part], step=self.step[part], whole=False)

    def sliced(self, part: slice, rows: slice) -> Targets:
        """Some of the sentences, whose steps are these rows."""
        text, words, of = self.text[part], self.words[part], self.of[rows] - (part.start or 0)
        return Targets(text, words, of, self.step[rows], self.sentences[part], self.keys[part], self.whole)

    def to(self, device: torch.device) -> Targets:
        """The same texts on another device."""
        of, step, sentences, keys = (x.to(device) for x in (self.of, self.step, self.sentences, self.keys))
        return Targets(self.text.to(device), self.words.to(device), of, step, sentences, keys, self.whole)


@dataclass(frozen=True)
class Batch:
    """Texts (and, for pairs, the second texts), gold classes, rows of the split, random keys."""

    text: Sequences
    labels: Int[Tensor, " batch"]
    rows: Int[Tensor, " batch"]
    keys: Int[Tensor, " batch"]
    second: Sequences | None = None
    #: Of translations: the texts to write. A row is then one step of one of them, and its label the word it writes.
    target: Targets | None = None
    #: The classes that may be chosen, −1 after the last; None: any.
    candidates: Int[Tensor, "batch place"] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, part: slice | Int[Tensor, " row"]) -> Batch:
        second = None if self.second is None else self.second[part]
        target = None if self.target is None else self.target[part]
        candidates = None if self.candidates is None else self.candidates[part]
        return Batch(self.text[part], self.labels[part], self.rows[part], self.keys[part], second, target, candidates)

    def with_text(self, text: Sequences) -> Batch:
        """Other texts in the place of those that attention reads; all else stays."""
        target = None if self.target is None else replace(self.target, whole=False)
        return replace(self, text=text, target=target)

    def narrowed(self, width: int) -> Batch:
        """The same texts, when none is longer than ``width`` positions, without the padding beyond them."""
        target = self.target
        narrow = None if target is None else replace(target, text=target.text.narrowed(width))
        return replace(self, text=self.text.narrowed(width), target=narrow)

    @property
    def texts(self) -> int:
        """How many texts there are: as many as rows, or fewer where a row is one step of writing."""
        return len(self) if self.target is None else len(self.target.sentences)

    @property
    def sources(self) -> np.ndarray:
        """The rows of the split of texts that it was made from."""
        found: np.ndarray = (self.rows if self.target is None else self.target.sentences).cpu().numpy()
        return found

    def halves(self) -> tuple[Batch, Batch]:
        """Two batches of about half the rows each; all steps of a sentence stay together."""
        middle, target = len(self) // 2, self.target
        if target is None:
            return self[:middle], self[middle:]
        cut = max(1, int(target.of[middle]))
        begin = int((target.of < cut).sum())
        first, last = target.sliced(slice(0, cut), slice(0, begin)), target.sliced(slice(cut, None), slice(begin, None))
        return replace(self[:begin], target=first), replace(self[begin:], target=last)

    def swapped(self) -> Batch:
        """The second texts in the place of the first, and the first in theirs."""
        if self.second is None:
            raise InputError("These texts have no second text to put in their place.")
        return replace(self, text=self.second, second=self.text)

    @property
    def mask(self) -> Bool[Tensor, "batch token"]:
        """Which positions hold real tokens of the attended text."""
        return self.text.mask

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        return Batch(
            self.text.to(device),
            self.labels.to(device),
            self.rows.to(device),
            self.keys.to(device),
            None if self.second is None else self.second.to(device),
            None if self.target is None else self.target.to(device),
            None if self.candidates is None else self.candidates.to(device),
        )


@dataclass(frozen=True)
class Encoded:
    """A split as flat arrays of word indices."""

    text: tuple[np.ndarray, np.ndarray]
    labels: np.ndarray
    keys: np.ndarray
    second: tuple[np.ndarray, np.ndarray] | None = None
    #: Which of its text's sentences each token belongs to, where the split says.
    sentences: np.ndarray | None = None
    #: The texts to write, in the target's words.
    target: tuple[np.ndarray, np.ndarray] | None = None
    candidates: Candidates | None = None

    @classmethod
    def of(cls, split: Split, vocabulary: Vocabulary) -> Encoded:
        """The split in this vocabulary; an instance's random key is a hash of its id."""
        keys = [int.from_bytes(hashlib.blake2b(i.encode(), digest_size=7).digest(), "big") for i in split.ids]
        second = vocabulary.encode(split.table["second"]) if split.has("second") else None
        target = None if vocabulary.target is None else vocabulary.target.encode(split.table["target"])
        return cls(
            vocabulary.encode(split.table["tokens"]),
            split.labels.astype(np.int64),
            np.array(keys, dtype=np.int64),
            second,
            labels_of(split),
            target,
            Candidates.of(split),
        )

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def steps(self) -> np.ndarray:
        """The number of rows that each text makes: one, or as many as it takes to write its target and to end."""
        steps: np.ndarray = np.ones(len(self), np.int64) if self.target is None else np.diff(self.target[1]) + 1
        return steps

    @cached_property
    def first_steps(self) -> np.ndarray:
        """The row at which each text begins."""
        firsts: np.ndarray = np.cumsum(self.steps) - self.steps
        return firsts

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of every text."""
        return np.diff(self.text[1])

    @property
    def second_lengths(self) -> np.ndarray | None:
        """The number of tokens of every second text, or text to write, where there are any."""
        beside = self.second if self.target is None else self.target
        return None if beside is None else np.diff(beside[1])

    def take(self, rows: np.ndarray) -> Encoded:
        """These texts alone, in this order."""

        def some(flat: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            parts = [flat[0][flat[1][row] : flat[1][row + 1]] for row in rows]
            return np.concatenate([flat[0][:0], *parts]), np.cumsum([0, *map(len, parts)])

        of = self.candidates
        return Encoded(
            some(self.text),
            self.labels[rows],
            self.keys[rows],
            None if self.second is None else some(self.second),
            None if self.sentences is None else some((self.sentences, self.text[1]))[0],
            None if self.target is None else some(self.target),
            None if of is None else Candidates(*some((of.classes, of.offsets))),
        )

    def some(self, count: int, seed: int, stream: str) -> Encoded:
        """At most so many texts, drawn by their keys, in the split's order."""
        chance = uniforms(torch.from_numpy(self.keys), 1, 1, seed, stream)[:, 0, 0]
        return self.take(chance.argsort(stable=True)[:count].sort().values.numpy())

    def batch(self, rows: np.ndarray) -> Batch:
        """These texts as one padded batch."""
        if self.target is not None:
            return self._steps(rows, self.target)
        return Batch(
            _padded(*self.text, rows, self.sentences),
            torch.from_numpy(self.labels[rows]),
            torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64)),
            torch.from_numpy(self.keys[rows]),
            None if self.second is None else _padded(*self.second, rows),
            candidates=None if self.candidates is None else self.candidates.batch(rows),
        )

    def _steps(self, rows: np.ndarray, target: tuple[np.ndarray, np.ndarray]) -> Batch:
        """Every step of writing these texts' targets as a row."""
        steps = self.steps[rows]
        of = np.repeat(np.arange(len(rows)), steps)
        step = np.arange(len(of)) - np.repeat(np.cumsum(steps) - steps, steps)
        text, words = _padded(*self.text, rows, self.sentences), _padded(*target, rows)
        about = [torch.from_numpy(values) for values in (of, step, rows.astype(np.int64), self.keys[rows])]
        targets = Targets(text, words, about[0], about[1], about[2], about[3])
        return Batch(
            text[targets.of],
            words.tokens[targets.of, targets.step + 1],
            torch.from_numpy(self.first_steps[rows][of] + step),
            step_keys(targets.keys[targets.of], targets.step),
            target=targets,
        )


def step_keys(keys: Int[Tensor, "*row"], step: Int[Tensor, "*row"]) -> Int[Tensor, "*row"]:
    """The random keys of steps of writing, from those of the sentences."""
    return ((keys * _MIX[0] + (step + 1) * _MIX[1]) >> 8) & (2**55 - 1)


def _padded(
    values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, sentences: np.ndarray | None = None
) -> Sequences:
    begins, sizes = offsets[rows], offsets[rows + 1] - offsets[rows]
    width = int(sizes.max()) + 2 if len(rows) else 2
    column = np.arange(width)[None, :]
    real = (column >= 1) & (column <= sizes[:, None])
    tokens = np.full((len(rows), width), PAD, dtype=np.int64)
    tokens[:, 0] = START
    tokens[np.arange(len(rows)), sizes + 1] = END
    place = (begins[:, None] + column - 1)[real]
    tokens[real] = values[place]
    cut = None
    if sentences is not None:
        labels = np.full(tokens.shape, -1, dtype=np.int64)
        labels[real] = sentences[place]
        cut = Sentences(torch.from_numpy(labels))
    return Sequences(torch.from_numpy(tokens), torch.from_numpy(sizes + 2), torch.from_numpy(real), cut)


def bucketed(
    encoded: Encoded, *, tokens: int = 4096, chunk: int = 2048, sizes: np.ndarray | None = None, trials: bool = False
) -> Iterator[list[Batch]]:
    """All rows in chunks of the split's order; inside a chunk, batches of like length, or of other like ``sizes``.

    A batch holds at most ``tokens`` padded positions, so memory does not grow with the corpus. With ``trials`` the last
    two batches of the first chunk are small ones, of shorter and of longer texts: what they take tells of the others.
    """
    sizes = encoded.lengths if sizes is None else sizes
    for start in range(0, len(encoded), chunk):
        rows = np.arange(start, min(start + chunk, len(encoded)))
        ordered = rows[np.argsort(sizes[rows], kind="stable")]
        parts = list(_within(ordered, encoded, tokens))
        yield [encoded.batch(part) for part in (_with_trials(parts) if trials and start == 0 else parts)]


def _with_trials(parts: list[np.ndarray]) -> list[np.ndarray]:
    """The batches, sorted by size, less some texts of two of them, which are batches by themselves at the end.

    More of the shorter ones, so that what a row costs can be told from what a batch does.
    """
    if sum(map(len, parts)) < FEWEST_TO_TRY:
        return parts
    longer, shorter = (3 * len(parts)) // 4, len(parts) // 4
    cut = max(1, len(parts[longer]) // 8)
    parts[longer], long = parts[longer][:-cut], parts[longer][-cut:]
    cut = max(1, len(parts[shorter]) // 3)
    short, parts[shorter] = parts[shorter][:cut], parts[shorter][cut:]
    return [*(part for part in parts if len(part)), short, long]


def _within(rows: np.ndarray, encoded: Encoded, tokens: int) -> Iterator[np.ndarray]:
    """Texts sorted by size, cut so that the rows they make × longest, of both texts, stays within the budget."""
    seconds, lengths, steps = encoded.second_lengths, encoded.lengths[rows], encoded.steps[rows]
    beside = np.zeros(len(rows), np.int64) if seconds is None else seconds[rows] + 2
    start = 0
    while start < len(rows):
        end, longest, widest, made = start + 1, lengths[start], beside[start], steps[start]
        while end < len(rows):
            longest, widest, made = max(longest, lengths[end]), max(widest, beside[end]), made + steps[end]
            if made * (longest + 2 + widest) > tokens:
                break
            end += 1
        yield rows[start:end]
        start = end


def shuffled(encoded: Encoded, size: int, generator: torch.Generator, *, pool: int = 64) -> Iterator[Batch]:
    """One training epoch: random batches of like length (sorted inside pools of ``pool`` batches)."""
    order = torch.randperm(len(encoded), generator=generator).numpy()
    parts: list[np.ndarray] = []
    for start in range(0, len(order), size * pool):
        rows = order[start : start + size * pool]
        rows = rows[np.argsort(encoded.lengths[rows], kind="stable")]
        parts.extend(rows[i : i + size] for i in range(0, len(rows), size))
    for i in torch.randperm(len(parts), generator=generator).tolist():
        yield encoded.batch(parts[i])
