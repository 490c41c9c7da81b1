"""attentest fine-tune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attentest.cli import options as o
from attentest.cli.audit import check_texts
from attentest.cli.terminal import Terminal
from attentest.errors import InputError
from attentest.printing import echo, echo_json
from attentest.runs.options import Options


@o.spread
def fine_tune(
    checkpoint: Annotated[
        Path, typer.Argument(help="The folder of a Transformers checkpoint, or its name in models/ of the data folder.")
    ],
    to: Annotated[Path, typer.Option(metavar="PATH", help="A new folder for the fine-tuned model.")],
    options: Options,
    device: o.Device = "auto",
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Put a new head on a Transformers checkpoint and train it on a corpus, or on your own texts.

    The best epoch on dev is saved as a checkpoint again: audit it with 'attentest audit --model'.
    """
    terminal = Terminal(quiet=quiet or as_json)
    if (options.corpus is None) == (options.data is None):
        raise InputError("Give a corpus (--corpus) or data (--data): what to fine-tune on.")
    check_texts(options)
    from attentest.devices import device_named
    from attentest.runs.describe import describe_run
    from attentest.runs.describe.fine_tuned import checkpoint_folder
    from attentest.runs.fine_tuned import FineTunedRun, fine_tune, finished_before

    device_named(device)
    finished_before(to)
    start = checkpoint_folder(checkpoint, hub=True)
    with terminal.console.status("Reading the corpus …"):
        run = describe_run(**{**vars(options), "fine_tune": start, "challenges": ()})
    assert isinstance(run, FineTunedRun)
    record = fine_tune(run, to, device=device, progress=terminal)
    epochs, best = record["epochs"], record["epochs"][record["best_epoch"] - 1]
    if as_json:
        echo_json({"model": str(to), "epochs": epochs})
        return
    echo(f"Best epoch {best['number']} of {len(epochs)}: dev accuracy {best['accuracy']:.3f}")
    echo(f"Model   {to}")
