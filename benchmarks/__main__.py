"""Speed, measured side by side in one run: this package, the papers' literal algorithms, captum.

python -m benchmarks [--corpus sst] [--instances 300] [--full] [--rounds 5] [--out FILE.json]

Each row is measured in turns: medians, their spread, and the most memory that the process held.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from captum.attr import FeatureAblation, InputXGradient
from rich.console import Console
from rich.table import Table

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.flip_sets.examine import FlipSets
from attentest.cores import cores
from attentest.data.batches import Batch, Encoded, bucketed, shuffled
from attentest.data.corpora import CORPORA
from attentest.data.vocabulary import Vocabulary
from attentest.errors import AttentestError
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.measures.adversary.strongest import strongest_adversary
from attentest.measures.rank import kendall
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.training.loop import Training, fit
from attentest.training.objectives import CrossEntropy
from benchmarks import ended, literal, measuring, saliency
from benchmarks.flips import removed_by
from benchmarks.measuring import Work


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

    def placed(self, found: list[torch.Tensor], batches: list[Batch]) -> torch.Tensor:
        """One number a text, or one a token, in the split's order, so that ours stand where theirs do."""
        width = max(batch.mask.shape[1] for batch in batches)
        out = torch.zeros(self.count, width, dtype=torch.float64)
        for batch, values in zip(batches, found, strict=True):
            values = values.double()  # noqa: PLW2901
            if values.ndim == 1:
                out[batch.rows, 0] = values
            else:
                out[batch.rows, : values.shape[1]] = torch.where(batch.mask, values, 0.0)
        return out

    def apart(self, theirs: list[torch.Tensor], ours: list[torch.Tensor]) -> float:
        """The largest difference."""
        return float((self.placed(theirs, self.theirs) - self.placed(ours, self.ours)).abs().max())

    def certified(self) -> list[torch.Tensor]:
        found = []
        for batch in self.ours:
            examined = self.examined(batch)
            z = examined.reading.token_logits
            found.append(strongest_adversary(examined.weights, z[..., 1] - z[..., 0], batch.mask, 0.01).divergence)
        return found

    def surpassed(self, searched: list[torch.Tensor], certified: list[torch.Tensor]) -> float:
        """By how much the search finds more than the certified optimum, in any text."""
        return max(0.0, float((self.placed(searched, self.theirs) - self.placed(certified, self.ours)).max()))

    def flipped(self) -> list[pa.Table]:
        return [FlipSets().examine(self.examined(batch)) for batch in self.ours]

    def flipped_literally(self) -> dict[int, list[int]]:
        texts = [batch[row : row + 1] for batch in self.theirs for row in range(len(batch))]
        return {
            int(text.rows): literal.flip_set(
                self.packed, *literal.encoded(self.packed, text.narrowed(int(text.text.lengths)))
            )
            for text in texts
        }

    def flips_apart(self, looped: dict[int, list[int]], tables: list[pa.Table]) -> float:
        """The share of counts that differ."""
        ours, _ = removed_by(tables)
        pairs = [(a, b) for row in ours for a, b in zip(ours[row], looped[row], strict=False)]
        return sum(a != b for a, b in pairs) / max(1, len(pairs))

    def permuted(self) -> None:
        challenge = CHALLENGES.parse("permutation")
        for batch in self.ours:
            challenge.examine(self.examined(batch))

    def explained(self, name: str) -> list[torch.Tensor]:
        explainer = EXPLAINERS.parse(name)
        return [explainer.scores(self.model, batch, self.examined(batch).reading) for batch in self.ours]

    def explained_at_once(self, name: str) -> list[torch.Tensor]:
        """By two workers, a batch at a time, the longest first."""
        explainer = EXPLAINERS.parse(name)

        def explained(batch: Batch) -> torch.Tensor:
            return explainer.scores(self.model, batch, self.examined(batch).reading)

        return measuring.by_workers(explained, self.ours[::-1])[::-1]

    def deleted(self) -> list[torch.Tensor]:
        return [literal.deletion(self.packed, batch) for batch in self.theirs]

    def captum(self, method: type, **options: object) -> list[torch.Tensor]:
        found = []
        for batch in self.theirs:
            with torch.no_grad():
                predicted = self.model.read(batch).predicted
            embedded = self.model.embed(batch).detach().requires_grad_()

            def output(e: torch.Tensor, *, batch: Batch = batch, predicted: torch.Tensor = predicted) -> torch.Tensor:
                return margin(self.model.read(batch, embeddings=e).logits, predicted)

            if method is FeatureAblation:
                positions = torch.arange(embedded.shape[1])[None, :, None].expand_as(embedded)
                options = {"feature_mask": positions}
            scores = method(output).attribute(embedded, **options).detach()
            found.append(scores[..., 0] if method is FeatureAblation else scores.sum(-1))
        return found

    def step(self, packed: bool) -> None:
        self._steps(packed, self.theirs, None)

    def epoch(self, packed: bool) -> float:
        """Every training text once, in the batches that training makes, of like length, and the mean loss.

        On a copy of the model; ours with the optimizer that training takes, theirs with torch's usual one.
        """
        kept = {name: value.clone() for name, value in self.model.state_dict().items()}
        lstm = {name: value.clone() for name, value in self.packed.lstm.state_dict().items()}
        batches = list(shuffled(self.train, 32, torch.Generator().manual_seed(0)))
        held = [p for p in self.model.parameters() if p.requires_grad]
        if packed:
            encoder = {id(p) for p in self.model.encoder.parameters()}
            held = [p for p in held if id(p) not in encoder] + list(self.packed.lstm.parameters())
        options = {"amsgrad": True, "weight_decay": 1e-5}
        loss = self._steps(packed, batches, torch.optim.Adam(held, **options, **({} if packed else {"fused": True})))
        self.model.load_state_dict(kept)
        self.packed.lstm.load_state_dict(lstm)
        return loss

    def _steps(self, packed: bool, batches: list[Batch], optimizer: torch.optim.Optimizer | None) -> float:
        objective, total, texts = CrossEntropy(), 0.0, 0
        for batch in batches:
            if packed:
                likely = self.packed.probabilities(batch.text.tokens, batch.text.lengths, batch.mask)
                loss = torch.nn.functional.nll_loss(likely.log(), batch.labels, reduction="sum")
            else:
                loss = objective(self.model(batch), batch)
            loss.backward()
            if optimizer is not None:
                optimizer.step()
                optimizer.zero_grad()
            self.model.zero_grad()
            self.packed.lstm.zero_grad()
            total, texts = total + loss.detach(), texts + len(batch)
        return float(total) / texts

    def battery(self, batch: Batch) -> None:
        """What Jain & Wallace ask of every text, each batch read once: adversary, shuffles, deletion, gradients, τ."""
        examined = self.examined(batch)
        z = examined.reading.token_logits
        strongest_adversary(examined.weights, z[..., 1] - z[..., 0], batch.mask, 0.01)
        CHALLENGES.parse("permutation").examine(examined)
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
    table = Table("work", "beside", "theirs, s", "ours, s", "times faster", "peak MiB")
    rows = []
    for work in [*rows_of(bench, full=given.full), *saliency.work(full=given.full)]:
        with console.status(f"{work.name}, beside {work.beside}"):
            row = measuring.compared(work, 5 if given.full else given.rounds)
        rows.append(row)
        low, high = row["ratio spread"]
        peaks = f"{row['theirs peak MiB']}, {row['ours peak MiB']}"
        faster = f"{row['ratio']:.1f} [{low:.1f}, {high:.1f}]"
        table.add_row(work.name, work.beside, f"{row['theirs']:.3f}", f"{row['ours']:.3f}", faster, peaks)
        if given.out:
            about = {"corpus": bench.corpus, "texts": bench.count, **measuring.machine()}
            measuring.write_record(given.out, about, rows)
    console.print(table)
    about = {"corpus": bench.corpus, "texts": bench.count, **measuring.machine()}
    console.print(", ".join(f"{name} {value}" for name, value in about.items()))


