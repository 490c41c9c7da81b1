"""Integrated gradients and ablation beside captum's, on texts of 20 and of 180 tokens and the default model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import torch
from captum.attr import FeatureAblation, IntegratedGradients

from attentest.cores import cores
from attentest.data.batches import Batch, Sequences
from attentest.data.vocabulary import END, START
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.models.copies import copies
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from benchmarks import literal
from benchmarks.measuring import Work, by_workers

#: Tokens, and how many such texts.
TEXTS = ((20, 16), (180, 4))
#: What is tried for captum's ``perturbations_per_eval``.
AT_ONCE = (1, 4, 16, 64)


class Saliency:
    """Random texts of one length, and a model that has learnt nothing."""

    def __init__(self, tokens: int, count: int, encoder: str = "bilstm") -> None:
        generator = torch.Generator().manual_seed(0)
        self.model = Classifier(Architecture(ENCODERS.parse(encoder)), 2000, 2, generator).eval()
        words = torch.randint(END + 1, 2000, (count, tokens + 2), generator=generator)
        words[:, 0], words[:, -1] = START, END
        mask = (words != START) & (words != END)
        rows = torch.arange(count)
        self.batch = Batch(Sequences(words, torch.full((count,), tokens + 2), mask), rows * 0, rows, rows)

    def ours(self, name: str) -> torch.Tensor:
        with torch.no_grad():
            reading = self.model.read(self.batch)
        return EXPLAINERS.parse(name).scores(self.model, self.batch, reading)

    def ours_at_once(self, name: str) -> torch.Tensor:
        """By two workers, each of them half of the texts."""
        half = len(self.batch) // 2

        def explained(batch: Batch) -> torch.Tensor:
            with torch.no_grad():
                reading = self.model.read(batch)
            return EXPLAINERS.parse(name).scores(self.model, batch, reading)

        return torch.cat(by_workers(explained, [self.batch[:half], self.batch[half:]]))

    def deleted(self) -> torch.Tensor:
        return literal.deletion(literal.Packed(self.model), self.batch)

    def theirs(self, method: type, size: int, at_once: int = 1) -> torch.Tensor:
        """Texts at a time, and of ablation positions at a time."""
        found = []
        for start in range(0, len(self.batch), size):
            batch = self.batch[start : start + size]
            with torch.no_grad():
                predicted = self.model.read(batch).predicted

            def output(
                embeddings: torch.Tensor, rows: torch.Tensor, batch: Batch = batch, predicted: torch.Tensor = predicted
            ) -> torch.Tensor:
                return margin(self.model.read(copies(batch, rows), embeddings=embeddings).logits, predicted[rows])

            embedded = self.model.embed(batch).detach().requires_grad_()
            options: dict[str, object] = {"n_steps": 50}
            if method is FeatureAblation:
                options = {"feature_mask": torch.arange(embedded.shape[1])[None, :, None].expand_as(embedded)}
                options["perturbations_per_eval"] = at_once
            with torch.set_grad_enabled(method is not FeatureAblation):
                scores = method(output).attribute(
                    embedded, additional_forward_args=(torch.arange(len(batch)),), **options
                )
            found.append(scores[..., 0] if method is FeatureAblation else scores.sum(-1))
        return torch.cat(found) * self.batch.mask

    def best(self) -> int:
        """The number of positions at a time that captum's ablation of all texts together is fastest with."""
        taken = {}
        for at_once in AT_ONCE:
            for _ in range(2):
                started = time.process_time()
                self.theirs(FeatureAblation, len(self.batch), at_once)
                taken[at_once] = time.process_time() - started
        return min(taken, key=taken.__getitem__)


def work(*, full: bool) -> Iterator[Work]:
    """Every row, on short texts and on long ones."""
    for tokens, count in TEXTS:
        bench = Saliency(tokens, count)
        texts = f"{count} texts of {tokens} tokens"
        ways = [(1, 1, "text by text"), (count, 1, f"{count} texts at a time")]
        for size, _, how in ways:
            yield Work(
                f"integrated gradients, 50 steps, {texts}",
                f"captum IntegratedGradients, {how}",
                partial(bench.theirs, IntegratedGradients, size),
                partial(bench.ours, "integrated_gradients"),
                _apart,
                5e-3,
            )
        if full:
            best = bench.best()
            ways.append((count, best, f"{count} texts at a time, at its best perturbations_per_eval ({best})"))
        for size, at_once, how in ways:
            yield Work(
                f"ablation, {texts}",
                f"captum FeatureAblation, {how}",
                partial(bench.theirs, FeatureAblation, size, at_once),
                partial(bench.ours, "occlusion"),
                _apart,
                1e-4,
            )
        yield Work(
            f"deletion, {texts}",
            "loop over positions, packed LSTM",
            bench.deleted,
            partial(bench.ours, "leave_one_out"),
            _apart,
            1e-5,
        )
        if cores() > 1:
            twice = Saliency(tokens, 2 * count)
            yield Work(
                f"two workers: deletion, twice {texts}",
                "loop over positions, packed LSTM, one worker",
                twice.deleted,
                partial(twice.ours_at_once, "leave_one_out"),
                _apart,
                1e-5,
                time.perf_counter,
            )


def _apart(theirs: torch.Tensor, ours: torch.Tensor) -> float:
    return float((theirs - ours).detach().abs().max())
