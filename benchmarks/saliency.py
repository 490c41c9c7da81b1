"""Integrated gradients and ablation beside captum's, on texts of 20 and of 180 tokens and the default model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from captum.attr import FeatureAblation, IntegratedGradients

from attentest.data.batches import Batch, Sequences
from attentest.data.vocabulary import END, START
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.models.copies import copies
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS

Work = tuple[str, str, Callable[[], object], Callable[[], object]]

#: Tokens, and how many such texts.
TEXTS = ((20, 16), (180, 4))


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

    def ours(self, name: str) -> None:
        with torch.no_grad():
            reading = self.model.read(self.batch)
        EXPLAINERS.parse(name).scores(self.model, self.batch, reading)

    def theirs(self, method: type, size: int) -> None:
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
            with torch.set_grad_enabled(method is not FeatureAblation):
                method(output).attribute(embedded, additional_forward_args=(torch.arange(len(batch)),), **options)


def work() -> Iterator[Work]:
    for tokens, count in TEXTS:
        bench = Saliency(tokens, count)
        for name, theirs, ours in (
            ("integrated gradients, 50 steps", IntegratedGradients, "integrated_gradients"),
            ("ablation", FeatureAblation, "occlusion"),
        ):
            for size, how in ((1, "text by text"), (count, f"{count} texts at a time")):
                yield (
                    f"{name}, {count} texts of {tokens} tokens",
                    f"captum {theirs.__name__}, {how}",
                    lambda bench=bench, theirs=theirs, size=size: bench.theirs(theirs, size),
                    lambda bench=bench, ours=ours: bench.ours(ours),
                )
