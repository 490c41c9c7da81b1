"""attentest audit --sources-column: questions over sources, put as attentest sources puts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attentest.cli.sources.command import sources
from attentest.errors import InputError
from attentest.runs.options import DEFAULTS, OPTIONS, Options

__all__ = ["audit_of_sources"]

#: Options of an audit that say the same of questions over sources.
SHARED = ("model", "data", "limit", "seed", "prompt")


def audit_of_sources(options: Options, column: str, to: Path, **others: Any) -> None:
    """Ask the questions of a file; what does not apply to them is refused."""
    for name, option in OPTIONS.items():
        if name not in SHARED and getattr(options, name) != DEFAULTS[name]:
            raise InputError(
                f"{option.flag or '--' + name.replace('_', '-')} does not apply to questions over sources "
                "(--sources-column). 'attentest sources --help' lists what does."
            )
    if options.model is None or options.data is None:
        raise InputError(
            "Questions over sources take a language model and a file: --model PATH --data questions.jsonl "
            f"--sources-column {column}."
        )
    sources(
        model=[str(options.model)],
        data=Path(options.data),
        sources_column=column,
        prompt=options.prompt or "",
        limit=options.limit or 0,
        seed=options.seed,
        to=to,
        **others,
    )
