"""A network: a subject that can be trained, and how one is built from its architecture."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.models.architecture import Architecture
from attentest.models.parts.decoders import Transformer
from attentest.models.subject import Reading, Subject

__all__ = ["Network", "build_network", "network_class"]


class Network(nn.Module, Subject):
    """A torch module whose attention can be read and replaced."""

    architecture: Architecture
    classes: int
    #: The size of its vocabulary.
    words: int

    @abstractmethod
    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """What makes its attention weights and nothing else: weight decay may spare it."""

    def forward(self, batch: Batch) -> Reading:
        """The same as reading, with everything in the graph: objectives choose what they need."""
        return self.read(batch)


def build_network(
    architecture: Architecture,
    words: int,
    classes: int,
    generator: torch.Generator,
    vectors: Float[Tensor, "word embedding"] | None = None,
) -> Network:
    """A new network of this architecture; its first weights depend on the generator alone."""
    build: Callable[..., Network] = network_class(architecture)
    return build(architecture, words, classes, generator, vectors)


def network_class(architecture: Architecture) -> type[Network]:
    """The class of the networks of this architecture."""
    # Here, because the classes below are networks themselves.
    from attentest.models.networks.classifier import Classifier
    from attentest.models.networks.hierarchical import Hierarchical
    from attentest.models.networks.selecting import Selecting
    from attentest.models.networks.transformer import TransformerTranslator
    from attentest.models.networks.translator import Translator

    if isinstance(architecture.decoder, Transformer):
        return TransformerTranslator
    if architecture.decoder is not None:
        return Translator
    if architecture.selector is not None:
        return Selecting
    return {"flat": Classifier, "hierarchical": Hierarchical}[architecture.structure]
