"""The records of a calibration as one table, a row per member; and what single texts had, as another.

A measure is a column of its name, the ends of its interval are ``low of NAME`` and ``high of NAME``; so are a truth,
``truth NAME`` with ``error of truth NAME``, and what explainers held of the true mass, ``explainer NAME``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from scipy.stats import binom

from attentest.calibration.analysis.fitting import Evidence
from attentest.calibration.analysis.literature import BOUNDS, EVIDENCE, TRUTHS, kept, test_of
from attentest.errors import InputError
from attentest.store.atomic import replacing

__all__ = ["Table", "read_records", "read_table"]

ABOUT = ("family", "mechanism", "world", "dial", "value", "seed", "classes", "words", "texts", "accuracy")
SORTED = ["family", "mechanism", "world", "dial", "value", "seed"]
#: Digits of every number that is kept.
DIGITS = 5


@dataclass(frozen=True)
class Table:
    """All members, and the texts of those that have some: ``member`` is the row, ``truth``, ``delete`` and ``mask``."""

    frame: Any
    texts: Any

    def __len__(self) -> int:
        return len(self.frame)

    def column(self, name: str) -> np.ndarray:
        """The numbers of a column, not a number where a member has none."""
        if name not in self.frame:
            return np.full(len(self.frame), np.nan)
        return np.asarray(self.frame[name].to_numpy(dtype=np.float64))

    def names(self, column: str) -> np.ndarray:
        """The strings of a column."""
        return np.asarray(self.frame[column].fillna("").astype(str).to_numpy(dtype=object))

    def truth(self, name: str) -> np.ndarray:
        """A truth of every member."""
        return self.column(f"truth {name}")

    def interval(self, measure: str) -> np.ndarray:
        """The ends of a measure's interval, [member, (low, high)]; the value itself where there is none."""
        value = self.column(measure)
        ends = [self.column(f"{end} of {measure}") for end in ("low", "high")]
        return np.stack([np.where(np.isnan(end), value, end) for end in ends], axis=-1)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The names of all measures."""
        return tuple(
            name for name in self.frame.columns if name not in ABOUT and "." in name and " " not in _bare(name)
        )

    @cached_property
    def kinds_of_world(self) -> np.ndarray:
        """The world of every member without its parameters."""
        return np.array([world.partition("(")[0] for world in self.names("world")], dtype=object)

    @cached_property
    def dials(self) -> tuple[tuple[str, str, np.ndarray], ...]:
        """The mechanism and world of every dial of a family, and the rows of its members."""
        rows: dict[tuple[str, ...], list[int]] = {}
        for row, key in enumerate(zip(*map(self.names, ("family", "mechanism", "world", "dial")), strict=True)):
            rows.setdefault(key, []).append(row)
        order = sorted((key for key in rows if key[-1]), key="\n".join)
        return tuple((key[1], key[2], np.array(rows[key])) for key in order)

    @cached_property
    def able(self) -> np.ndarray:
        """Which members have learnt their task: better than one class always, by an exact test; or have none."""
        chance = self.column("most_frequent")
        chance = np.where(np.isnan(chance), 1 / self.column("classes"), chance)
        accuracy, texts = self.column("accuracy"), self.column("texts")
        hits = np.round(np.nan_to_num(accuracy) * texts)
        better = binom.sf(hits - 1, texts, chance) <= 0.05
        return np.asarray(np.isnan(accuracy) | better)

    def where(self, rows: np.ndarray) -> Table:
        """Some of the members, and their texts."""
        inside = self.texts["member"].isin(self.frame.index[rows]) if len(self.texts) else slice(None)
        return Table(self.frame[rows], self.texts[inside])

    def counted(self) -> Table:
        """The members that have learnt their task."""
        return self.where(self.able)

    def evidence(self, use: str, measures: tuple[str, ...] | None = None) -> Evidence:
        """What decides a use, or other measures in its place, and the truth it is about; members that have a truth."""
        intervals = np.stack([self.interval(name) for name in measures or EVIDENCE[use]], axis=1)
        truth = self.truth(TRUTHS[use])
        known = ~np.isnan(truth)
        bounds = BOUNDS.get(use, (math.inf, -math.inf))
        return Evidence(intervals, truth, self.names("mechanism"), self.names("world"), bounds)[known]

    def text_evidence(self) -> Evidence:
        """The mean held of every text that was judged, over the ways of taking words out, and its truth about words."""
        texts = self.texts.dropna(subset=["truth", "delete", "mask"])
        held = np.asarray(texts[["delete", "mask"]].mean(axis=1).to_numpy(dtype=np.float64))
        about = self.frame.loc[texts["member"]]
        mechanism, world = (np.asarray(about[column].to_numpy(dtype=object)) for column in ("mechanism", "world"))
        truth = np.asarray(texts["truth"].to_numpy(dtype=np.float64))
        return Evidence(np.stack([held, held], axis=-1)[:, None, :], truth, mechanism, world)

    def write(self, folder: Path) -> None:
        """``members.csv`` and ``texts.parquet``, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / "members.csv") as target:
            self.frame.to_csv(target, index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
        with replacing(folder / "texts.parquet") as target:
            self.texts.to_parquet(target, index=False, compression="zstd")


def _bare(name: str) -> str:
    """A measure's name without parameters, in which there may be spaces."""
    return name.partition("(")[0]


def read_table(folder: Path) -> Table:
    """What ``write`` wrote."""
    path = folder / "members.csv"
    if not path.is_file():
        raise InputError(f"There is no table of members in {folder}: run `attentest calibrate` first.")
    texts = folder / "texts.parquet"
    return Table(pandas.read_csv(path), pandas.read_parquet(texts) if texts.is_file() else _no_texts())


def _no_texts() -> Any:
    return pandas.DataFrame({"member": [], "truth": [], "delete": [], "mask": []})


def read_records(folder: Path) -> Table:
    """The table of all records in a folder, in an order that does not depend on their file names."""
    found = sorted((folder / "members").glob("*.json"))
    if not found:
        raise InputError(f"There are no records in {folder / 'members'}: run `attentest calibrate` first.")
    records = [_read(path) for path in found]
    frame = pandas.DataFrame([_row(record) for record in records])
    order = frame.sort_values(SORTED, kind="stable").index
    frame = frame.loc[order].reset_index(drop=True)
    parts = [_texts(records[old], new) for new, old in enumerate(order)]
    parts = [part for part in parts if len(part)]
    return Table(frame, pandas.concat(parts, ignore_index=True) if parts else _no_texts())


def _read(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
        missing = [key for key in (*ABOUT, "truth", "measures") if key not in record]
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{path} is no record of a member ({error}): delete it, and run `attentest calibrate` again."
        ) from None
    if missing:
        raise InputError(f"{path} has no {', '.join(missing)}: delete it, and run `attentest calibrate` again.")
    return record


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    row = {key: record[key] for key in ABOUT}
    row["most_frequent"] = _number(record.get("most_frequent"))
    row["accuracy"] = _number(row["accuracy"])
    for name, (value, error, judged) in record["truth"].items():
        row |= {f"truth {name}": _number(value), f"error of truth {name}": _number(error), f"judged {name}": judged}
    row |= dict(_measures(record["measures"]))
    row |= {f"explainer {name}": _number(value) for name, value in (record.get("explainers") or {}).items()}
    return row


def _measures(measures: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, (value, low, high, *_) in sorted(measures.items()):
        if kept(name):
            yield name, _number(value)
            if test_of(name)[1]:
                yield f"low of {name}", _number(low)
                yield f"high of {name}", _number(high)


def _number(value: float | None) -> float:
    number = math.nan if value is None else float(value)
    return float(f"{number:.{DIGITS}g}")


def _texts(record: Mapping[str, Any], member: int) -> Any:
    pairs = record.get("per_text") or {}
    columns = {name: pairs[name] for name in ("truth", "delete", "mask") if pairs.get(name)}
    frame = pandas.DataFrame({name: pandas.array(values, dtype="Float32") for name, values in columns.items()})
    frame = frame.astype("float32") if len(frame) else frame
    frame.insert(0, "member", np.full(len(frame), member, dtype=np.int32))
    return frame
