"""Shapes are checked while testing; everything runs on one thread, as in a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.support.shapes import check_shapes

check_shapes("attentest.measures", "attentest.models", "attentest.explainers", "attentest.challenges")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

import attentest  # noqa: E402
from attentest.catalogue.entries import REGISTRIES  # noqa: E402
from attentest.data.batches import Batch, Encoded  # noqa: E402
from attentest.data.corpus import Corpus, Provenance, Split  # noqa: E402
from attentest.data.vocabulary import Vocabulary  # noqa: E402
from attentest.models.networks.classifier import Architecture, Classifier  # noqa: E402
from attentest.progress import Silent  # noqa: E402

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in its background
torch.set_num_threads(1)
threadpool_limits(1, "blas")  # NumPy's
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # what is loaded later, here and in processes that tests start
os.environ.setdefault("COLUMNS", "120")
#: Where processes that tests start find the tests, and the same attentest as here.
os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(found).parents[1]) for found in (__file__, attentest.__file__))

WORDS = [f"word{i}" for i in range(60)]


class Heard(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def made_up_split(count: int = 12, low: int = 1, high: int = 12, seed: int = 0, classes: int = 2) -> Split:
    """Random texts of random lengths."""
    rng = np.random.default_rng(seed)
    tokens = [[WORDS[i] for i in rng.integers(0, len(WORDS), rng.integers(low, high + 1))] for _ in range(count)]
    rationale = [(rng.random(len(t)) < 0.3).tolist() for t in tokens]
    labels = [int(i % classes) for i in range(count)]
    return Split.of([f"made-up-{seed}-{i}" for i in range(count)], tokens, labels, rationale=rationale)


def made_up_corpus(classes: int = 2, count: int = 60) -> Corpus:
    """A corpus whose label is whether a telling word occurs."""
    rng = np.random.default_rng(5)
    splits = {}
    for name, size in (("train", count), ("dev", 24), ("test", 30)):
        tokens, labels, marks = [], [], []
        for i in range(size):
            text = [WORDS[j] for j in rng.integers(0, 30, rng.integers(3, 10))]
            at = int(rng.integers(0, len(text)))
            text[at] = f"telling{i % classes}"
            tokens.append(text)
            labels.append(i % classes)
            marks.append([j == at for j in range(len(text))])
        splits[name] = Split.of([f"{name}-{i}" for i in range(size)], tokens, labels, rationale=marks)
    names = tuple(f"class{i}" for i in range(classes))
    return Corpus("made-up", names, splits, Provenance("made up", "none", rationale="planted"))


@pytest.fixture(autouse=True, scope="module")
def _registries_stay() -> Iterator[None]:
    """What a module's tests register they take out again: any other test may follow on the same worker."""
    before = {kind: dict(registry.own) for kind, registry in REGISTRIES.items()}
    yield
    after = {kind: dict(registry.own) for kind, registry in REGISTRIES.items()}
    changed = {kind: sorted(set(after[kind]) ^ set(before[kind])) for kind in REGISTRIES if after[kind] != before[kind]}
    assert not changed, f"registered and left: {changed}"


@pytest.fixture
def split() -> Split:
    return made_up_split()


def classifier(architecture: Architecture, split: Split, classes: int = 2, seed: int = 0) -> tuple[Classifier, Encoded]:
    """An untrained model whose attention is peaked enough to be worth testing."""
    vocabulary = Vocabulary.from_split(split)
    model = Classifier(architecture, len(vocabulary), classes, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter.mul_(4)
        for parameter in model.head.parameters():
            parameter.mul_(6)
    return model.eval(), Encoded.of(split, vocabulary)


def whole(encoded: Encoded) -> Batch:
    """All rows in one batch."""
    return encoded.batch(np.arange(len(encoded)))
