"""Small models and batches for explainers, and their margins as captum wants them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from tests.conftest import classifier, made_up_split, whole
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.models.copies import copies
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import Reading, Subject

ENCODER_TEXTS = ("bilstm(hidden=8)", "convolution(filters=4)", "average(hidden=8)")
#: Those that only a transformer can be explained with.
OF_TRANSFORMERS = [name for name, explainer in EXPLAINERS.items() if Pretrained in explainer.needs]
#: The oracle is asked by an examination, which hands it the marks; precomputed scores have a file; what selects needs a
#: model that does, or training texts.
OF_SELECTORS = [name for name, explainer in EXPLAINERS.items() if explainer.selects]
OF_ANY_MODEL = [name for name in EXPLAINERS if name not in ("oracle", "precomputed", *OF_SELECTORS, *OF_TRANSFORMERS)]


def made(
    encoder: str, classes: int = 2, low: int = 1, high: int = 12, count: int = 12
) -> tuple[Classifier, Batch, Reading]:
    """An untrained model, a batch and the reading of it."""
    split = made_up_split(count, low=low, high=high)
    model, encoded = classifier(Architecture(ENCODERS.parse(encoder), embedding=10), split, classes)
    batch = whole(encoded)
    with torch.no_grad():
        return model, batch, model.read(batch)


class Plain(Subject):
    """A subject that is nothing but the seam: no module, no encoder that anyone could know."""

    def __init__(self, model: Classifier) -> None:
        self.model, self.classes = model, model.classes

    @property
    def device(self) -> torch.device:
        return self.model.device

    def embed(self, batch: Batch) -> Tensor:
        return self.model.embed(batch)

    def baseline(self, kind: str) -> Tensor:
        return self.model.baseline(kind)

    def read(self, batch: Batch, *, embeddings: Tensor | None = None, detach_attention: bool = False) -> Reading:
        return self.model.read(batch, embeddings=embeddings, detach_attention=detach_attention)

    def delete_each(self, batch: Batch) -> Tensor:
        return self.model.delete_each(batch)


def margins(
    subject: Subject, batch: Batch, target: Tensor, detach_attention: bool = False
) -> Callable[[Tensor, Tensor], Tensor]:
    """The margins of the rows of a batch at other embeddings."""

    def output(embeddings: Tensor, rows: Tensor) -> Tensor:
        texts = copies(batch, rows)
        inputs = embeddings[:, : texts.mask.shape[1]]
        return margin(
            subject.read(texts, embeddings=inputs, detach_attention=detach_attention).logits,
            target[rows],
        )

    return output


def arguments(subject: Subject, batch: Batch, baselines: str = "zero") -> tuple[Tensor, Tensor, Tensor]:
    """Embeddings, the same with the baseline at every token, and rows, for captum."""
    embeddings = subject.embed(batch).detach()
    start = torch.where(batch.mask[..., None], subject.baseline(baselines), embeddings)
    return embeddings, start, torch.arange(len(batch))


def targets(reading: Reading, classes: int) -> list[Tensor | None]:
    """The predicted class, and another one for every text."""
    return [None, (reading.predicted + 1) % classes]
