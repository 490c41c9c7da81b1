"""A study: a grid of runs in a TOML file, checked when it is read.

    name = "seeds"
    about = "How much of SST's attention is luck?"

    [run]                       # the same in every cell
    preset = "released"
    challenges = ["agreement", "permutation"]

    [grid]                      # every combination is a cell
    corpus = ["sst", "20news"]
    encoder = ["bilstm", "average"]
    seed = [0, 1, 2]

    [[adjust]]                  # cells that need something else
    where = { corpus = "20news" }
    set = { epochs = 12 }

    [[leave_out]]
    where = { corpus = "20news", encoder = "average" }
    because = "already known"

The keys are those of ``describe_run``, which are those of ``attentest audit``.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attentest.data.files.given import bytes_of_given
from attentest.errors import AttentestError, InputError, shown, suggestion
from attentest.studies.choices import check_choice, check_together

__all__ = ["Adjustment", "Cell", "LeftOut", "Study", "read_study"]

#: Bytes of a file, values of an axis, and cells, beyond which it is a slip.
LARGEST = 1 << 20
MOST_VALUES, MOST_CELLS = 10_000, 100_000
#: Dots of a line beside those of numbers in a list: a key of many parts takes a TOML reader quadratic time.
MOST_DOTS = 300
#: Bytes of a study's name: its record is a file of that name and a few letters more.
LONGEST_NAME = 100
TABLES = {"name", "title", "about", "paper", "run", "grid", "adjust", "leave_out"}


@dataclass(frozen=True)
class Cell:
    """One run of a study, as the keyword arguments of ``describe_run``."""

    choices: Mapping[str, Any]
    label: str


@dataclass(frozen=True)
class Adjustment:
    """Cells that match get other values."""

    where: Mapping[str, Any]
    set: Mapping[str, Any]


@dataclass(frozen=True)
class LeftOut:
    """Cells that match are not part of the study."""

    where: Mapping[str, Any]
    because: str


@dataclass(frozen=True)
class Study:
    """A grid of runs."""

    name: str
    grid: Mapping[str, tuple[Any, ...]]
    run: Mapping[str, Any] = field(default_factory=dict)
    adjust: tuple[Adjustment, ...] = ()
    leave_out: tuple[LeftOut, ...] = ()
    title: str = ""
    about: str = ""
    #: The paper whose claims it answers, if any.
    paper: str = ""
    path: Path | None = None

    def cells(self) -> list[Cell]:
        """Every combination of the grid, in the file's order, adjusted, without those left out."""
        cells = []
        for values in itertools.product(*self.grid.values()):
            point = dict(zip(self.grid, values, strict=True))
            choices = {**self.run, **point}
            for adjustment in self.adjust:
                if _matches(choices, adjustment.where):
                    choices |= adjustment.set
            if not any(_matches(choices, left.where) for left in self.leave_out):
                cells.append(Cell(choices, _label(point, self.grid)))
        return cells

    def narrowed(
        self,
        *,
        corpora: tuple[str, ...] = (),
        seeds: int = 0,
        **same: Any,
    ) -> Study:
        """The study on some of its corpora, with its first seeds, or with another value in every cell."""
        grid = dict(self.grid)
        if corpora:
            present = grid.get("corpus", (self.run.get("corpus", "reviews"),))
            for corpus in corpora:
                if corpus not in present:
                    raise InputError(
                        f"Study {self.name!r} has no corpus {corpus!r}. {suggestion(corpus, map(str, present))}"
                    )
            grid["corpus"] = corpora
        if seeds:
            given = grid.get("seed", (self.run.get("seed", 0),))
            if seeds > len(given):
                listed = ", ".join(map(str, given))
                raise InputError(
                    f"--seeds {seeds}: study {self.name!r} has {len(given)} ({listed}). Name more in its file."
                )
            grid["seed"] = tuple(given[:seeds])
        changed = {key: value for key, value in same.items() if value is not None}
        for key, value in changed.items():
            grid.pop(key, None)
            check_choice(key, value, f"--{key.replace('_', '-')}")
        # What is asked for on the command line holds in every cell, adjusted or not.
        adjust = (*self.adjust, Adjustment({}, changed)) if changed else self.adjust
        return dataclasses.replace(self, grid=grid, run={**self.run, **changed}, adjust=adjust)


