"""How much is examined at once: what a device has room for at first, and less where memory runs out."""

from __future__ import annotations

import threading

from attentest.data.batches import Batch, Encoded
from attentest.models.capabilities import CutsWords
from attentest.models.subject import Subject

__all__ = ["BatchLimit"]

#: Padded positions in a batch: a core's cache is small, a GPU waits for every batch.
POSITIONS = {"cpu": 4096, "cuda": 65_536}
#: Of more classes than this fewer positions go together, since most of what is held has a logit for every class; but
#: no fewer than FEWEST, where the work at a position outweighs that of beginning a batch.
CLASSES, FEWEST = 128, 512


class BatchLimit:
    """The largest batch, in padded positions; it shrinks to what was found to fit, and stays so."""

    def __init__(self, subject: Subject, encoded: Encoded) -> None:
        kind = subject.device.type
        most = POSITIONS.get(kind, POSITIONS["cpu"])
        self.positions = min(most, max(FEWEST, most * CLASSES // subject.classes))
        #: What texts of a batch are to have alike: their words, or the pieces that the model reads.
        self.sizes = encoded.lengths
        if isinstance(subject, CutsWords):
            self.sizes = subject.piece_counts(encoded)
            fits = subject.pieces_that_fit(int(self.sizes.max(initial=1)))
            self.positions = max(1, min(self.positions, fits))
        self._lock = threading.Lock()
        self._news = False
        self._said = False

    def holds(self, batch: Batch) -> bool:
        """Whether a batch may be tried as it is; one text always may."""
        return batch.texts == 1 or batch.text.tokens.numel() <= self.positions

    def shrink(self, batch: Batch) -> None:
        """Memory ran out on this batch: none of more than half of it is tried again."""
        rows, width = batch.text.tokens.shape
        with self._lock:
            self.positions = min(self.positions, -(-rows // 2) * width)
            self._news = not self._said

    def news(self) -> str | None:
        """What fits, to be said once a batch has fitted after memory ran out; None where there is nothing to say."""
        with self._lock:
            if not self._news:
                return None
            self._news, self._said = False, True
            return f"Memory ran out: from here on at most {self.positions} words, padding included, are read at once."
