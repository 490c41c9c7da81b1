"""The official archive at its official address."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from attentest.data.files.unfinished import part_of
from attentest.data.sources.download import download
from attentest.data.sources.source import Source
from attentest.data.sources.unpack import unpack
from attentest.errors import InputError, StorageError
from attentest.progress import SILENT, Progress

__all__ = ["Archive"]

SUMS = "SHA256"


@dataclass(frozen=True)
class Archive(Source):
    """A zip, tar, tar.gz or gz file, or a plain one, over HTTP.

    A sum that is not declared is recorded when the file is first fetched, and enforced from then on.
    """

    url: str
    sha256: str = ""
    #: In bytes, where it is known: for the progress bar.
    size: int = 0
    #: Patterns of the members that are needed, such as "aclImdb/*/pos/*.txt"; none: all.
    members: tuple[str, ...] = ()

    @property
    def filename(self) -> str:
        """The last part of the address, as a safe file name."""
        last = Path(unquote(urlsplit(self.url).path)).name
        return "".join(c if c.isalnum() or c in "._-" else "_" for c in last).lstrip(".") or "archive"

    def describe(self) -> str:
        """The address."""
        return self.url

    def fetch(self, target: Path, progress: Progress = SILENT) -> Path:
        """Download what is not here yet, check its sum, unpack it; the folder of the unpacked files."""
        self._refuse_unsafe()
        archive = target / self.filename
        expected = self.sha256 or _recorded(target, self.filename)
        if not archive.is_file() or (expected and _sum(archive) != expected):
            fresh = target / f"new-{self.filename}"
            download(self.url, fresh, size=self.size, progress=progress)
            self._refuse_another(fresh, expected)
            fresh.replace(archive)
        found = _sum(archive)
        if not expected:
            _record(target, self.filename, found)
            progress.say(
                f"No checksum is declared for {self.filename}: its sha256 {found} is recorded and checked from now on."
            )
        unpacked = hashlib.sha256(repr((found, self.members)).encode()).hexdigest()
        folder = target / f"files-{unpacked[:12]}"
        if not folder.is_dir():
            self._unpack(archive, folder, progress)
        return folder

    def _refuse_unsafe(self) -> None:
        """Over plain HTTP anybody on the way may put another file in its place, unless its sum is declared."""
        parts = urlsplit(self.url)
        if parts.scheme == "http" and not self.sha256 and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise InputError(
                f"{self.url} is plain HTTP, and no sha256 is declared for it: declare one, give an https address, or "
                "fetch it by hand and use --from DIR."
            )

    def _refuse_another(self, fresh: Path, expected: str) -> None:
        found = _sum(fresh)
        if not expected or found == expected:
            return
        aside = fresh.with_name(f"{self.filename}.differs")
        fresh.replace(aside)
        who = "declared" if self.sha256 else f"recorded at the first download ({fresh.parent / SUMS})"
        raise InputError(
            f"{self.url} has the sha256 {found}, and {expected} is {who}: it was altered or replaced. It is kept as "
            f"{aside} and not used. Compare with the official page; to accept it, unpack it and use --from DIR."
        )

    def _unpack(self, archive: Path, folder: Path, progress: Progress) -> None:
        progress.say(f"Unpacking {archive.name} …")
        temporary = part_of(folder)
        try:
            temporary.mkdir(parents=True, exist_ok=True)
            unpack(archive, temporary, self.members)
            temporary.rename(folder)
        except OSError as error:
            raise StorageError(
                f"Cannot unpack {archive} to {folder.parent}: {error.strerror or error}. Free space there, "
                "or set ATTENTEST_CACHE to another folder."
            ) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _recorded(target: Path, filename: str) -> str:
    """The sum in ``target/SHA256``, a file as sha256sum writes it; empty when there is none."""
    try:
        lines = (target / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ""
    return next((line.split()[0] for line in lines if line.split()[1:] == [filename]), "")


def _record(target: Path, filename: str, found: str) -> None:
    with (target / SUMS).open("a", encoding="utf-8") as file:
        file.write(f"{found}  {filename}\n")