def _matches(choices: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Whether every key has the value, or one of the values; a name alone matches it with any parameters."""
    for key, value in where.items():
        wanted = value if isinstance(value, list) else [value]
        given = choices.get(key)
        if given not in wanted and not (isinstance(given, str) and given.partition("(")[0] in wanted):
            return False
    return True


def _label(point: Mapping[str, Any], grid: Mapping[str, tuple[Any, ...]]) -> str:
    """What a person calls the cell; parameters only where names alone do not tell values apart."""
    named = {"seed": "seed {}", "limit": "{} texts", "epochs": "{} epochs"}
    parts = []
    for key, value in point.items():
        short = str(value).partition("(")[0]
        alone = sum(str(other).partition("(")[0] == short for other in grid[key]) == 1
        text = " + ".join(value) if isinstance(value, tuple) else value
        parts.append(named.get(key, "{}").format(short if alone and short else text))
    return " · ".join(part for part in parts if part) or "the one cell"


def read_study(path: Path) -> Study:
    """A study from its file; what is wrong is said with the file, the key and a suggestion."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is larger than {LARGEST >> 20} MB: that is no study. Name its TOML file.")
        text = bytes_of_given(path, LARGEST).decode("utf-8")
        if any(line.count(".") > MOST_DOTS and _dots(line) > MOST_DOTS for line in text.split("\n")):
            raise InputError(f"{path}: a key has more than {MOST_DOTS} parts: that is no study's. Write it flat.")
        record = tomllib.loads(text)
    except FileNotFoundError as error:
        raise InputError(f"No study file at {path}. 'attentest study ls' lists those that are built in.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}.") from error
    except (RecursionError, ValueError) as error:
        raise InputError(
            f"{path}: its values are nested too deep, or too long, to be a study's. Write it flat."
        ) from error
    try:
        study = _study(record, path)
        for cell in study.cells():
            check_together(cell.choices, cell.label)
        if not study.grid:
            raise InputError("grid: there is none. Write [grid] with one axis or more, as seed = [0].")
        _check_rules(study)
    except AttentestError as error:
        raise InputError(f"{path}: {error}") from error
    return study


def _dots(line: str) -> int:
    return re.sub(r"\d\.\d+\s*,", "", line).count(".")


def _check_rules(study: Study) -> None:
    """A rule that matches no cell, or undoes the grid, is a slip."""
    points = [
        {**study.run, **dict(zip(study.grid, values, strict=True))}
        for values in itertools.product(*study.grid.values())
    ]
    named = [(f"adjust[{n}]", rule.where) for n, rule in enumerate(study.adjust)]
    named += [(f"leave_out[{n}]", left.where) for n, left in enumerate(study.leave_out)]
    for at, where in named:
        if not any(_matches(point, where) for point in points):
            raise InputError(f"{at}.where: {dict(where)} matches no cell of the grid.")
    for number, rule in enumerate(study.adjust):
        if both := sorted(set(rule.set) & set(study.grid)):
            raise InputError(f"adjust[{number}].set.{both[0]}: it varies in the grid; two cells would become one.")


