"""What of a run's folder is as it was recorded, file by file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from attentest.errors import StorageError
from attentest.store.atomic import checksum
from attentest.store.folder import RunFolder

__all__ = ["File", "Verified", "verify_run"]

State = Literal["whole", "altered", "missing", "unfinished", "unlisted"]
#: What a run that was cut short goes on from; each checks itself when it is taken up.
UNFINISHED = ("training.safetensors", "findings/unfinished/")
#: What belongs to a folder and holds nothing of the run's own.
BESIDE = (".lock", "export/", "explanations/")


@dataclass(frozen=True)
class File:
    """One file of a run's folder."""

    name: str
    state: State
    #: The sha256 that was recorded, and the one that was found; "" where there is none.
    recorded: str = ""
    found: str = ""


@dataclass(frozen=True)
class Verified:
    """A run's folder."""

    path: Path
    files: tuple[File, ...]
    #: The seal of run.json, to be compared with one that was noted elsewhere; "" where it cannot be read.
    seal: str = ""

    @property
    def whole(self) -> bool:
        """Whether everything recorded is there as it was."""
        return not any(file.state in ("altered", "missing") for file in self.files)

    def to_record(self) -> dict[str, Any]:
        """For programs."""
        files = [asdict(file) for file in self.files]
        return {"run": self.path.name, "path": str(self.path), "whole": self.whole, "seal": self.seal, "files": files}


def verify_run(folder: RunFolder) -> Verified:
    """Compare every file of the folder with what was recorded of it."""
    record = folder.path / "run.json"
    try:
        finished, seal = folder.record["finished"], folder.seal
    except StorageError:
        if not record.exists():
            raise
        return Verified(folder.path, (_compared(folder.path, "run.json", ""),))
    listed = [_compared(folder.path, name, str(about["sha256"])) for name, about in sorted(finished.items())]
    beside = sorted(_beside(folder.path, {"run.json", *finished}), key=lambda file: file.name)
    return Verified(folder.path, (File("run.json", "whole", found=checksum(record)), *listed, *beside), seal)


def _compared(folder: Path, name: str, recorded: str) -> File:
    path = folder / name
    try:
        found = checksum(path)
    except FileNotFoundError:
        return File(name, "missing", recorded)
    except OSError:  # it cannot be read, so nobody can say that it is whole
        return File(name, "altered", recorded)
    return File(name, "whole" if found == recorded else "altered", recorded, found)


def _beside(folder: Path, listed: set[str]) -> Iterator[File]:
    """What lies there and is not listed."""
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        if name not in listed and not name.startswith(BESIDE):
            yield File(name, "unfinished" if name.startswith(UNFINISHED) else "unlisted")
