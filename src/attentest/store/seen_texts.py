"""Which texts a model was trained on, kept as hashes, so that an audit can say which of its texts it has seen."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from attentest.data.corpus import Split
from attentest.store.atomic import replacing

__all__ = ["hashes", "keep_texts", "seen_among"]


def hashes(split: Split) -> np.ndarray:
    """A 64-bit hash of every text, to tell whether two splits share some."""
    texts = (" ".join(tokens) for tokens in split.table["tokens"].to_pylist())
    if split.has("second"):
        seconds = (" ".join(tokens) for tokens in split.table["second"].to_pylist())
        texts = ("\x1f".join(pair) for pair in zip(texts, seconds, strict=True))
    return np.array(
        [int.from_bytes(hashlib.blake2b(t.encode(), digest_size=8).digest(), "big") for t in texts], dtype=np.uint64
    )


def keep_texts(split: Split, path: Path) -> None:
    """Keep the hashes of the texts that a model was trained on, each once."""
    with replacing(path) as temporary:
        temporary.write_bytes(np.unique(hashes(split)).tobytes())


def seen_among(split: Split, path: Path) -> int:
    """How many of these texts are among those whose hashes were kept."""
    known = np.frombuffer(path.read_bytes(), dtype=np.uint64)
    return int(np.isin(hashes(split), known).sum())
