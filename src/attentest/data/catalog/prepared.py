"""Prepared corpora as memory-mapped Arrow files: made once, read back without reading the tokens.

    <cache>/prepared/<name>-<hash>/corpus.json      classes, provenance, digest, and the sha256 of every file
    <cache>/prepared/<name>-<hash>/<split>.arrow    record batches of 2,048 instances, uncompressed
or, where a pack was made for machines without the rows, <data>/prepared/index.json and the same folders beside it.
The hash is over the sums of the files of rows, the declaration with its options, and the code that prepares.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from attentest.data.catalog.cache import cache_folder, sum_of
from attentest.data.catalog.location import data_folder
from attentest.data.catalog.raw import RowsOnDisk
from attentest.data.corpora.declared import Declared, Instance, Prepared
from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.files.unfinished import part_of, sweep
from attentest.errors import InputError, StorageError
from attentest.progress import SILENT, Progress, Tick
from attentest.registry import text_of

__all__ = ["load_prepared", "pack", "prepared_folder"]

#: Raised when this file or the tokenizers change what a preparation gives.
PREPARATION = 1
BATCH = 2048
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("tokens", pa.list_(pa.string())),
        ("label", pa.int32()),
        ("second", pa.list_(pa.string())),
        ("rationale", pa.list_(pa.bool_())),
        ("target", pa.list_(pa.string())),
        ("alignment", pa.list_(pa.string())),
        ("annotations", pa.list_(pa.list_(pa.bool_()))),
        ("sentences", pa.list_(pa.int32())),
        ("candidates", pa.list_(pa.int32())),
    ]
)
RECORD, PACKED = "corpus.json", "prepared"
#: Sources are left out: where rows come from does not change what is made of them.
IMPORTS = re.compile(rb"^from (attentest\.data\.(?!sources|catalog\.prepared)[\w.]+) import", re.MULTILINE)
#: What a folder that is missing, cut short or altered gives when it is opened.
UNUSABLE = (OSError, ValueError, LookupError, TypeError, pa.ArrowException, InputError)


def load_prepared(declared: Declared, *, progress: Progress = SILENT) -> Corpus:
    """The corpus from the cache; prepared first when it is not there, was altered, or its rows are others."""
    if (packed := packed_folder(declared)) is not None:
        return _packed(packed)
    folder = prepared_folder(declared)
    with contextlib.suppress(*UNUSABLE):
        return _opened(folder)
    _prepare(declared, folder, progress)
    return _opened(folder)


def packed_folder(declared: Declared) -> Path | None:
    """Where a pack in the data folder holds the corpus, prepared: it needs neither rows nor a tokenizer."""
    index = data_folder() / PACKED / "index.json"
    try:
        name = json.loads(index.read_text(encoding="utf-8")).get(text_of(declared))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{index} cannot be read ({error}). Pack the corpora again.") from error
    return None if name is None else index.parent / Path(str(name)).name


def _packed(folder: Path) -> Corpus:
    try:
        return _opened(folder)
    except UNUSABLE as error:
        raise InputError(f"The packed corpus {folder} is not whole ({error}). Pack it again.") from error


def pack(corpora: Iterable[Declared], folder: Path, *, progress: Progress = SILENT) -> None:
    """Copy corpora, prepared, into a folder that serves as ATTENTEST_DATA on a machine without their rows."""
    (folder / PACKED).mkdir(parents=True, exist_ok=True)
    names: dict[str, str] = {}
    for declared in corpora:
        load_prepared(declared, progress=progress)
        source = packed_folder(declared) or prepared_folder(declared)
        if not (folder / PACKED / source.name).exists():
            temporary = part_of(folder / PACKED / source.name)
            shutil.copytree(source, temporary)
            temporary.replace(folder / PACKED / source.name)
        names[text_of(declared)] = source.name
    temporary = part_of(folder / PACKED / "index.json")
    temporary.write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")
    temporary.replace(folder / PACKED / "index.json")


def prepared_folder(declared: Declared) -> Path:
    """The folder of the cache that belongs to these rows, options and code."""
    rows = RowsOnDisk(declared)
    if declared.splits and not rows.files:
        rows(declared.splits[0])  # which says how to get it
    decides = {
        "rows": {split: sum_of(path).sha256 for split, path in rows.files.items()},
        "corpus": text_of(declared),
        "code": _code(type(declared).__module__),
        "preparation": [PREPARATION, version("spacy")],
    }
    key = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]
    return cache_folder() / "prepared" / f"{declared.name}-{key}"


def _code(module: str) -> dict[str, str]:
    """The sums of the declaration's file and of those it prepares with: what it imports from attentest.data."""
    sums: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = Path(getattr(sys.modules.get(name), "__file__", None) or "")
        if name not in sums and path.is_file():
            content = path.read_bytes()
            sums[name] = hashlib.sha256(content).hexdigest()
            waiting += [found.decode() for found in IMPORTS.findall(content)]
    return sums


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _opened(folder: Path) -> Corpus:
    """The corpus in this folder; any way in which it is not whole is an error."""
    record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    splits: dict[str, Split] = {}
    for name, about in record["splits"].items():
        path = folder / f"{name}.arrow"
        if _digest(path) != about.get("sha256"):
            raise ValueError(f"{path} was altered after it was written")
        # The map lives as long as the table's buffers do.
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        if table.num_rows != about["instances"]:
            raise ValueError(f"{path} has another number of instances")
        splits[name] = Split(table.select(about["columns"]))
    provenance = record["provenance"]
    return Corpus(
        record["name"],
        tuple(record["classes"]),
        splits,
        Provenance(**{**provenance, "left_out": tuple(provenance["left_out"])}),
        task=record["task"],
        min_frequency=record["min_frequency"],
        known_digest=record["digest"],
    )


