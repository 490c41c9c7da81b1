"""Members that are small transformers, trained from random weights by the path that fine-tunes checkpoints."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, cast

import torch

from attentest.calibration.compiled.bert import tokenizer_for
from attentest.calibration.compiled.features import words_of_world
from attentest.calibration.member import Known, Member
from attentest.data.corpora import CORPORA
from attentest.data.worlds.world import World
from attentest.models.huggingface.checkpoint import quietly
from attentest.models.huggingface.safe_loading import library
from attentest.runs.describe import describe_run
from attentest.runs.fine_tuned import FineTunedRun
from attentest.runs.run import Run
from attentest.store.folder import RunFolder

__all__ = ["FAMILY", "MODELS", "TrainedTransformer", "members", "random_checkpoint"]

FAMILY = "trained"
#: By their names: the number of layers, and the attention that is audited; "" is the whole last layer.
MODELS = {
    "transformer of 1 layer": (1, ""),
    "transformer of 2 layers": (2, ""),
    "transformer of 2 layers, head": (2, "layer 2 head 1"),
    "transformer of 4 layers": (4, ""),
}
WORLDS = ("world-majority", "world-any", "world-negation(distractors=1)", "world-keyword(outcomes=6)")
#: Enough for every world here.
TEXTS, EPOCHS, RATE = 4000, 15, 0.002
SIZES: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
PLAIN: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.1}


@dataclass(frozen=True)
class TrainedTransformer(Member):
    """A small BERT, trained on texts of its world."""

    family: ClassVar[str] = FAMILY

    def run(self, challenges: Sequence[str] | None, texts: int) -> Run:
        """The audit of a checkpoint of random weights, after its training."""
        layers, site = MODELS[self.mechanism]
        world = self._world(texts)
        return describe_run(
            corpus=world.load(),
            fine_tune=random_checkpoint(world, layers, self.seed),
            epochs=EPOCHS,
            learning_rate=RATE,
            site=site,
            seed=self.seed,
            challenges=challenges,
        )

    def known(self, folder: RunFolder, texts: int) -> Known:
        """The checkpoint as it was trained, and the texts that it was audited on."""
        run = cast("FineTunedRun", self.run(["uniform"], texts))
        subject, vocabulary = run.load(folder.path, torch.device("cpu"))
        return Known(subject.at(run.site), vocabulary, self._world(texts).texts("test"))

    def _world(self, texts: int) -> World:
        world = CORPORA.parse(self.world)
        return cast("World", replace(cast("Any", world), train=TEXTS, dev=200, test=texts, seed=1 + self.seed))


def random_checkpoint(world: World, layers: int, seed: int) -> Path:
    """The folder of a small BERT of random weights over the words of a world, the same wherever it is made."""
    tokenizer = tokenizer_for(words_of_world(world))
    name = f"attentest-{world.name}-{len(tokenizer)}-{layers}-{seed}"
    folder = Path(tempfile.gettempdir()) / name
    if (folder / "config.json").is_file():
        return folder
    made = Path(tempfile.mkdtemp(prefix=name))
    config = library().BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=layers,
        max_position_embeddings=256,
        pad_token_id=0,
        **SIZES,
        **PLAIN,
    )
    with quietly(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        library().BertModel(config).save_pretrained(made)
        tokenizer.save_pretrained(made)
    try:
        made.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(made, ignore_errors=True)
    return folder


def members(*, quick: bool) -> Iterator[TrainedTransformer]:
    """Every model in every world; none where it has to be quick."""
    for model in () if quick else MODELS:
        for world in WORLDS:
            yield TrainedTransformer(model, world)
