"""Fine-tuning: a Transformers checkpoint with a new head, to be trained by the one loop and saved as a checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from attentest.data.corpus import Corpus, Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import NotApplicable
from attentest.models.huggingface.attending import NAME
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.checkpoint import find_checkpoint, quietly
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.texts import fitting_pieces
from attentest.tasks import TASKS
from attentest.training.loop import Training

__all__ = ["FINE_TUNING", "new_head", "refuse_writing", "save_checkpoint", "words_of"]

#: As is usual for fine-tuning: few epochs, small steps, every text as often as it comes.
FINE_TUNING = Training(
    epochs=3,
    learning_rate=5e-5,
    amsgrad=False,
    weight_decay=0.0,
    balance_classes=False,
    patience=0,
    select="accuracy",
)


def refuse_writing(corpus: Corpus) -> None:
    """A corpus of translations is refused."""
    if TASKS[corpus.task].writes:
        raise NotApplicable(f"Corpus {corpus.name!r} has a text to generate: classifiers are fine-tuned here.")


def words_of(corpus: Corpus) -> Vocabulary:
    """The words of all splits: a checkpoint has pieces for any word, so those not seen in training are known to it."""
    tables = [split.table for split in corpus.splits.values()]
    names = [name for name in ("tokens", "second") if name in tables[0].column_names]
    return Vocabulary.from_split(Split(pa.concat_tables([table.select(names) for table in tables])))


def new_head(
    checkpoint: str | Path, corpus: Corpus, vocabulary: Vocabulary, *, seed: int, device: torch.device
) -> Pretrained:
    """The checkpoint with a new head for the corpus's classes, to be trained."""
    found = find_checkpoint(checkpoint, new_classes=corpus.classes)
    tokenizer, pair = found.tokenizer(), corpus.task != "single"
    pieces = fitting_pieces(found.config, tokenizer, vocabulary, *corpus.splits.values(), pair=pair)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        # The new head draws from torch's generator.
        torch.manual_seed(seed)
        model = found.model()
    model.config.pad_token_id = tokenizer.pad_token_id
    with quietly():
        return build_pretrained(model.to(device), tokenizer, vocabulary, pair=pair, pieces=pieces)


def save_checkpoint(subject: Pretrained, tokenizer: Any, folder: Path) -> None:
    """The model and its tokenizer as the library saves them, in one file of weights; what was there goes."""
    shutil.rmtree(folder, ignore_errors=True)
    model = subject.model
    with quietly():
        # As the library loads it, so that the folder says nothing of attentest's own attention.
        model.set_attn_implementation("sdpa" if model._supports_sdpa else "eager")
        model.save_pretrained(folder, max_shard_size=10**15)
        tokenizer.save_pretrained(folder)
        model.set_attn_implementation(NAME)
