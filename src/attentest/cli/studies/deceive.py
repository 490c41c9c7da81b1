"""attentest deceive."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from attentest.cli import options as o
from attentest.cli.audit import check_texts
from attentest.cli.terminal import Terminal
from attentest.printing import Printer, echo
from attentest.runs.options import Options


@o.spread
def deceive(
    options: Options,
    weight: Annotated[
        list[float] | None,
        typer.Option(metavar="λ", help="What hiding the marked words counts beside the task; repeat (0.1 and 1)."),
    ] = None,
    heads: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of checkpoints: mean, or max, over heads; repeat for both (mean)."),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Models of each weight, and twins.")] = 5,
    device: o.Device = "auto",
    runs: o.Runs = o.DEFAULT_RUNS,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Train models to hide words that they use, and see whether the verdict notices.

    The words are those that the corpus marks, or those that --mark names. Each model has a twin that hides nothing.
    A model is deceptive where its attention leaves the words alone and its predictions still follow them when they
    are exchanged. Checkpoints (--fine-tune) and translators, whose links are the marks, can be trained so too.
    """
    terminal = Terminal(quiet=quiet or as_json)
    check_texts(options)
    from attentest.deceiving import deceive as train_and_audit
    from attentest.devices import device_named
    from attentest.report.deception.tables import deception_table

    device_named(device)
    asked: dict[str, Any] = {"weights": tuple(weight or (0.1, 1.0)), "heads": tuple(heads or ("mean",))}
    asked |= {"seeds": seeds, "runs": runs, "device": device}
    twins = train_and_audit(**asked, progress=terminal, **vars(options))
    if as_json:
        echo(twins.to_json())
    else:
        Printer(highlight=False).print(deception_table(twins))
