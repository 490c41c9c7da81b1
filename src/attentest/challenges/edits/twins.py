"""Texts that people edited until their label changed, and what they edited them from: found by their ids, in one split.

`cad_imdb` calls them ``7-o`` and ``7-r``, `cad_snli` ``test-original-3`` and ``test-revised_premise-6`` (and ``-7``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attentest.data.corpora.cad_snli import edited
from attentest.data.corpus import Split
from attentest.data.rationales import Rationales

__all__ = ["EditedTexts", "twin_ids"]

#: Endings of ids that are versions of a text.
VERSIONS = {"o": "r", "r": "o"}
REVISED = ("premise", "hypothesis")


def twin_ids(name: str) -> list[str]:
    """What the other versions of a text may be called."""
    begin, _, end = name.rpartition("-")
    if end in VERSIONS:
        return [f"{begin}-{VERSIONS[end]}"]
    split, _, version = begin.partition("-")
    if not end.isdecimal():
        return []
    if version == "original":
        return [f"{split}-revised_{which}-{2 * int(end) + n}" for which in REVISED for n in (0, 1)]
    return [f"{split}-original-{int(end) // 2}"] if version.startswith("revised_") else []


@dataclass(frozen=True)
class EditedTexts:
    """For every text of a split the row of its other version, and which words of the text that version lacks."""

    split: Split
    #: The row of the other version, −1 where there is none; of several, the first whose second text is the same.
    twin: np.ndarray
    #: Whether a text is what others were made from.
    original: np.ndarray

    @classmethod
    def of(cls, split: Split) -> EditedTexts | None:
        """The split's; None where no text has another version."""
        names = split.ids
        rows = {name: row for row, name in enumerate(names)}
        found = [[rows[twin] for twin in twin_ids(name) if twin in rows] for name in names]
        if not any(found):
            return None
        second = split.table["second"].to_pylist() if split.has("second") else None
        twin = [
            next((row for row in others if second is None or second[row] == second[own]), -1)
            for own, others in enumerate(found)
        ]
        original = [name.endswith("-o") or "-original-" in name for name in names]
        return cls(split, np.array(twin, np.int64), np.array(original, bool))

    @cached_property
    def changed(self) -> Rationales:
        """Flags of the words of every text that its other version does not keep; none where there is no other."""
        tokens = self.split.table["tokens"].to_pylist()
        offsets = np.concatenate([[0], np.cumsum(self.split.lengths)])
        values = np.zeros(offsets[-1], bool)
        for row, twin in enumerate(self.twin):
            if twin >= 0:
                lost, _ = edited(tokens[row], tokens[twin])
                values[offsets[row] + np.fromiter(lost, np.int64)] = True
        return Rationales(values, offsets)
