"""Members that are trained, on the one training loop: encoders and attentions × worlds × numbers of training texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import torch

from attentest.calibration.member import Known, Member
from attentest.data.corpora import CORPORA
from attentest.data.worlds.world import World
from attentest.runs.describe import describe_run
from attentest.runs.run import MODEL, VOCABULARY, Run
from attentest.store.folder import RunFolder
from attentest.training.checkpoints import load_network, load_vocabulary

__all__ = ["FAMILY", "MODELS", "WORLDS", "Trained", "members"]

FAMILY = "trained"
#: Every kind of world, one of them asked with a query.
WORLDS = (
    "world-keyword(outcomes=6)",
    "world-majority",
    "world-any",
    "world-both",
    "world-negation(distractors=1)",
    "world-order",
    "world-lookup",
)
#: By their names: the encoder and the attention.
MODELS: Mapping[str, tuple[str, str]] = {
    "bilstm, additive": ("bilstm(hidden=32)", "additive"),
    "bilstm, dot": ("bilstm(hidden=32)", "dot"),
    "bilstm, uniform": ("bilstm(hidden=32)", "uniform"),
    "bigru, additive": ("bigru(hidden=32)", "additive"),
    "convolution, additive": ("convolution(filters=16)", "additive"),
    "average, additive": ("average(hidden=64)", "additive"),
    "no encoder, dot": ("none", "dot"),
}
DIAL = "training texts"
#: Few and many; with few, attention is learnt less.
TRAINED_ON = (500, 2000)


@dataclass(frozen=True)
class Trained(Member):
    """A small model, trained on texts of its world."""

    family: ClassVar[str] = FAMILY

    def run(self, challenges: Sequence[str] | None, texts: int) -> Run:
        """The audit of a model that is trained."""
        encoder, attention = MODELS[self.mechanism]
        return describe_run(
            corpus=self._world(texts).load(),
            encoder=encoder,
            attention=attention,
            embedding=32,
            epochs=12,
            learning_rate=0.005,
            seed=self.seed,
            challenges=challenges,
        )

    def known(self, folder: RunFolder, texts: int) -> Known:
        """The network as it was trained, and the texts that it was audited on."""
        network, _ = load_network(folder.verify(MODEL), torch.device("cpu"))
        return Known(network, load_vocabulary(folder.verify(VOCABULARY)), self._world(texts).texts("test"))

    def _world(self, texts: int) -> World:
        world = CORPORA.parse(self.world)
        return cast(
            "World", replace(cast("Any", world), train=int(self.value), dev=200, test=texts, seed=1 + self.seed)
        )


def members(*, quick: bool) -> Iterator[Trained]:
    """Every model in every world, trained on few and on many texts; none where it has to be quick."""
    for model in () if quick else MODELS:
        for world in WORLDS:
            for count in TRAINED_ON:
                yield Trained(model, world, DIAL, count)
