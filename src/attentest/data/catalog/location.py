"""Where corpora that are not shipped with the package lie on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from attentest.data.files.formats import json_lines, text_of_file
from attentest.errors import InputError

__all__ = ["data_folder", "read_split"]


def data_folder() -> Path:
    """The folder named by ATTENTEST_DATA, else the user's cache folder for attentest."""
    named = os.environ.get("ATTENTEST_DATA")
    if named:
        return Path(named).expanduser()
    return Path(platformdirs.user_cache_dir("attentest")) / "data"


def read_split(corpus: str, split: str, fields: Sequence[str] = ()) -> list[dict[str, object]]:
    """The rows of ``<corpus>/<split>.jsonl.gz`` in the data folder, each of which has these fields."""
    path = data_folder() / corpus / f"{split}.jsonl.gz"
    if not path.is_file():
        raise InputError(
            f"Corpus {corpus!r} is not on this machine: {path} does not exist. Put its files there, "
            f"or set ATTENTEST_DATA to the folder that holds {corpus}/{split}.jsonl.gz."
        )
    rows = json_lines(path, text_of_file(path))
    for number, row in enumerate(rows, start=1):
        if lacking := [field for field in fields if field not in row]:
            raise InputError(
                f"{path}, row {number} has no {lacking[0]!r}: corpus {corpus!r} needs {', '.join(fields)} in every row."
            )
    return rows
