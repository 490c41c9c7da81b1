"""A run on disk: a folder named by the run's id.

    run.json                 every field, versions, corpus digest, and the sha256 of every finished file
    model.safetensors        the weights
    vocabulary.json          the words
    findings/<name>.parquet  one file per challenge
    report.html              the page
run.json is rewritten, atomically, after each finished stage; a file it does not list is not finished.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attentest.errors import StorageError, UnknownName
from attentest.store.atomic import checksum, make_folder, write_text
from attentest.store.findings import Findings, read_findings

__all__ = ["RunFolder", "find_run", "runs_in"]


class RunFolder:
    """One run's folder; reading checks what was recorded, writing records what was finished."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, fields: dict[str, Any], made_with: dict[str, str]) -> RunFolder:
        """The folder for these fields, made if it is not there yet."""
        make_folder(path)
        folder = cls(path)
        if not (path / "run.json").exists():
            folder._write({"fields": fields, "made_with": made_with, "finished": {}})
        elif folder.record["fields"] != json.loads(json.dumps(fields)):
            raise StorageError(f"{path} holds another run. Choose another --runs folder.")
        return folder

    @property
    def record(self) -> dict[str, Any]:
        """run.json."""
        path = self.path / "run.json"
        try:
            record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            record["fields"], record["finished"]
        except FileNotFoundError as error:
            raise StorageError(f"{self.path} is not a run: it has no run.json.") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{path} cannot be read ({error}). Delete the folder {self.path} and run again."
            ) from error
        return record

    def _write(self, record: dict[str, Any]) -> None:
        write_text(self.path / "run.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")

    def finish(self, name: str, **about: Any) -> None:
        """Record that the file ``name`` is whole, with its checksum and anything worth keeping."""
        record = self.record
        record["finished"][name] = {"sha256": checksum(self.path / name), **about}
        self._write(record)

    def forget(self, name: str) -> None:
        """Take a file out of the record, so that it is computed again."""
        record = self.record
        record["finished"].pop(name, None)
        self._write(record)

    def is_finished(self, name: str) -> bool:
        """Whether the file is recorded and still has the recorded content."""
        entry = self.record["finished"].get(name)
        path = self.path / name
        return entry is not None and path.is_file() and checksum(path) == entry["sha256"]

    def verify(self, name: str) -> Path:
        """The path of a finished file, whose content is what was recorded."""
        if name not in self.record["finished"]:
            raise StorageError(f"{self.path} has no finished {name}. Run the audit again to complete it.")
        if not self.is_finished(name):
            raise StorageError(
                f"{self.path / name} is missing or was altered after it was written. "
                "Run the audit again to recompute it."
            )
        return self.path / name

    @property
    def challenges(self) -> list[str]:
        """The names of the finished findings."""
        names = [name for name in self.record["finished"] if name.startswith("findings/")]
        return [name.removeprefix("findings/").removesuffix(".parquet") for name in names]

    def named(self, challenge: str) -> str | None:
        """The findings of a challenge of this name: with its default parameters, or else with others."""
        variants = [c for c in self.challenges if c == challenge or c.startswith(f"{challenge}-")]
        return min(variants, key=len, default=None)

    def findings(self, challenge: str) -> Findings:
        """The findings of one challenge."""
        if challenge not in self.challenges:
            raise UnknownName("finished challenge of this run", challenge, self.challenges)
        return read_findings(self.verify(f"findings/{challenge}.parquet"))


def runs_in(root: Path) -> Iterator[RunFolder]:
    """Every run below a folder, the one touched last first."""

    def touched(path: Path) -> float:
        return max(file.stat().st_mtime for name in ("run.json", "report.html") if (file := path / name).exists())

    found = (path.parent for path in root.glob("*/run.json"))
    yield from (RunFolder(path) for path in sorted(found, key=touched, reverse=True))


def find_run(text: str, root: Path) -> RunFolder:
    """A run by its path, its id or the beginning of its id; ``latest`` is the newest."""
    if (Path(text) / "run.json").is_file():
        return RunFolder(Path(text))
    runs = list(runs_in(root))
    if text == "latest" and runs:
        return runs[0]
    matching = [run for run in runs if text and run.path.name.startswith(text)]
    if len(matching) == 1:
        return matching[0]
    if len(matching) > 1:
        raise UnknownName("single run", text, [run.path.name for run in matching])
    raise UnknownName(f"run in {root}", text, [run.path.name for run in runs] or ["(none)"])
