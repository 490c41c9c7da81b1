"""Speed, measured side by side in one run: this package, the papers' literal algorithms, captum.

python -m benchmarks [--corpus sst] [--instances 300] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from captum.attr import FeatureAblation, InputXGradient
from rich.console import Console
from rich.table import Table

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.data.batches import Batch, Encoded, bucketed
from attentest.data.corpora import CORPORA
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.measures.adversary.strongest import strongest_adversary
from attentest.measures.rank import kendall
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.training.loop import Training, fit
from attentest.training.objectives import CrossEntropy
from benchmarks import ended, literal, saliency


def timed(work: Callable[[], object]) -> float:
    """Wall seconds of one call, after one call on the side to warm up if it was quick."""
    started = time.perf_counter()
    work()
    first = time.perf_counter() - started
    if first > 5:
        return first
    started = time.perf_counter()
    work()
    return min(first, time.perf_counter() - started)


class Bench:
    """A trained model, its test texts in our buckets and in the papers' batches of 32."""

    def __init__(self, corpus: str, instances: int) -> None:
        loaded = CORPORA.parse(corpus).load()
        self.corpus = loaded.name
        vocabulary = Vocabulary.from_split(loaded["train"], loaded.min_frequency)
        self.model = Classifier(Architecture(), len(vocabulary), len(loaded.classes), torch.Generator().manual_seed(0))
        train, dev = (Encoded.of(loaded[name], vocabulary) for name in ("train", "dev"))
        fit(self.model, train, dev, Training(epochs=2), seed=0)
        split = loaded["test"]
        rows = np.random.default_rng(0).permutation(len(split))[:instances]
        self.split = split.take(sorted(rows.tolist()))
        encoded = Encoded.of(self.split, vocabulary)
        self.ours = [batch for chunk in bucketed(encoded) for batch in chunk]
        self.theirs = [encoded.batch(np.arange(i, min(i + 32, len(encoded)))) for i in range(0, len(encoded), 32)]
        self.packed = literal.Packed(self.model)
        self.count = len(encoded)

    def examined(self, batch: Batch) -> Examination:
        with torch.no_grad():
            return Examination(self.model, batch, self.model.read(batch), 0, None)

    def certified(self) -> None:
        for batch in self.ours:
            examined = self.examined(batch)
            z = examined.reading.token_logits
            strongest_adversary(examined.weights, z[..., 1] - z[..., 0], batch.mask, 0.01)

    def permuted(self) -> None:
        challenge = CHALLENGES.parse("permutation")
        for batch in self.ours:
            challenge.examine(self.examined(batch))

    def explained(self, name: str) -> None:
        explainer = EXPLAINERS.parse(name)
        for batch in self.ours:
            explainer.scores(self.model, batch, self.examined(batch).reading)

    def captum(self, method: type, **options: object) -> None:
        for batch in self.theirs:
            with torch.no_grad():
                predicted = self.model.read(batch).predicted
            embedded = self.model.embed(batch).detach().requires_grad_()

            def output(e: torch.Tensor, *, batch: Batch = batch, predicted: torch.Tensor = predicted) -> torch.Tensor:
                return margin(self.model.read(batch, embeddings=e).logits, predicted)

            if method is FeatureAblation:
                positions = torch.arange(embedded.shape[1])[None, :, None].expand_as(embedded)
                options = {"feature_mask": positions}
            method(output).attribute(embedded, **options)

    def step(self, packed: bool) -> None:
        objective = CrossEntropy()
        for batch in self.theirs:
            if packed:
                loss = -(self.packed.probabilities(batch.text.tokens, batch.text.lengths, batch.mask)[:, 1]).log().sum()
            else:
                loss = objective(self.model(batch), batch)
            loss.backward()
            self.model.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="reviews")
    parser.add_argument("--instances", type=int, default=256)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    console = Console()
    with console.status("Training a small model …"):
        bench = Bench(given.corpus, given.instances)
    generator = torch.Generator().manual_seed(0)
    pairs = [(*torch.rand(2, *b.mask.shape, generator=generator).double(), b.mask) for b in bench.ours]
    work: list[tuple[str, str, Callable[[], object], Callable[[], object]]] = [
        ("adversary, certified optimum", "search, k=5, 500 steps",
         lambda: [literal.adversary(bench.packed, b) for b in bench.theirs], bench.certified),
        ("adversary, the same search", "search by autograd",
         lambda: [literal.adversary(bench.packed, b) for b in bench.theirs],
         lambda: [CHALLENGES.parse("adversary")._searched(bench.examined(b)) for b in bench.ours]),
        ("permutation × 100, with exact moments", "loop over draws",
         lambda: [literal.permutation(bench.packed, b) for b in bench.theirs], bench.permuted),
        ("deletion", "loop over positions, packed LSTM",
         lambda: [literal.deletion(bench.packed, b) for b in bench.theirs], lambda: bench.explained("leave_one_out")),
        ("deletion", "captum FeatureAblation (zeroed, not deleted)",
         lambda: bench.captum(FeatureAblation), lambda: bench.explained("leave_one_out")),
        ("gradient × embedding", "captum InputXGradient",
         lambda: bench.captum(InputXGradient), lambda: bench.explained("gradient(path='full')")),
        ("Kendall τ-b with p-values", "SciPy loop",
         lambda: [literal.kendall(*p) for p in pairs], lambda: [kendall(*p) for p in pairs]),
        ("forward and backward pass", "packed LSTM", lambda: bench.step(True), lambda: bench.step(False)),
        *saliency.work(),
    ]  # fmt: skip
    table = Table("work", "beside", "theirs, s", "ours, s", "times faster")
    rows = []
    for name, beside, theirs, ours in work:
        with console.status(name):
            slow, fast = timed(theirs), timed(ours)
        rows.append({"work": name, "beside": beside, "theirs": slow, "ours": fast, "ratio": slow / fast})
        table.add_row(name, beside, f"{slow:.3f}", f"{fast:.3f}", f"{slow / fast:.1f}")
    console.print(table)
    about = f"{bench.corpus}, {bench.count} instances, one thread, torch {torch.__version__}, {platform.machine()}"
    console.print(about)
    if given.out:
        given.out.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    ended(main)