def _study(record: dict[str, Any], path: Path) -> Study:
    _known(record, TABLES, "")
    name = _text(record, "name") or path.stem
    if not all(c.isalnum() or c in "-_" for c in name):
        raise InputError(f"name: {name!r} may hold letters, digits, hyphens and underscores only.")
    if len(name.encode()) > LONGEST_NAME:
        raise InputError(f"name: {shown(name, 60)} is longer than {LONGEST_NAME} letters, and part of a file's name.")
    axes = {key: _axis(key, values) for key, values in _table(record, "grid").items()}
    run = {key: _value(key, value, f"run.{key}", path) for key, value in _table(record, "run").items()}
    if both := sorted(set(axes) & set(run)):
        raise InputError(f"run.{both[0]}: it varies in the grid too; keep it in one of the two.")
    grid = {
        key: tuple(_value(key, value, f"grid.{key}[{n}]", path) for n, value in enumerate(values))
        for key, values in axes.items()
    }
    if (cells := math.prod(map(len, grid.values()))) > MOST_CELLS:
        raise InputError(f"grid: it has {cells:,} cells, and {MOST_CELLS:,} are the most. Give shorter axes.")
    adjust = tuple(_adjustment(n, entry, path) for n, entry in enumerate(_list(record, "adjust")))
    leave_out = tuple(_left_out(n, entry) for n, entry in enumerate(_list(record, "leave_out")))
    title, about, paper = (_text(record, key) for key in ("title", "about", "paper"))
    study = Study(name, grid, run, adjust, leave_out, title, about, paper, path)
    if not study.cells():
        raise InputError("grid: it has no cell. Give every axis at least one value, and leave out fewer.")
    return study


def _adjustment(number: int, entry: Any, path: Path) -> Adjustment:
    at = f"adjust[{number}]"
    _known(entry, {"where", "set"}, at)
    changes = _table(entry, "set", at)
    if not changes:
        raise InputError(f"{at}.set: it says nothing. Write what the cells get, as set = {{ epochs = 12 }}.")
    return Adjustment(
        _where(entry, at), {key: _value(key, value, f"{at}.set.{key}", path) for key, value in changes.items()}
    )


def _left_out(number: int, entry: Any) -> LeftOut:
    at = f"leave_out[{number}]"
    _known(entry, {"where", "because"}, at)
    if not _text(entry, "because", at):
        raise InputError(f'{at}.because: say why, as because = "too long for this machine".')
    return LeftOut(_where(entry, at), entry["because"])


def _where(entry: dict[str, Any], at: str) -> dict[str, Any]:
    where = _table(entry, "where", at)
    for key, value in where.items():
        for one in value if isinstance(value, list) else [value]:
            check_choice(key, one, f"{at}.where.{key}")
    return where


def _axis(key: str, values: Any) -> list[Any]:
    if not isinstance(values, list) or not values:
        raise InputError(
            f"grid.{key}: {shown(values)} must be a list of one or more values; put a single one under [run]."
        )
    if len(values) > MOST_VALUES:
        raise InputError(f"grid.{key}: it has {len(values):,} values, and {MOST_VALUES:,} are the most. Give fewer.")
    for n, value in enumerate(values):
        if value in values[:n]:
            raise InputError(f"grid.{key}[{n}]: {shown(value)} is there twice.")
    return values


def _value(key: str, value: Any, at: str, path: Path) -> Any:
    """The value, checked; file names are read from the study's own folder."""
    check_choice(key, value, at)
    if isinstance(value, list):
        return tuple(value)
    if key == "challenges":
        return (value,)
    beside = path.parent / str(value)
    is_near = value and (beside.is_file() if key == "vectors" else key == "fine_tune" and beside.is_dir())
    if key in ("data", "test") or is_near:
        return str(beside.resolve())
    return value


def _known(record: Any, known: set[str], at: str) -> None:
    if not isinstance(record, dict):
        raise InputError(f"{at}: {shown(record)} must be a table.")
    for key in record:
        if key not in known:
            where = f"{at}.{key}" if at else key
            raise InputError(f"{where}: unknown key. {suggestion(key, known)}")


def _table(record: dict[str, Any], key: str, at: str = "") -> dict[str, Any]:
    found = record.get(key, {})
    if not isinstance(found, dict):
        raise InputError(f"{at + '.' if at else ''}{key}: {shown(found)} must be a table of keys and values.")
    return found


def _list(record: dict[str, Any], key: str) -> list[Any]:
    found = record.get(key, [])
    if not isinstance(found, list):
        raise InputError(f"{key}: write it as [[{key}]], once for each.")
    return found


def _text(record: dict[str, Any], key: str, at: str = "") -> str:
    found = record.get(key, "")
    if not isinstance(found, str):
        raise InputError(f"{at + '.' if at else ''}{key}: {shown(found)} must be text.")
    return found
