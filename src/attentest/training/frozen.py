"""Training that leaves the word embeddings as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch import nn

__all__ = ["frozen_embeddings"]

#: The tables of word embeddings that a classifier may have.
TABLES = ("embedding", "second_embedding")


@contextlib.contextmanager
def frozen_embeddings(network: nn.Module) -> Iterator[None]:
    """Within, no table of word embeddings learns."""
    parts = dict(network.named_children())
    tables = [parameter for name in TABLES if name in parts for parameter in parts[name].parameters()]
    for table in tables:
        table.requires_grad_(False)
    try:
        yield
    finally:
        for table in tables:
            table.requires_grad_(True)
