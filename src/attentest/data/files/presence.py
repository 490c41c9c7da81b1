"""Whether the texts that somebody asks for are there: checked before anything slow is imported, loaded or prepared."""

from __future__ import annotations

from pathlib import Path

from attentest.data.corpora import CORPORA
from attentest.data.corpora.declared import Declared
from attentest.data.files.columns import columns_of
from attentest.data.files.formats import read_table
from attentest.errors import InputError

__all__ = ["check_choice_of_texts", "check_presence"]


def check_choice_of_texts(corpus: object, data: object, test: object) -> None:
    """A corpus or files, not both."""
    if corpus is not None and data is not None:
        raise InputError("Give a corpus (--corpus) or data (--data), not both.")
    if test is not None and data is None:
        raise InputError("test (--test) needs data (--data), the file to train on.")


def check_presence(
    corpus: str | None,
    data: Path | None,
    test: Path | None = None,
    *,
    encoding: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    second_column: str | None = None,
    id_column: str | None = None,
) -> None:
    """Refuse a corpus that is not on this machine, and files that are not there or lack a column."""
    check_choice_of_texts(corpus, data, test)
    if data is not None:
        table = read_table(data, encoding)
        found = columns_of(table, text=text_column, label=label_column, second=second_column, id=id_column)
        if test is not None:
            columns_of(
                read_table(test, encoding), text=found.text, label=found.label, second=found.second, id=id_column
            )
    elif corpus is not None:
        source = CORPORA.parse(corpus)
        if isinstance(source, Declared):
            _check_rows(source)


def _check_rows(declared: Declared) -> None:
    from attentest.data.catalog.prepared import packed_folder
    from attentest.data.catalog.raw import RowsOnDisk

    rows = RowsOnDisk(declared)
    if packed_folder(declared) is None and declared.splits and not rows.files:
        rows(declared.splits[0])  # which says how to get it
