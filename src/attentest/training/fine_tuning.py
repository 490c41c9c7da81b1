"""Fine-tuning: a Transformers checkpoint, with a new head, trained by the one loop and saved as a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from attentest.data.batches import Encoded
from attentest.data.corpus import Corpus, Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable
from attentest.models.pretrained.building import build_pretrained
from attentest.models.pretrained.checkpoint import load_checkpoint, quietly
from attentest.progress import SILENT, Progress
from attentest.store.atomic import write_text
from attentest.training.loop import Epoch, Training, best_epoch, fit

__all__ = ["FINE_TUNING", "fine_tune"]

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


def fine_tune(
    checkpoint: str | Path,
    corpus: Corpus,
    to: str | Path,
    *,
    training: Training = FINE_TUNING,
    seed: int = 0,
    device: torch.device | None = None,
    progress: Progress = SILENT,
) -> list[Epoch]:
    """Train a checkpoint, with a new head for the corpus's classes, and save its best epoch on dev in ``to``.

    On a GPU the layers compute in bfloat16, as autocast chooses; weights stay in single precision.
    """
    folder = Path(to)
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is there already: name a new folder for the fine-tuned model.")
    if corpus.task == "translate":
        raise NotApplicable(f"Corpus {corpus.name!r} has a text to generate: classifiers are fine-tuned here.")
    where = device or torch.device("cpu")
    with torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        # The new head and dropout draw from torch's generator.
        torch.manual_seed(seed)
        model, tokenizer = load_checkpoint(checkpoint, new_classes=corpus.classes)
        read = Split(pa.concat_tables([corpus[name].table for name in ("train", "dev")], promote_options="default"))
        vocabulary = Vocabulary.from_split(read)
        with quietly():
            subject = build_pretrained(model.to(where), tokenizer, vocabulary, pair=corpus.task != "single")
        train, dev = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev"))
        epochs = fit(subject, train, dev, training, seed=seed, progress=progress)
    with quietly():
        # As the library loads it, so that the folder says nothing of attentest's own attention.
        model.set_attn_implementation("sdpa" if model._supports_sdpa else "eager")
        model.to("cpu").save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    about: dict[str, Any] = {
        "from": str(checkpoint),
        "corpus": {"name": corpus.name, "digest": corpus.digest},
        "seed": seed,
        "best_epoch": best_epoch(epochs).number,
        "epochs": [epoch.to_record() for epoch in epochs],
    }
    write_text(folder / "fine-tuning.json", json.dumps(about, indent=1) + "\n")
    return epochs
