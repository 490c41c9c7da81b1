"""From the official files to rows on this machine: whole or not at all, and the old copy stays until then."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.data.catalog.cache import cache_folder
from attentest.data.catalog.raw import ENDING, RowsOnDisk, checked, rows_folder
from attentest.data.corpora.declared import Declared, Row
from attentest.data.files.unfinished import part_of
from attentest.data.sources.archive import Archive
from attentest.data.sources.folder import Folder
from attentest.data.sources.hub import Hub
from attentest.data.sources.source import Source
from attentest.errors import InputError, StorageError
from attentest.progress import SILENT, Progress, Tick

__all__ = ["KINDS", "Installed", "get"]

MANIFEST = "MANIFEST.json"
KINDS: Mapping[str, type[Source]] = {"archive": Archive, "hub": Hub}
#: More different labels than this are not classes, and are not counted in the manifest.
MOST_LABELS = 100


@dataclass(frozen=True)
class Installed:
    """A corpus that is now on this machine: its folder, and the number of rows of every split."""

    folder: Path
    rows: dict[str, int]


def get(
    declared: Declared,
    *,
    source: str | None = None,
    from_folder: Path | None = None,
    progress: Progress = SILENT,
) -> Installed:
    """Fetch the official files (or take them from a folder), read them, and put their rows into the data folder."""
    chosen = _chosen(declared, source, from_folder)
    target = rows_folder(declared)
    downloads = cache_folder() / "downloads" / declared.name
    with _writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(13, "no permission to write there")
        _recover(target)
    official = chosen.fetch(downloads, progress)
    temporary = part_of(target)
    try:
        with _writing(target):
            temporary.mkdir()
            manifest = _write(declared, _read(declared, official), temporary, progress)
            record = {"corpus": declared.name, "source": chosen.describe(), "splits": manifest}
            (temporary / MANIFEST).write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
            _exchange(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    if official.is_relative_to(downloads):
        shutil.rmtree(official, ignore_errors=True)  # the archive itself stays
    return Installed(target, {split: about["rows"] for split, about in manifest.items()})


def _chosen(declared: Declared, source: str | None, from_folder: Path | None) -> Source:
    if from_folder is not None:
        return Folder(from_folder.expanduser())
    by_hand = f"Get its official files{f' from {declared.homepage}' if declared.homepage else ''} and use --from DIR."
    if source is None:
        if not declared.sources:
            raise InputError(f"Corpus {declared.name!r} cannot be fetched for you ({declared.licence}). {by_hand}")
        return declared.sources[0]
    if source not in KINDS:
        raise InputError(f"--source {source!r} is unknown: write {' or '.join(KINDS)}.")
    for candidate in declared.sources:
        if isinstance(candidate, KINDS[source]):
            return candidate
    has = ", ".join(name for name, kind in KINDS.items() if any(isinstance(s, kind) for s in declared.sources))
    raise InputError(f"Corpus {declared.name!r} has no source {source!r} (it has: {has or 'none'}). {by_hand}")


def _read(declared: Declared, official: Path) -> Mapping[str, Iterable[Row]]:
    """The official files as rows; a folder that already holds rows in our form is taken as it is."""
    ours = RowsOnDisk(declared, official)
    if declared.splits and all(ours.has(split) for split in declared.splits):
        return {split: ours(split) for split in ours.files}
    try:
        splits = declared.read_official(official)
    except (OSError, RecursionError) as error:
        raise _unreadable(error) from error
    return {split: _readable(rows) for split, rows in splits.items()}


def _readable(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows; what cannot be read is not taken for something that cannot be written."""
    try:
        yield from rows
    except (OSError, RecursionError) as error:
        raise _unreadable(error) from error


def _unreadable(error: OSError | RecursionError) -> InputError:
    if isinstance(error, RecursionError):
        return InputError("An official file holds JSON that is nested too deeply to be read: get the files again.")
    return InputError(f"{error.filename or 'An official file'} cannot be read ({error.strerror or error}): check it.")


def _write(
    declared: Declared, splits: Mapping[str, Iterable[Row]], folder: Path, progress: Progress
) -> dict[str, dict[str, Any]]:
    if missing := [split for split in declared.splits if split not in splits]:
        raise InputError(
            f"Corpus {declared.name!r}: the official files give {', '.join(splits) or 'nothing'} and no "
            f"{missing[0]!r}: files are missing."
        )
    total = int(sum(figure.value for figure in declared.expected if figure.what == "rows"))
    with progress.stage("Reading", total) as tick:
        return {split: _write_split(declared, split, rows, folder, tick) for split, rows in splits.items()}


def _write_split(declared: Declared, split: str, rows: Iterable[Row], folder: Path, tick: Tick) -> dict[str, Any]:
    path = folder / f"{split}{ENDING}"
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    labels: Counter[str] = Counter()
    # No name and no time in the header: the same rows are the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        numbered = ((number, dict(row)) for number, row in enumerate(rows, start=1))
        for row in checked(declared, numbered, f"Corpus {declared.name!r}, {split}, row"):
            packed.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            count += 1
            if "label" in row and len(labels) <= MOST_LABELS:
                labels[str(row["label"])] += 1
            tick(1)
    if not count:
        raise InputError(f"Corpus {declared.name!r}: the official files hold no rows for {split!r}: files are missing.")
    with path.open("rb") as written:
        os.fsync(written.fileno())
        about = {"rows": count, "sha256": hashlib.file_digest(written, "sha256").hexdigest()}
    return {**about, "labels": dict(sorted(labels.items()))} if len(labels) <= MOST_LABELS else about


def _exchange(temporary: Path, target: Path) -> None:
    """Put the new folder in the place of the old one, which is removed last."""
    old = target.with_name(f".{target.name}.old")
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        _recover(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _recover(target: Path) -> None:
    """Put back an old copy whose successor never came, as when the power fails between two renames."""
    old = target.with_name(f".{target.name}.old")
    if old.exists() and not target.exists():
        old.rename(target)


@contextlib.contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"Cannot write {target}: {error.strerror or error}. Free space, or set ATTENTEST_DATA to another folder; "
            "what was there is kept."
        ) from error