def rows_of(bench: Bench, *, full: bool) -> Iterator[Work]:
    """What is measured on the corpus."""
    generator = torch.Generator().manual_seed(0)
    pairs = [(*torch.rand(2, *b.mask.shape, generator=generator).double(), b.mask) for b in bench.ours]

    def search() -> list[torch.Tensor]:
        return [literal.adversary(bench.packed, batch) for batch in bench.theirs]

    def gradients() -> list[torch.Tensor]:
        return [scores.abs() for scores in bench.captum(InputXGradient)]

    yield Work("adversary, certified optimum", "search, k=5, 500 steps", search, bench.certified, bench.surpassed, 1e-3)
    yield Work(
        *("adversary, the same search", "search by autograd", search),
        lambda: [CHALLENGES.parse("adversary")._searched(bench.examined(b)) for b in bench.ours],
    )
    yield Work(
        *("permutation × 100, with exact moments", "loop over draws"),
        lambda: [literal.permutation(bench.packed, b) for b in bench.theirs],
        bench.permuted,
    )
    yield Work(
        *("deletion", "loop over positions, packed LSTM", bench.deleted, lambda: bench.explained("leave_one_out")),
        bench.apart,
        1e-5,
    )
    if cores() > 1:
        yield Work(
            *("two workers: deletion", "loop over positions, packed LSTM, one worker", bench.deleted),
            *(lambda: bench.explained_at_once("leave_one_out"), bench.apart, 1e-5, time.perf_counter),
        )
    yield Work(
        *("ablation", "captum FeatureAblation", lambda: bench.captum(FeatureAblation)),
        lambda: bench.explained("occlusion"),
        bench.apart,
        1e-4,
    )
    yield Work(
        *("gradient × embedding", "captum InputXGradient", gradients, lambda: bench.explained("gradient(path='full')")),
        bench.apart,
        1e-4,
    )
    yield Work(
        *("Kendall τ-b with p-values", "SciPy loop"),
        lambda: [literal.kendall(*p) for p in pairs],
        lambda: [kendall(*p) for p in pairs],
        lambda theirs, ours: max(float(np.abs(a - b.tau.numpy()).max()) for a, b in zip(theirs, ours, strict=True)),
        1e-12,
    )
    yield Work(
        *("flip sets, 8 orders and the smallest set, reading included", "loop over items, text by text; 8 orders"),
        *(bench.flipped_literally, bench.flipped, bench.flips_apart, 0.01),
    )
    yield Work("forward and backward pass", "packed LSTM", lambda: bench.step(True), lambda: bench.step(False))
    if full:
        yield Work(
            *(f"training epoch, {len(bench.train):,} texts", "packed LSTM, the same batches, Adam"),
            *(lambda: bench.epoch(True), lambda: bench.epoch(False), lambda a, b: abs(a - b), 0.02),
        )
        literally = "all of it as written down: search, loops, SciPy"
        yield Work(
            *("the battery without training", literally, bench.literal_battery),
            lambda: [bench.battery(batch) for batch in bench.ours],
        )
        if cores() > 1:
            yield Work(
                *("two workers: the battery without training", f"{literally}; one worker", bench.literal_battery),
                lambda: measuring.by_workers(bench.battery, bench.ours[::-1]),
                clock=time.perf_counter,
            )


if __name__ == "__main__":
    ended(main)
