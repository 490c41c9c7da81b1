"""attentest sources with several models: each is asked the same, and they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from attentest.cli.terminal import Terminal
from attentest.printing import Printer, echo, echo_json

if TYPE_CHECKING:
    from attentest.sources.question import Question
    from attentest.studies.engines import NamedEngine

__all__ = ["several"]


def several(
    models: Sequence[str],
    questions: Sequence[Question],
    using: NamedEngine,
    *,
    to: Path,
    device: str,
    csv: Path | None,
    terminal: Terminal,
    as_json: bool,
    **options: Any,
) -> None:
    """Ask all models, print the comparison, and leave with 1 when one of them failed."""
    from attentest.cli.studies.display import StudyDisplay
    from attentest.devices import device_named
    from attentest.sources.showing.comparison import compared, comparison_csv
    from attentest.sources.studying import study_sources
    from attentest.store.atomic import write_text

    named = device_named(device, here=using.name != "ray")
    device = named.type if device == "auto" else device
    display = StudyDisplay(terminal.console, quiet=terminal.quiet, unit="models")
    display.expect(len(models))
    with display:
        done = study_sources(models, questions, using, display, to=to, device=device, **options)
    if csv is not None:
        write_text(csv, comparison_csv(done.audits))
    if as_json:
        echo_json({"models": [found.to_record() for found in done.audits], "failed": dict(done.failed)})
    elif done.audits:
        if not terminal.quiet:
            console = Printer(highlight=False)
            for part in compared(done.audits):
                console.print(part)
        for found in done.audits:
            echo(f"Folder  {found.folder}")
    if done.failed:
        if terminal.quiet:
            for model, said in done.failed.items():
                echo(f"failed  {model}: {said}", err=True)
        raise typer.Exit(1)
