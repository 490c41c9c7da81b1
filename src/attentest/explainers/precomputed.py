"""Precomputed scores: those of another tool, looked up by the text's id, so that every challenge can judge them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import SPECIAL, Vocabulary
from attentest.errors import InputError
from attentest.explainers.explainer import Attribution, Explainer
from attentest.measures.packing import ordinals
from attentest.models.subject import Reading, Subject
from attentest.store.atomic import checksum
from attentest.store.scores import read_scores

__all__ = ["Precomputed"]


@dataclass(frozen=True)
class Precomputed(Explainer):
    """The scores in a file that ``attentest scores import`` wrote; the model is not asked.

    Scores that another tool computed, [imported](../../how-to/explain.md#scores-from-other-tools) for the texts of
    a run. They are looked up by the text's id, so that every challenge can compare, rank and test them like any
    other explainer's. A text without scores is an error.

    They are for the class they were computed for, whichever that was.
    """

    name: ClassVar[str] = "precomputed"
    summary: ClassVar[str] = "scores of another tool, imported"
    reference: ClassVar[str] = "—"
    cost: ClassVar[str] = "nothing: they are looked up"
    checked: ClassVar[str] = "when imported: every text there once, a finite score for every token"
    signed: ClassVar[bool] = True
    file: Annotated[
        str,
        "The file that `attentest scores import` wrote, such as "
        "`runs/reviews-1a2b3c4d5e/findings/scores-mine.parquet`.",
    ] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.file:
            raise InputError("precomputed: file='' must name a file that 'attentest scores import' wrote.")
        if "~" in self.file:
            raise InputError(f"precomputed: file={self.file!r} must not hold '~', which parts the pairs of agreement.")

    @property
    def fingerprint(self) -> str:
        """A hash of what the file holds: other scores are other findings, whatever the file is called."""
        return checksum(self._path)[:12]

    @property
    def _path(self) -> Path:
        path = Path(self.file)
        if not path.is_file():
            raise InputError(f"precomputed: there is no file {self.file}. 'attentest scores import' writes one.")
        return path

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Every text's scores at its real tokens."""
        about = self._path.stat()
        kept = _kept(self._path, about.st_mtime_ns, about.st_size)
        keys, lengths = batch.keys.cpu().numpy(), batch.mask.sum(-1).cpu().numpy()
        place = np.searchsorted(kept.keys, keys).clip(max=len(kept.keys) - 1)
        if missing := int((kept.keys[place] != keys).sum()):
            raise InputError(
                f"{self.file} has no scores for {missing:,} of these {len(keys):,} texts. Import scores of the texts "
                "that are examined, every one of them."
            )
        if (wrong := kept.lengths[place] != lengths).any():
            row = int(wrong.argmax())
            raise InputError(
                f"{self.file}: a text has {kept.lengths[place][row]} scores and {lengths[row]} tokens here. "
                "Examine the texts it was made for."
            )
        at = torch.from_numpy(kept.begins[place]).to(batch.mask.device)[:, None] + ordinals(batch.mask)
        values = torch.from_numpy(kept.values).to(batch.mask.device)
        return Attribution(torch.where(batch.mask, values[at.clamp(max=len(values) - 1)], 0.0))


@dataclass(frozen=True)
class _Kept:
    """A file's scores in one array, found by the texts' keys, which are sorted."""

    keys: np.ndarray
    begins: np.ndarray
    lengths: np.ndarray
    values: np.ndarray


@lru_cache(maxsize=8)
def _kept(path: Path, written: int, size: int) -> _Kept:
    """The file's scores; when it was written and its size tell it from a later one of the same name."""
    ids, tokens, scores = read_scores(path)
    keys = Encoded.of(Split.of(ids, tokens, [0] * len(ids)), Vocabulary(SPECIAL)).keys
    lengths = np.array([len(one) for one in scores], dtype=np.int64)
    begins = np.cumsum(lengths) - lengths
    order = np.argsort(keys, kind="stable")
    return _Kept(keys[order], begins[order], lengths[order], np.concatenate([*scores]))
