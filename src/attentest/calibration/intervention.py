"""Ask a model about texts of a world in which units were exchanged."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.calibration.shapley import Drawn
from attentest.data.batches import Batch, Sequences
from attentest.data.vocabulary import END, START, UNKNOWN, Vocabulary
from attentest.data.worlds.text import Text
from attentest.models.subject import Reading, Subject

__all__ = ["Interviewer", "log_odds"]

#: So many positions are read at once.
POSITIONS = 2**17


def log_odds(logits: Float[Tensor, "row class"], of: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
    """The log-odds of a class against all others: nothing bounds it, and two classes' scales with them."""
    logits = logits.double()
    own = logits.gather(-1, of[:, None])[:, 0]
    others = logits.scatter(-1, of[:, None], -torch.inf).logsumexp(-1)
    return own - others


class Interviewer:
    """A text of a world, to be put to a model with any choice of its units' options."""

    def __init__(self, subject: Subject, vocabulary: Vocabulary, text: Text) -> None:
        self.subject, self.text = subject, text
        index = vocabulary.index
        self.width = len(text.words)
        self.options = [
            np.array([[index.get(word, UNKNOWN) for word in option] for option in unit.options]) for unit in text.units
        ]
        self.own = np.array([unit.chosen for unit in text.units])
        counts = np.array([len(unit.options) for unit in text.units])
        self.drawn = Drawn(counts, np.array([unit.joint for unit in text.units]))
        self.query = np.array([index.get(word, UNKNOWN) for word in text.query], dtype=np.int64)

    def words(self, choices: Int[np.ndarray, "row unit"]) -> Int[np.ndarray, "row word"]:
        """The words' numbers, for every choice of options."""
        made: np.ndarray = np.empty((len(choices), self.width), dtype=np.int64)
        for number, (unit, options) in enumerate(zip(self.text.units, self.options, strict=True)):
            made[:, list(unit.places)] = options[choices[:, number]]
        return made

    def batch(self, choices: Int[np.ndarray, "row unit"]) -> Batch:
        """The texts as a batch."""
        rows = len(choices)
        second = None if not len(self.query) else _sequences(np.repeat(self.query[None], rows, axis=0))
        nothing = torch.zeros(rows, dtype=torch.long)
        batch = Batch(_sequences(self.words(choices)), nothing, torch.arange(rows), torch.arange(rows), second)
        return batch.to(self.subject.device)

    @torch.no_grad()
    def read(self, choices: Int[np.ndarray, "row unit"]) -> Reading:
        """All of it, read at once."""
        return self.subject.read(self.batch(choices))

    @torch.no_grad()
    def logits(self, choices: Int[np.ndarray, "row unit"]) -> Float[Tensor, "row class"]:
        """What the model says; as many texts at once as there is room for."""
        step = max(1, POSITIONS // (self.width + len(self.query) + 4))
        parts = [self.subject.read(self.batch(choices[i : i + step])).logits for i in range(0, len(choices), step)]
        return torch.cat(parts).cpu()


def _sequences(words: Int[np.ndarray, "row word"]) -> Sequences:
    rows, width = words.shape
    tokens = np.column_stack([np.full(rows, START), words, np.full(rows, END)])
    mask = np.ones((rows, width + 2), dtype=bool)
    mask[:, [0, -1]] = False
    return Sequences(torch.from_numpy(tokens), torch.full((rows,), width + 2), torch.from_numpy(mask))
