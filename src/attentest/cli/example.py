"""A file of reviews to try an audit on."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Annotated

import typer

from attentest.errors import InputError

__all__ = ["example"]

ROWS = 400
#: Tokens that stand without a space after the word before them.
_GLUED = re.compile(r" (n't|'s|[.,;:!?])(?=\s|$)")
#: Letters that are capitals: the first of a sentence, and I.
_CAPITAL = re.compile(r"(?:^|[.!?] )[a-z]|\bi\b")


def example(
    to: Annotated[Path, typer.Option(metavar="PATH", help="The file to write; it must not be there yet.")] = Path(
        "reviews.csv"
    ),
) -> None:
    """Write reviews.csv, made-up reviews with labels, to try 'attentest audit --data reviews.csv' on."""
    from attentest.data.corpora import CORPORA
    from attentest.store.atomic import write_text

    if to.exists():
        raise InputError(f"{to} is there already: name another file with --to, or move it away.")
    corpus = CORPORA.parse(f"reviews(train={ROWS}, dev=1, test=1)").load()
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["text", "label"])
    for row in corpus["train"].table.to_pylist():
        writer.writerow([_written(row["tokens"]), corpus.classes[row["label"]]])
    write_text(to, out.getvalue())
    typer.echo(f"{ROWS} reviews, half of them negative, half positive: {to}")
    typer.echo(f"Next    attentest audit --data {to}")


def _written(tokens: list[str]) -> str:
    """Tokens as a person would write them."""
    return _CAPITAL.sub(lambda found: found[0].upper(), _GLUED.sub(r"\1", " ".join(tokens)))
