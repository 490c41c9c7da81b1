"""The files of Zhang, Zhao & LeCun (2015): train.csv and test.csv, a class from 1 and then texts."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from attentest.data.catalog.cleaning import csv_records
from attentest.data.corpora.declared import Declared, Row
from attentest.data.corpora.official_files import found
from attentest.errors import InputError

__all__ = ["SERRANO", "Zhang"]

SERRANO = "Serrano & Smith 2019, Table 1"


@dataclass(frozen=True)
class Zhang(Declared, ABC):
    """A corpus in their files; classes become numbers from 0."""

    #: What the texts of a record are.
    columns: ClassVar[tuple[str, ...]] = ("title", "text")
    #: From a record to the row that is kept.
    row_of: ClassVar[Callable[[Row], Row]] = dict
    citation: ClassVar[str] = "Zhang, Zhao & LeCun 2015, Character-level convolutional networks for text classification"
    min_frequency: ClassVar[int] = 5

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """train.csv and test.csv."""
        files = {split: found(folder, f"{split}.csv") for split in ("train", "test")}
        return {split: map(type(self).row_of, self._records(path)) for split, path in files.items()}

    def _records(self, path: Path) -> Iterator[Row]:
        for number, (label, *texts) in enumerate(csv_records(path, columns=(len(self.columns) + 1,))):
            if not label.isdigit() or label == "0":
                raise InputError(f"{path.name}, record {number + 1}: label {label!r} is not a number from 1.")
            named = dict(zip(self.columns, texts, strict=True))
            yield {"id": f"{path.stem}-{number}", **named, "label": int(label) - 1}
