"""attentest fine-tune."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from attentest.cli import options as o
from attentest.cli.terminal import Terminal


def fine_tune(
    checkpoint: Annotated[
        Path, typer.Argument(help="The folder of a Transformers checkpoint, or its name in models/ of the data folder.")
    ],
    to: Annotated[Path, typer.Option(metavar="PATH", help="A new folder for the fine-tuned model.")],
    corpus: o.Corpus = None,
    data: o.Data = None,
    test: o.Test = None,
    text_column: o.TextColumn = None,
    label_column: o.LabelColumn = None,
    second_column: o.SecondColumn = None,
    id_column: o.IdColumn = None,
    tokenizer: o.Tokenizer = None,
    max_tokens: o.MaxTokens = 1000,
    truncate: o.Truncate = None,
    encoding: o.Encoding = None,
    epochs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of epochs (3).")] = None,
    batch_size: o.BatchSize = None,
    learning_rate: Annotated[float | None, typer.Option(metavar="X", help="Adam's learning rate (0.00005).")] = None,
    seed: o.Seed = 0,
    device: o.Device = "auto",
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Put a new head on a Transformers checkpoint and train it on a corpus, or on your own texts.

    The best epoch on dev is saved as a checkpoint again: audit it with 'attentest audit --model'.
    """
    terminal = Terminal(quiet=quiet or as_json)
    from attentest.data.corpora import CORPORA
    from attentest.data.files.presence import check_presence
    from attentest.data.files.to_corpus import corpus_from_files
    from attentest.errors import InputError
    from attentest.models.huggingface.checkpoint import is_checkpoint

    if (corpus is None) == (data is None):
        raise InputError("Give --corpus or --data: what to fine-tune on.")
    check_presence(
        corpus,
        data,
        test,
        text_column=text_column,
        label_column=label_column,
        second_column=second_column,
        id_column=id_column,
        encoding=encoding,
    )
    from attentest.runs.fine_tuned import checkpoint_folder
    from attentest.runs.run import TEXTS
    from attentest.runs.seen_texts import keep_texts
    from attentest.runs.trained import device_named
    from attentest.training.fine_tuning import FINE_TUNING, fine_tune, finished_before
    from attentest.training.loop import best_epoch

    given: dict[str, Any] = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    training = dataclasses.replace(FINE_TUNING, **{name: value for name, value in given.items() if value is not None})
    chosen = device_named(device)
    finished_before(to)
    try:
        checkpoint = checkpoint_folder(checkpoint)
    except InputError:
        if not is_checkpoint(checkpoint):  # it may be a name on the hub
            raise
    with terminal.console.status("Reading the corpus …"):
        if data is None:
            loaded = CORPORA.parse(str(corpus)).load()
        else:
            loaded = corpus_from_files(
                data,
                test=test,
                text_column=text_column,
                label_column=label_column,
                second_column=second_column,
                id_column=id_column,
                tokenizer=tokenizer or "whitespace",
                lowercase=False,
                max_tokens=max_tokens,
                truncate=truncate,
                encoding=encoding,
            )
    found = fine_tune(checkpoint, loaded, to, training=training, seed=seed, device=chosen, progress=terminal)
    keep_texts(loaded["train"], to / TEXTS)
    best = best_epoch(found)
    if as_json:
        typer.echo(json.dumps({"model": str(to), "epochs": [epoch.to_record() for epoch in found]}, indent=1))
        return
    typer.echo(f"Best epoch {best.number} of {len(found)}: dev accuracy {best.accuracy:.3f}")
    typer.echo(f"Model   {to}")
