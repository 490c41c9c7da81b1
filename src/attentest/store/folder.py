"""A run on disk: a folder named by the run's id.

    run.json                 every field, versions, corpus digest, and the sha256 of every finished file
    corpus.json              what the corpus counts: texts by class, lengths, words
    model.safetensors        the weights
    vocabulary.json          the words
    findings/<name>.parquet  one file per challenge
    findings/unfinished      what an examination that was cut short has found so far
    training-texts.u64       hashes of the texts that the model was trained on
    report.html              the page
run.json is rewritten, atomically, after each finished stage; a file it does not list is not finished. It ends in a
seal, the sha256 of all the rest of it, so that a single flipped bit anywhere in the folder is noticed: whoever reads a
file of a run asks ``verify`` for its path. A seal tells damage; it is no signature, whoever can write here can seal.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from attentest.data.files.unfinished import sweep
from attentest.errors import StorageError, UnknownName
from attentest.store.atomic import checksum, make_folder, replacing, write_text
from attentest.store.findings import Findings, read_findings
from attentest.store.sealed import read_sealed, seal_of, sealed

__all__ = ["REPORT", "RunFolder", "find_run", "runs_in", "verified"]

REPORT = "report.html"

AGAIN = "Run the same command again: it is noticed and computed again."


class RunFolder:
    """One run's folder; reading checks what was recorded, writing records what was finished."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(
        cls,
        path: Path,
        fields: dict[str, Any],
        made_with: dict[str, str],
        say: Callable[[str], None] = lambda line: None,
    ) -> RunFolder:
        """The folder for these fields, made if it is not there yet; a damaged record is named and begun again."""
        make_folder(path)
        folder, record = cls(path), path / "run.json"
        if record.exists():
            try:
                found = folder.record["fields"]
            except StorageError as error:
                say(f"{str(error).split('. ')[0]}; computing this run again.")
                record.replace(path / "run.json.damaged")
            else:
                if found != json.loads(json.dumps(fields)):
                    raise StorageError(f"{path} holds another run. Choose another folder of runs (--runs).")
                return folder
        folder._write({"fields": fields, "made_with": made_with, "finished": {}})
        return folder

    @property
    def record(self) -> dict[str, Any]:
        """run.json."""
        path, missing = self.path / "run.json", f"{self.path} is not a run: it has no run.json."
        return _checked(path, read_sealed(path, ("fields", "finished"), missing, AGAIN))

    @property
    def seal(self) -> str:
        """The sha256 over all that run.json says, the sums of all files among it."""
        return seal_of(self.record)

    def _write(self, record: dict[str, Any]) -> None:
        write_text(self.path / "run.json", sealed(record))

    @contextlib.contextmanager
    def locked(self, say: Callable[[str], None] = lambda line: None) -> Iterator[None]:
        """Hold the run for one process; another one waits. A killed process holds nothing; what it left is swept."""
        try:
            import fcntl
        except ImportError:  # pragma: no cover - Windows: the rename still keeps files whole
            yield
            return
        try:
            handle = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW)
        except OSError as error:
            raise StorageError(
                f"Cannot write in {self.path}: {error.strerror or error}. Choose another folder of runs (--runs)."
            ) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                say(f"{self.path.name}: another process is computing it; waiting.")
                fcntl.flock(handle, fcntl.LOCK_EX)
            self._sweep()
            yield
        finally:
            os.close(handle)

    def _sweep(self) -> None:
        """Take away what a killed process left: files it had begun, and parts of findings that it had finished."""
        sweep(self.path)
        parts = self.path / "findings" / "unfinished"
        with contextlib.suppress(StorageError):  # a damaged record: whoever reads it is told
            for name in self.challenges if parts.is_dir() else ():
                shutil.rmtree(parts / name, ignore_errors=True)
        with contextlib.suppress(OSError):  # it is not there, or an examination goes on from it
            parts.rmdir()

    def finish(self, name: str, **about: Any) -> None:
        """Record that the file ``name`` is whole, with its checksum and anything worth keeping."""
        record = self.record
        record["finished"][name] = {"sha256": checksum(self.path / name), **about}
        self._write(record)

    def copy(self, source: RunFolder, name: str, **about: Any) -> None:
        """Copy a file that another run finished, with what its record says of it, or ``about`` it instead."""
        make_folder((self.path / name).parent)
        with replacing(self.path / name) as temporary:
            shutil.copyfile(source.verify(name), temporary)
        entry = about or source.record["finished"][name]
        self.finish(name, **{key: value for key, value in entry.items() if key != "sha256"})

    @property
    def companion(self) -> str:
        """Which companion of an audited model it was trained for, and for nothing else; "" too when unreadable."""
        try:
            return str(self.record.get("companion", ""))
        except StorageError:
            return ""

    def note(self, **about: Any) -> None:
        """Record something worth keeping of the run as a whole; what is None is no longer worth it."""
        record = self.record
        if any(record.get(name) != value for name, value in about.items()):
            self._write({name: value for name, value in (record | about).items() if value is not None})

    def is_finished(self, name: str, say: Callable[[str], None] = lambda line: None) -> bool:
        """Whether the file is recorded and still has the recorded content; ``say`` hears when it has not."""
        entry = self.record["finished"].get(name)
        path = self.path / name
        if entry is None:
            return False
        whole = path.is_file() and checksum(path) == entry["sha256"]
        if not whole:
            say(f"{path} is missing or was altered after it was written; computing it again.")
        return whole

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


