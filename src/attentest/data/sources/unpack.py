"""Archives to folders, safely: nothing outside the folder, no links or devices, no more than was to be expected."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, cast

from attentest.errors import InputError

__all__ = ["unpack"]

#: An archive may unpack to this many times its size, and to a small one's allowance; text packs to a tenth or so.
RATIO, ALLOWANCE = 100, 256 << 20
MEMBERS = 2_000_000
CHUNK = 1 << 20
#: Chunks that may follow the end of a tar.
PADDING = 16
DAMAGED = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, gzip.BadGzipFile, struct.error),
    *(EOFError, RuntimeError, ValueError, OverflowError, LookupError),
)


def unpack(archive: Path, folder: Path, members: Sequence[str] = ()) -> None:
    """Unpack a zip, tar, tar.gz or gz file (or copy any other) into a folder; ``members`` are patterns of names."""
    left = allowed(archive)
    count = 0
    try:
        for name, stream in _members(archive, members):
            count += 1
            if count > MEMBERS:
                raise InputError(
                    f"{archive.name} holds more than {MEMBERS:,} files: it is not what was to be expected."
                )
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                while chunk := stream.read(CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise _bomb(archive)
                    file.write(chunk)
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # of the machine
            raise
        raise InputError(
            f"{archive.name} is not a whole archive ({str(error) or type(error).__name__}): fetch it again, or unpack "
            "it by hand and use --from DIR."
        ) from error
    if not count:
        wanted = f" that match {', '.join(members)}" if members else ""
        raise InputError(f"{archive.name} holds no files{wanted}: it is not the archive that was to be expected.")


def allowed(archive: Path) -> int:
    """How many bytes an archive may unpack to."""
    return RATIO * archive.stat().st_size + ALLOWANCE


def _bomb(archive: Path) -> InputError:
    return InputError(
        f"{archive.name} unpacks to more than {RATIO} times its size: it is damaged or made to fill the disk. Fetch it "
        "again, or unpack it by hand and use --from DIR."
    )


def _members(archive: Path, members: Sequence[str]) -> Iterator[tuple[Path, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        yield from _from_zip(archive, members)
    elif _is_tar(archive):
        yield from _from_tar(archive, members)
    elif _is_gzip(archive):
        with gzip.GzipFile(archive) as stream:
            yield Path(archive.name.removesuffix(".gz")), stream
    else:
        with archive.open("rb") as stream:
            yield Path(archive.name), stream


def _is_tar(archive: Path) -> bool:
    """Whether a first member can be read; a packed file of zeros would pass for an empty tar."""
    try:
        with tarfile.open(archive) as file:
            return file.next() is not None
    except DAMAGED:
        return False


def _is_gzip(archive: Path) -> bool:
    with archive.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _from_zip(archive: Path, members: Sequence[str]) -> Iterator[tuple[Path, IO[bytes]]]:
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            if member.is_dir() or not _wanted(member.filename, members):
                continue
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                raise _refused(archive, member.filename, "is a link or a device")
            name = _inside(archive, member.filename)
            with file.open(member) as stream:
                yield name, stream


def _from_tar(archive: Path, members: Sequence[str]) -> Iterator[tuple[Path, IO[bytes]]]:
    # As a stream, front to back: a packed tar cannot be read otherwise without reading it again and again.
    with _unpacked(archive) as raw, tarfile.open(fileobj=raw, mode="r|") as file:
        passed_over = 0
        for member in file:
            if member.isdir() or not _wanted(member.name, members):
                passed_over += max(0, member.size)
                if passed_over > allowed(archive):
                    raise _bomb(archive)
                continue
            if not member.isfile():
                raise _refused(archive, member.name, "is a link or a device")
            name = _inside(archive, member.name)
            stream = file.extractfile(member)
            assert stream is not None
            with stream:
                yield name, stream
        # To the very end, where the packed file's own sum stands: tarfile takes one that was cut short for whole.
        for _ in range(PADDING):
            if not raw.read(CHUNK):
                break


def _unpacked(archive: Path) -> IO[bytes]:
    with archive.open("rb") as file:
        beginning = file.read(6)
    for mark, opened in ((b"\x1f\x8b", gzip.GzipFile), (b"BZh", bz2.BZ2File), (b"\xfd7zXZ\0", lzma.LZMAFile)):
        if beginning.startswith(mark):
            return cast("IO[bytes]", opened(archive))
    return archive.open("rb")


def _wanted(name: str, members: Sequence[str]) -> bool:
    parts = PurePosixPath(name).parts
    if "__MACOSX" in parts or PurePosixPath(name).name == ".DS_Store":
        return False
    return not members or any(fnmatchcase(name.removeprefix("./"), pattern) for pattern in members)


def _inside(archive: Path, name: str) -> Path:
    """The member's name as a relative path that stays in the folder."""
    path = PurePosixPath(name)
    if not path.parts:
        raise _refused(archive, name, "has no name")
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or ":" in path.parts[0]:
        raise _refused(archive, name, "points outside its folder")
    return Path(*path.parts)


def _refused(archive: Path, name: str, why: str) -> InputError:
    return InputError(
        f"{archive.name}: member {name[:120]!r} {why}, and such archives are not unpacked. "
        "Fetch the archive from its official place, or unpack it by hand and use --from DIR."
    )
