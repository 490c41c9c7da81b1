"""A file of reviews to try an audit on."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from attentest.errors import InputError
from attentest.printing import echo

__all__ = ["example"]

ROWS = 3000
#: Tokens that end a sentence, and all that stand without a space after the word before them.
ENDS = (".", "!", "?")
GLUED = (*ENDS, ",", ";", ":", "n't", "'s")


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
    echo(f"{ROWS:,} reviews, half of them negative, half positive: {to}")
    echo(f"Next    attentest audit --data {to}")


def _written(tokens: list[str]) -> str:
    """Tokens as a person would write them: a sentence begins with a capital, and so is I."""
    text = ""
    for before, token in pairwise((ENDS[0], *tokens)):
        word = token.capitalize() if before in ENDS or token == "i" else token
        text += word if token in GLUED or not text else f" {word}"
    return text
