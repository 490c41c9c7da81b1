"""Speed, measured side by side in one run: this package, the papers' literal algorithms, captum.

python -m benchmarks [--corpus sst] [--instances 300] [--full] [--rounds 5] [--out FILE.json]

Each row is measured in turns: medians, their spread, and the most memory that the process held.
"""

from __future__ import annotations

import argparse
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
from attentest.errors import AttentestError
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.measures.adversary.strongest import strongest_adversary
from attentest.measures.rank import kendall
from attentest.models.copies import copies
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.training.loop import Training, fit
from attentest.training.objectives import CrossEntropy
from benchmarks import ended, literal, measuring, saliency


class Bench:
    """A trained model, its test texts in our buckets and in the papers' batches of 32."""

    def __init__(self, corpus: str, instances: int) -> None:
        loaded = CORPORA.parse(corpus).load()
        self.corpus = loaded.name
        vocabulary = Vocabulary.from_split(loaded["train"], loaded.min_frequency)
        self.model = Classifier(Architecture(), len(vocabulary), len(loaded.classes), torch.Generator().manual_seed(0))
        train, dev = (Encoded.of(loaded[name], vocabulary) for name in ("train", "dev"))
        fit(self.model, train, dev, Training(epochs=2), seed=0)
        self.train = train
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

    def ablated(self, size: int) -> None:
        """captum's ablation, all texts of a batch at once, so many positions at a time."""
        for batch in self.theirs:
            with torch.no_grad():
                predicted = self.model.read(batch).predicted
                embedded = self.model.embed(batch).detach()

                def output(e: torch.Tensor, rows: torch.Tensor, *, batch: Batch = batch, to: torch.Tensor = predicted):
                    return margin(self.model.read(copies(batch, rows), embeddings=e).logits, to[rows])

                positions = torch.arange(embedded.shape[1])[None, :, None].expand_as(embedded)
                rows = torch.arange(len(batch))
                FeatureAblation(output).attribute(
                    embedded, additional_forward_args=(rows,), feature_mask=positions, perturbations_per_eval=size
                )

    def step(self, packed: bool) -> None:
        self._steps(packed, self.theirs, None)

    def epoch(self, packed: bool) -> None:
        """Every training text once in batches of 32, in one order for both, with Adam; on a copy of the model."""
        kept = {name: value.clone() for name, value in self.model.state_dict().items()}
        lstm = {name: value.clone() for name, value in self.packed.lstm.state_dict().items()}
        order = np.random.default_rng(0).permutation(len(self.train))
        batches = [self.train.batch(np.sort(order[at : at + 32])) for at in range(0, len(order), 32)]
        held = [*self.model.parameters(), *(self.packed.lstm.parameters() if packed else ())]
        self._steps(packed, batches, torch.optim.Adam(held))
        self.model.load_state_dict(kept)
        self.packed.lstm.load_state_dict(lstm)

    def _steps(self, packed: bool, batches: list[Batch], optimizer: torch.optim.Optimizer | None) -> None:
        objective = CrossEntropy()
        for batch in batches:
            if packed:
                likely = self.packed.probabilities(batch.text.tokens, batch.text.lengths, batch.mask)
                loss = torch.nn.functional.nll_loss(likely.log(), batch.labels)
            else:
                loss = objective(self.model(batch), batch)
            loss.backward()
            if optimizer is not None:
                optimizer.step()
                optimizer.zero_grad()
            self.model.zero_grad()

    def battery(self) -> None:
        """What Jain & Wallace ask of every text, each batch read once: adversary, shuffles, deletion, gradients, τ."""
        permutation = CHALLENGES.parse("permutation")
        for batch in self.ours:
            examined = self.examined(batch)
            z = examined.reading.token_logits
            strongest_adversary(examined.weights, z[..., 1] - z[..., 0], batch.mask, 0.01)
            permutation.examine(examined)
            for name in ("leave_one_out", "gradient(path='full')"):
                kendall(examined.weights.double(), examined.scores(name).double(), batch.mask)

    def literal_battery(self) -> None:
        for batch in self.theirs:
            literal.adversary(self.packed, batch)
            literal.permutation(self.packed, batch)
            weights = self.examined(batch).weights.double()
            embedded = self.model.embed(batch).detach().requires_grad_()
            with torch.no_grad():
                predicted = self.model.read(batch).predicted
            (slope,) = torch.autograd.grad(
                margin(self.model.read(batch, embeddings=embedded).logits, predicted).sum(), embedded
            )
            for scores in (literal.deletion(self.packed, batch), (slope * embedded).sum(-1).abs().detach()):
                literal.kendall(weights, scores.double(), batch.mask)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="reviews")
    parser.add_argument("--instances", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2, help="turns of each, after one to warm up")
    parser.add_argument("--full", action="store_true", help="five turns, and the rows that take minutes")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.instances < 1 or given.rounds < 1:
        raise AttentestError(f"--instances {given.instances}, --rounds {given.rounds}: both must be 1 or more.")
    if given.out and not given.out.parent.is_dir():
        raise AttentestError(f"--out {given.out}: the folder {given.out.parent} does not exist. Make it first.")
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
    if given.full:
        work += [
            *(("deletion", f"captum FeatureAblation, perturbations_per_eval={size}",
               lambda size=size: bench.ablated(size), lambda: bench.explained("leave_one_out")) for size in (4, 16)),
            (f"training epoch, {len(bench.train):,} texts", "packed LSTM, the same batches and Adam",
             lambda: bench.epoch(True), lambda: bench.epoch(False)),
            ("the battery without training", "all of it as written down: search, loops, SciPy",
             bench.literal_battery, bench.battery),
        ]  # fmt: skip
    table = Table("work", "beside", "theirs, s", "ours, s", "times faster", "peak MiB")
    rows = []
    for name, beside, theirs, ours in work:
        with console.status(name):
            row = {
                "work": name,
                "beside": beside,
                **measuring.compared(theirs, ours, 5 if given.full else given.rounds),
            }
        rows.append(row)
        low, high = row["ratio spread"]
        peaks = f"{row['theirs peak MiB']}, {row['ours peak MiB']}"
        faster = f"{row['ratio']:.1f} [{low:.1f}, {high:.1f}]"
        table.add_row(name, beside, f"{row['theirs']:.3f}", f"{row['ours']:.3f}", faster, peaks)
    console.print(table)
    about = {"corpus": bench.corpus, "texts": bench.count, **measuring.machine()}
    console.print(", ".join(f"{name} {value}" for name, value in about.items()))
    if given.out:
        measuring.write_record(given.out, about, rows)


if __name__ == "__main__":
    ended(main)
