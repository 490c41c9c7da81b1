"""attentest fine-tune."""

from __future__ import annotations

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
    from attentest.data.files.presence import check_presence
    from attentest.errors import InputError

    if (corpus is None) == (data is None):
        raise InputError("Give --corpus or --data: what to fine-tune on.")
    columns: dict[str, Any] = {
        "text_column": text_column,
        "label_column": label_column,
        "second_column": second_column,
        "id_column": id_column,
        "encoding": encoding,
    }
    check_presence(corpus, data, test, **columns)
    from attentest.devices import device_named
    from attentest.runs.describe import describe_run
    from attentest.runs.fine_tuned import FineTunedRun, checkpoint_folder, fine_tune, finished_before

    device_named(device)
    finished_before(to)
    start = checkpoint_folder(checkpoint, hub=True)
    with terminal.console.status("Reading the corpus …"):
        run = describe_run(
            corpus=corpus,
            data=data,
            test=test,
            tokenizer=tokenizer,
            max_tokens=max_tokens,
            truncate=truncate,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            seed=seed,
            fine_tune=start,
            challenges=(),
            **columns,
        )
    assert isinstance(run, FineTunedRun)
    record = fine_tune(run, to, device=device, progress=terminal)
    epochs_, best = record["epochs"], record["epochs"][record["best_epoch"] - 1]
    if as_json:
        typer.echo(json.dumps({"model": str(to), "epochs": epochs_}, indent=1))
        return
    typer.echo(f"Best epoch {best['number']} of {len(epochs_)}: dev accuracy {best['accuracy']:.3f}")
    typer.echo(f"Model   {to}")
