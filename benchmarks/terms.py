"""What loss terms cost: one training epoch with each beside one without, in one run, in seconds of one thread.

python -m benchmarks.terms [--corpus sst] [--encoder "bilstm(hidden=150)"] [--embedding 300] [--rounds 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import nullcontext
from time import process_time

import torch

from attentest.data.batches import Encoded
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus
from attentest.data.vocabulary import Vocabulary
from attentest.devices import reproducibly
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from attentest.training.frozen import frozen_embeddings
from attentest.training.loop import Training, fit, task_objective
from attentest.training.terms import TERMS
from attentest.training.terms.objective import WithTerms
from benchmarks import ended


def seconds(corpus: Corpus, architecture: Architecture, name: str) -> float:
    """Of the processor for one epoch, dev included; frozen is no term but embeddings that are not trained."""
    vocabulary, training = Vocabulary.from_split(corpus["train"], corpus.min_frequency), Training(epochs=1)
    train, dev = (Encoded.of(corpus[split], vocabulary) for split in ("train", "dev"))
    model = Classifier(architecture, len(vocabulary), len(corpus.classes), torch.Generator().manual_seed(0))
    term = TERMS.parse(name) if name in TERMS else None
    added = () if term is None else (term.over(corpus["train"], model.device),)
    frozen = name == "frozen embeddings" or (term is not None and term.freezes_embeddings)
    objective = WithTerms(task_objective(model, train, training), model, added)
    with reproducibly(), frozen_embeddings(model) if frozen else nullcontext():
        started = process_time()
        fit(model, train, dev, training, seed=0, objective=objective)
        return process_time() - started


def names(corpus: Corpus) -> Iterator[str]:
    """Nothing, frozen embeddings, and every term that the corpus has what it takes for."""
    yield from ("none", "frozen embeddings")
    yield from (name for name, term in TERMS.items() if term().lacking(corpus["train"]) is None)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--encoder", default="bilstm(hidden=150)")
    parser.add_argument("--embedding", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=1, help="the fastest of so many counts")
    given = parser.parse_args()
    corpus = CORPORA.parse(given.corpus).load()
    architecture = Architecture(ENCODERS.parse(given.encoder), embedding=given.embedding)
    words = len(Vocabulary.from_split(corpus["train"], corpus.min_frequency))
    print(f"{given.corpus}: {len(corpus['train'])} texts to train on, {words} words, {given.encoder}")
    print("| term | s an epoch | times none |\n| --- | ---: | ---: |")
    best: dict[str, float] = {}
    for _ in range(given.rounds):
        for name in names(corpus):
            best[name] = min(best.get(name, float("inf")), seconds(corpus, architecture, name))
    for name, took in best.items():
        print(f"| {name} | {took:.1f} | {took / best['none']:.2f} |")


if __name__ == "__main__":
    ended(main)
