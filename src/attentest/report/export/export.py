"""A run's figures as SVG, PNG and PDF, its tables as CSV and LaTeX, and an index: one folder, whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attentest.data.files.unfinished import part_of
from attentest.errors import InputError, StorageError, shown
from attentest.presentation.charts import pdf, png, svg
from attentest.report.export.latex import csv_of, latex_of
from attentest.report.export.tables import tables_of
from attentest.report.pages.run import plots_of
from attentest.report.results import results_of
from attentest.report.verdict.judge import judge
from attentest.store.folder import RunFolder
from attentest.store.regular import content

__all__ = ["INDEX", "export_run"]

#: The list of what was exported, by which an earlier export is known.
INDEX = "index.json"

Row = dict[str, Any]


def export_run(run: RunFolder, target: Path) -> Row:
    """Export a finished run into a folder; an earlier export there is replaced. What was written, as in the index."""
    if target.exists():
        _check_replaceable(target)
    every = {name: run.findings(name) for name in run.challenges}
    results, verdict = results_of(run, every), judge(run)
    with _whole(target) as folder:
        figures = [_figure(folder, *each, results) for each in plots_of(results)]
        tables = [_table(folder, table) for table in tables_of(verdict, every, results)]
        index = {"run": run.path.name, "figures": figures, "tables": tables}
        (folder / INDEX).write_text(json.dumps(index, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return index


def _check_replaceable(target: Path) -> None:
    """Refuse to replace a folder that holds anything but what the index of an earlier export lists."""
    try:
        index = json.loads(content(target / INDEX))
        listed = {INDEX, *(file for kind in ("figures", "tables") for one in index[kind] for file in one["files"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        listed = set()
    there = [path for path in target.rglob("*") if path.is_symlink() or not path.is_dir()]
    others = sorted(name for path in there if (name := path.relative_to(target).as_posix()) not in listed)
    if not target.is_dir() or (others and not listed):
        raise InputError(f"{target} exists and is no export of a run. Name another folder with --to.")
    if others:
        raise InputError(
            f"{target} holds {shown(others[0])}, which no export wrote, and which would be lost. Move it away, or name "
            "another folder with --to."
        )


def _figure(folder: Path, challenge: str, plot: Any, findings: Any, results: Any) -> Row:
    name, chart = f"{challenge}-{plot.key}", plot.draw(findings, results)
    (folder / "figures").mkdir(exist_ok=True)
    files = {f"figures/{name}.svg": svg(chart).encode(), f"figures/{name}.png": png(chart)}
    files[f"figures/{name}.pdf"] = pdf(chart)
    for path, drawn in files.items():
        (folder / path).write_bytes(drawn)
    title, reading = plot.captioned(findings, results)
    reading = reading.format(w=results.wording)
    return {"name": name, "challenge": challenge, "title": title, "reading": reading, "files": list(files)}


def _table(folder: Path, table: Any) -> Row:
    (folder / "tables").mkdir(exist_ok=True)
    files = {
        f"tables/{table.name}.csv": csv_of(table.head, table.rows),
        f"tables/{table.name}.tex": latex_of(table.head, table.rows, table.title, table.name),
    }
    for path, text in files.items():
        (folder / path).write_text(text, encoding="utf-8")
    return {"name": table.name, "title": table.title, "rows": len(table.rows), "files": list(files)}


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A folder beside the target that takes its place when the block ends well, and vanishes when it does not."""
    made, old = part_of(target), part_of(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made.mkdir()
        yield made
        if target.exists():
            target.replace(old)
        made.replace(target)
    except OSError as error:
        raise StorageError(
            f"Cannot write {target}: {error.strerror or error}. Name a folder that you may write to with --to."
        ) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if not target.exists() and old.exists():
            old.replace(target)
        shutil.rmtree(old, ignore_errors=True)
