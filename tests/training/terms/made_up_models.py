"""Small models whose states are as large as their embeddings, and a batch to train them on."""

from __future__ import annotations

import torch
from tests.conftest import classifier, made_up_corpus, made_up_split, whole

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Corpus
from attentest.data.vocabulary import Vocabulary
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from attentest.training.frozen import frozen_embeddings
from attentest.training.loop import Epoch, Training, fit, task_objective
from attentest.training.resume import Resume
from attentest.training.terms import terms_named
from attentest.training.terms.objective import WithTerms

__all__ = ["TIED", "batch_of", "chance", "fitted"]

TIED = Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=12)


def batch_of(architecture: Architecture = TIED, texts: int = 12) -> tuple[Classifier, Batch]:
    """An untrained model and texts of different lengths, some of one token."""
    model, encoded = classifier(architecture, made_up_split(texts))
    return model, whole(encoded)


def chance(seed: int = 0) -> torch.Generator:
    """Random numbers on the CPU."""
    return torch.Generator().manual_seed(seed)


def fitted(
    *texts: str,
    architecture: Architecture = TIED,
    corpus: Corpus | None = None,
    freeze: bool = False,
    epochs: int = 3,
    rate: float = 1e-3,
    resume: Resume | None = None,
) -> tuple[Classifier, Encoded, list[Epoch]]:
    """A model trained with these terms, as a run trains it."""
    corpus = corpus or made_up_corpus()
    vocabulary = Vocabulary.from_split(corpus["train"])
    training = Training(epochs=epochs, batch_size=8, learning_rate=rate)
    model = Classifier(architecture, len(vocabulary), len(corpus.classes), torch.Generator().manual_seed(0))
    train, dev = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev"))
    terms = terms_named(texts)
    added = tuple(term.over(corpus["train"], model.device) for term in terms)
    objective = WithTerms(task_objective(model, train, training), model, added)
    asked = {"objective": objective, "resume": resume}
    if freeze or any(term.freezes_embeddings for term in terms):
        with frozen_embeddings(model):
            return model, train, fit(model, train, dev, training, seed=3, **asked)
    return model, train, fit(model, train, dev, training, seed=3, **asked)
