"""The shuffles that the challenge ``permutation`` drew: hashes of seed and text, so that they can be had again.

The one module here that needs torch, and only for models whose head is not affine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

__all__ = ["first_shuffles"]


def first_shuffles(ids: Sequence[str], lengths: Sequence[int], seed: int) -> list[np.ndarray]:
    """Of every text, the places that its first drawn permutation gathers weights from."""
    import torch

    from attentest.measures.chance import permutations

    keys = [int.from_bytes(hashlib.blake2b(i.encode(), digest_size=7).digest(), "big") for i in ids]
    found = []
    for key, length in zip(keys, lengths, strict=True):
        mask = torch.ones((1, length), dtype=torch.bool)
        found.append(permutations(torch.tensor([key]), 1, mask, seed)[0, 0].numpy())
    return found
