"""Made-up pairs of texts, and untrained models of them."""

from __future__ import annotations

import numpy as np
from tests.conftest import WORDS, classifier

from attentest.data.batches import Encoded
from attentest.data.corpus import Corpus, Provenance, Split
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS


def made_up_pairs(count: int = 9, low: int = 1, high: int = 9, seed: int = 0, classes: int = 3) -> Split:
    """Random pairs of random lengths."""
    rng = np.random.default_rng(seed)

    def texts() -> list[list[str]]:
        return [[WORDS[i] for i in rng.integers(0, 20, rng.integers(low, high + 1))] for _ in range(count)]

    tokens, second = texts(), texts()
    rationale = [(rng.random(len(t)) < 0.3).tolist() for t in tokens]
    labels = [i % classes for i in range(count)]
    return Split.of([f"pair-{seed}-{i}" for i in range(count)], tokens, labels, second=second, rationale=rationale)


def pair_model(
    encoder: str,
    attention: str = "additive",
    head: str | None = None,
    query: str = "separate",
    *,
    split: Split | None = None,
    classes: int = 3,
) -> tuple[Classifier, Encoded]:
    """An untrained model of pairs, and pairs."""
    made = Architecture(
        ENCODERS.parse(encoder),
        ATTENTIONS.parse(attention),
        None if head is None else HEADS.parse(head),
        10,
        query=query,
    )
    return classifier(made, made_up_pairs() if split is None else split, classes)


def made_up_questions(count: int = 160) -> Corpus:
    """Which colour does the thing have that is asked for? Nothing but the query tells which of two words decides."""
    things, colours = ("cup", "box"), ("red", "blue", "green")
    rng = np.random.default_rng(3)
    splits = {}
    for name, size in (("train", count), ("dev", 45), ("test", 90)):
        tokens, second, labels, marks = [], [], [], []
        for _ in range(size):
            given = rng.integers(0, 3, 2)
            asked = int(rng.integers(0, 2))
            order = rng.permutation(2)
            text = [
                word for t in order for word in (f"{colours[given[t]]}-{things[t]}", WORDS[int(rng.integers(0, 20))])
            ]
            tokens.append(text)
            second.append(["which", things[asked], "?"])
            labels.append(int(given[asked]))
            marks.append([word.endswith(things[asked]) for word in text])
        ids = [f"{name}-{i}" for i in range(size)]
        splits[name] = Split.of(ids, tokens, labels, second=second, rationale=marks)
    return Corpus("questions", colours, splits, Provenance("made up", "none", rationale="planted"), task="answer")