def _prepare(declared: Declared, folder: Path, progress: Progress) -> None:
    """Write the folder under a temporary name and rename it; what another process finished first is kept."""
    temporary = part_of(folder)
    try:
        temporary.mkdir(parents=True)
        record = write_splits(declared, declared.prepare(RowsOnDisk(declared)), temporary, progress)
        (temporary / RECORD).write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
        _move_into_place(temporary, folder)
    except OSError as error:
        raise StorageError(
            f"Cannot write the prepared corpus {declared.name!r} to {folder.parent}: {error.strerror or error}. "
            "Free space, or set ATTENTEST_CACHE to another folder."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _forget_superseded(folder, record["text"])


def _move_into_place(temporary: Path, folder: Path) -> None:
    with contextlib.suppress(*UNUSABLE):
        _opened(folder)
        return
    if folder.exists():
        aside = part_of(folder)
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    try:
        temporary.rename(folder)
    except OSError as error:
        # Another process was quicker by a moment: its folder must be whole, else this is an error.
        try:
            _opened(folder)
        except UNUSABLE:
            raise error from None


def _forget_superseded(folder: Path, text: str) -> None:
    """Remove what older rows or code made of the same corpus with the same options, and what a killed process left."""
    with contextlib.suppress(OSError):
        sweep(folder.parent)
        for other in folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*"):
            with contextlib.suppress(*UNUSABLE):
                if other != folder and json.loads((other / RECORD).read_text(encoding="utf-8"))["text"] == text:
                    shutil.rmtree(other, ignore_errors=True)


def write_splits(declared: Declared, prepared: Prepared, folder: Path, progress: Progress) -> dict[str, Any]:
    """Stream every split to its file; what must be known without reading them again."""
    splits: dict[str, dict[str, Any]] = {}
    tables: dict[str, Split] = {}
    rows = sum(sum_of(path).rows for path in RowsOnDisk(declared).files.values())
    with progress.stage("Preparing", rows) as tick:
        for name, instances in prepared.splits.items():
            path = folder / f"{name}.arrow"
            columns = _write_split(path, instances, len(prepared.classes), f"Corpus {declared.name!r}, {name}", tick)
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all().select(columns)
            tables[name] = Split(table)
            splits[name] = {"instances": table.num_rows, "sha256": _digest(path), "columns": columns}
    provenance = Provenance(
        source=declared.homepage or declared.summary,
        preparation=prepared.preparation,
        licence=declared.licence,
        citation=declared.citation,
        left_out=tuple(prepared.left_out),
        partial=prepared.partial,
        rationale=prepared.rationale,
    )
    least = declared.min_frequency if prepared.min_frequency is None else prepared.min_frequency
    corpus = Corpus(declared.name, tuple(prepared.classes), tables, provenance, declared.task, least)
    return {
        "name": corpus.name,
        "text": text_of(declared),
        "classes": corpus.classes,
        "task": corpus.task,
        "min_frequency": least,
        "digest": corpus.digest,
        "provenance": dataclasses.asdict(provenance),
        "splits": splits,
    }


def _write_split(path: Path, instances: Iterable[Instance], classes: int, place: str, tick: Tick) -> list[str]:
    """Write one split; give the columns that hold anything."""
    used = {"id", "tokens", "label"}
    seen: set[str] = set()
    stream = iter(instances)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        while batch := list(islice(_checked(stream, classes, seen, place), BATCH)):
            columns = dict(zip(Instance._fields, zip(*batch, strict=True), strict=True))
            used.update(name for name, values in columns.items() if any(value is not None for value in values))
            writer.write_batch(pa.record_batch([columns[field.name] for field in SCHEMA], schema=SCHEMA))
            tick(len(batch))
    return [name for name in SCHEMA.names if name in used]


def _checked(instances: Iterator[Instance], classes: int, seen: set[str], place: str) -> Iterator[Instance]:
    """The instances, each of which has an id of its own, tokens, a known label and a mark for every token."""
    for instance in instances:
        wrong = ""
        if instance.id in seen:
            wrong = "has an id that another one has"
        elif not instance.tokens:
            wrong = "has no tokens"
        elif not 0 <= instance.label < classes:
            wrong = f"has the label {instance.label}, which is none of the {classes} classes"
        elif instance.rationale is not None and len(instance.rationale) != len(instance.tokens):
            wrong = f"has {len(instance.rationale)} marks for {len(instance.tokens)} tokens"
        elif other := [len(one) for one in instance.annotations or () if len(one) != len(instance.tokens)]:
            wrong = f"has {other[0]} marks of one person for {len(instance.tokens)} tokens"
        elif (sizes := instance.sentences) is not None and (sum(sizes) != len(instance.tokens) or min(sizes) < 1):
            wrong = f"has sentences of {', '.join(map(str, sizes))} tokens, which are not its {len(instance.tokens)}"
        if wrong:
            raise InputError(f"{place}: instance {instance.id!r} {wrong}. Correct its row, or get the corpus again.")
        seen.add(instance.id)
        yield instance