def _checked(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """A record whose parts are what every reader takes them for: whoever made it may have sealed anything."""
    finished = record["finished"]
    whole = isinstance(record["fields"], dict) and isinstance(record.get("made_with", {}), dict)
    if not whole or not isinstance(finished, dict) or not all(map(_is_entry, finished.items())):
        raise StorageError(f"{path} is sealed, and is no record of a run. {AGAIN}")
    return record


def _is_entry(file: tuple[str, Any]) -> bool:
    """Whether a finished file has a name inside of the folder, and a sum."""
    name, entry = PurePosixPath(file[0]), file[1]
    return (
        not name.is_absolute()
        and ".." not in name.parts
        and isinstance(entry, dict)
        and isinstance(entry.get("sha256"), str)
    )


def verified(path: Path) -> Path:
    """The path of a file that may lie in a run's folder, or one below: there its content must be what was recorded."""
    for folder in (path.parent, path.parent.parent):
        if (folder / "run.json").is_file():
            return RunFolder(folder).verify(path.relative_to(folder).as_posix())
    return path


def runs_in(root: Path) -> Iterator[RunFolder]:
    """Every run below a folder, the one touched last first."""

    def touched(path: Path) -> float:
        return max(file.stat().st_mtime for name in ("run.json", "report.html") if (file := path / name).exists())

    found = (path.parent for path in root.glob("*/run.json"))
    yield from (RunFolder(path) for path in sorted(found, key=touched, reverse=True))


def _worth(run: RunFolder) -> tuple[bool, bool]:
    """What speaks for a run as the latest: somebody asked for it, and it has what it was asked for."""
    try:
        record = run.record
    except StorageError:  # not passed over: whoever reads it is told
        return True, True
    finished, challenges = record["finished"], record["fields"].get("challenges")
    trained = not challenges and "model.safetensors" in finished
    return not record.get("companion"), trained or any(name.startswith("findings/") for name in finished)


def find_run(text: str, root: Path) -> RunFolder:
    """A run by its path, its id or the beginning of its id; ``latest`` is the newest that somebody asked for.

    One that was killed before it had any findings (or its model, if no more was asked of it) comes after all others.
    """
    if (Path(text) / "run.json").is_file():
        return RunFolder(Path(text))
    runs = list(runs_in(root))
    if text == "latest" and runs:
        return next((run for run in runs if all(_worth(run))), None) or max(runs, key=_worth)
    matching = [run for run in runs if text and run.path.name.startswith(text)]
    if len(matching) == 1:
        return matching[0]
    if len(matching) > 1:
        raise UnknownName("single run", text, [run.path.name for run in matching])
    raise UnknownName(f"run in {root}", text, [run.path.name for run in runs] or ["(none)"])
