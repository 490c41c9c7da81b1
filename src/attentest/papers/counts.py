"""What a run counted of its texts, in corpus.json, as a paper's table of corpora prints it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attentest.papers.rules import CorpusRule, Count

__all__ = ["COUNTS", "DECIMALS", "counted"]

COUNTS = "corpus.json"
#: Means and standard deviations: of what, and which of the two.
_MOMENTS = {
    "mean length": ("length", 1),
    "spread of length": ("length", 2),
    "mean sentences": ("sentences", 1),
    "spread of sentences": ("sentences", 2),
}
#: So many decimals are shown; of a number of things none.
DECIMALS = dict.fromkeys(_MOMENTS, 1)


def counted(counts: Mapping[str, Any], what: Count, corpus: CorpusRule, label: str) -> float | None:
    """A number of corpus.json; None where it does not hold that.

    Raises KeyError, TypeError, AttributeError or ValueError where it is none.
    """
    if what == "vocabulary":
        return float(counts["vocabulary" if corpus.vocabulary == "train" else "vocabulary_of_all_splits"])
    splits: Mapping[str, Any] = counts["splits"]
    if what == "classes":
        return float(len(splits["train"]["by_class"]))
    if what in _MOMENTS:
        return _moment([splits[name] for name in corpus.length if name in splits], *_MOMENTS[what])
    names = corpus.train if what == "texts in train" else ("test",)
    chosen = [splits[name] for name in names if name in splits]
    sizes = [split["by_class"].get(label, 0) if label else split["texts"] for split in chosen]
    return float(sum(sizes)) if sizes else None


def _moment(splits: Sequence[Mapping[str, Any]], of: str, moment: int) -> float | None:
    """The mean, or the standard deviation, over the texts of several splits together."""
    chosen = [split for split in splits if split["texts"]]
    texts = sum(split["texts"] for split in chosen)
    if not texts or any(f"mean_{of}" not in split or (moment == 2 and f"sd_{of}" not in split) for split in chosen):
        return None
    mean = sum(split["texts"] * split[f"mean_{of}"] for split in chosen) / texts
    if moment == 1:
        return float(mean)
    squares = sum(split["texts"] * (split[f"sd_{of}"] ** 2 + split[f"mean_{of}"] ** 2) for split in chosen) / texts
    return math.sqrt(max(squares - mean**2, 0.0))
