from __future__ import annotations

import errno
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.data.made_up_corpus import tree

from attentest.data.corpora import CORPORA
from attentest.data.sources import archive as module
from attentest.data.sources import unpack as unpacking
from attentest.data.sources.archive import Archive
from attentest.data.sources.folder import Folder
from attentest.data.sources.unpack import unpack
from attentest.errors import InputError, StorageError

URL = "https://example.org/files/toy%20data.zip?x=1"


def zipped(members: dict[str, bytes], mode: int = 0) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return packed.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz", kind: bytes = tarfile.REGTYPE) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as file:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            info.type, info.linkname = kind, "/etc/passwd"
            file.addfile(info, io.BytesIO(content))
    return packed.getvalue()


GOOD = {"a/one.txt": b"one", "a/b/two.txt": b"two"}


@pytest.mark.parametrize(
    ("name", "content", "files"),
    [
        ("x.zip", zipped(GOOD), GOOD),
        ("x.tar.gz", tarred(GOOD), GOOD),
        ("x.tar", tarred(GOOD, "w"), GOOD),
        ("x.txt.gz", gzip.compress(b"text"), {"x.txt": b"text"}),
        ("x.csv", b"a,b", {"x.csv": b"a,b"}),
    ],
    # Packed bytes carry the time: as names they would differ between the workers of one run.
    ids=["zip", "tar.gz", "tar", "gz", "plain"],
)
def test_every_kind_of_file_is_unpacked(tmp_path: Path, name: str, content: bytes, files: dict[str, bytes]) -> None:
    (tmp_path / name).write_bytes(content)
    unpack(tmp_path / name, tmp_path / "out")
    assert tree(tmp_path / "out") == files


def test_only_the_members_asked_for_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zipped({**GOOD, "__MACOSX/a/one.txt": b"?"}))
    unpack(tmp_path / "x.zip", tmp_path / "out", ("a/*.txt",))
    assert set(tree(tmp_path / "out")) == {"a/one.txt", "a/b/two.txt"}
    with pytest.raises(InputError, match=r"x.zip holds no files that match c/\*"):
        unpack(tmp_path / "x.zip", tmp_path / "none", ("c/*",))


OUTSIDE = ["../evil.txt", "a/../../evil.txt", "/evil.txt", "C:/evil.txt", "a\\..\\evil.txt"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("make", [zipped, tarred])
def test_a_member_that_points_outside_is_refused(tmp_path: Path, name: str, make: Any) -> None:
    (tmp_path / "x").write_bytes(make({name: b"evil"}))
    (tmp_path / "inner").mkdir()
    with pytest.raises(InputError, match=r"x: member .* points outside its folder"):
        unpack(tmp_path / "x", tmp_path / "inner" / "out")
    assert not [path for path in tmp_path.rglob("*") if "evil" in path.name]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(tarred({"passwords": b""}, "w", kind))
    with pytest.raises(InputError, match="member 'passwords' is a link or a device"):
        unpack(tmp_path / "x.tar", tmp_path / "out")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zipped({"passwords": b"/etc/passwd"}, 0o120777))
    with pytest.raises(InputError, match="is a link or a device"):
        unpack(tmp_path / "x.zip", tmp_path / "out")


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz", "x.gz"])
def test_a_bomb_is_defused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(unpacking, "ALLOWANCE", 1000)
    zeros = bytes(30_000_000)
    packed = {"x.zip": zipped({"a": zeros}), "x.tar.gz": tarred({"a": zeros}), "x.gz": gzip.compress(zeros)}[name]
    (tmp_path / name).write_bytes(packed)
    with pytest.raises(InputError, match=rf"{name} unpacks to more than 100 times its size"):
        unpack(tmp_path / name, tmp_path / "out")


@pytest.mark.parametrize("content", [tarred(GOOD)[:-40], gzip.compress(bytes(1000))[:-9]], ids=["tar", "gz"])
def test_a_damaged_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"x.gz is not a whole archive"):
        unpack(tmp_path / "x.gz", tmp_path / "out")


# ── sums ──


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the address gives, and how often it was asked."""
    state: dict[str, Any] = {"content": zipped(GOOD), "asked": 0}

    def download(url: str, target: Path, **_: Any) -> None:
        state["asked"] += 1
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(state["content"])

    monkeypatch.setattr(module, "download", download)
    return state


def test_an_archive_is_fetched_once_and_its_sum_recorded_and_said(tmp_path: Path, served: dict[str, Any]) -> None:
    said: list[str] = []

    class Heard(module.SILENT.__class__):  # type: ignore[misc,name-defined]
        def say(self, line: str) -> None:
            said.append(line)

    folder = Archive(URL).fetch(tmp_path, Heard())
    assert tree(folder) == GOOD
    found = hashlib.sha256(served["content"]).hexdigest()
    assert (tmp_path / "SHA256").read_text() == f"{found}  toy_data.zip\n"
    assert found in said[0]
    assert Archive(URL).fetch(tmp_path) == folder
    assert served["asked"] == 1


def test_another_file_than_the_one_first_fetched_is_refused_and_the_old_copy_kept(
    tmp_path: Path, served: dict[str, Any]
) -> None:
    folder = Archive(URL).fetch(tmp_path)
    archive = tmp_path / "toy_data.zip"
    archive.write_bytes(b"damaged on disk")
    served["content"] = zipped({"a/one.txt": b"altered"})
    with pytest.raises(InputError, match=r"has the sha256 \w+, and \w+ is recorded at the first download .*not used"):
        Archive(URL).fetch(tmp_path)
    assert (tmp_path / "toy_data.zip.differs").read_bytes() == served["content"]
    assert tree(folder) == GOOD


def test_a_declared_sum_is_enforced(tmp_path: Path, served: dict[str, Any]) -> None:
    right = hashlib.sha256(served["content"]).hexdigest()
    with pytest.raises(InputError, match=r"and 0000 is declared: it was altered or replaced.*--from DIR"):
        Archive(URL, sha256="0000").fetch(tmp_path)
    assert not list(tmp_path.glob("files-*"))
    assert tree(Archive(URL, sha256=right).fetch(tmp_path)) == GOOD
    assert not (tmp_path / "SHA256").exists()


def test_a_full_disk_while_unpacking_leaves_nothing_half(
    tmp_path: Path, served: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(archive: Path, folder: Path, members: Any) -> None:
        (folder / "half").write_text("half", encoding="utf-8")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "unpack", full)
    with pytest.raises(StorageError, match=r"Cannot unpack .*No space left on device"):
        Archive(URL).fetch(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"toy_data.zip", "SHA256"}


def test_a_folder_is_taken_as_it_is_when_it_holds_something(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("a", encoding="utf-8")
    assert Folder(tmp_path / "full").fetch(tmp_path) == tmp_path / "full"
    (tmp_path / "empty").mkdir()
    for path, said in (("none", "does not exist"), ("full/a", "is a file: unpack it"), ("empty", "is empty")):
        with pytest.raises(InputError, match=said):
            Folder(tmp_path / path).fetch(tmp_path)


@pytest.mark.parametrize("name", [".", "./.", ""])
@pytest.mark.parametrize("make", [zipped, tarred], ids=["zip", "tar"])
def test_a_member_without_a_name_is_refused(tmp_path: Path, name: str, make: Any) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(make({"a.txt": b"a", name: b"x"}))
    with pytest.raises(InputError, match=r"has no name|not a whole archive"):
        unpack(path, tmp_path / "out")


def test_a_zip_whose_members_lie_nowhere_is_refused(tmp_path: Path) -> None:
    content = zipped({"a.txt": b"a" * 100, "b.txt": b"b"})
    end = content.rindex(b"PK\x05\x06")
    path = tmp_path / "x.zip"
    path.write_bytes(content[: end + 16] + (1 << 30).to_bytes(4, "little") + content[end + 20 :])
    with pytest.raises(InputError, match=r"not a whole archive|holds no files"):
        unpack(path, tmp_path / "out")
    path.write_bytes(content.replace(b"PK\x01\x02", b"PK\x01\x02", 1)[: end + 12] + b"\xff\xff" + content[end + 14 :])
    with pytest.raises(InputError, match="not a whole archive"):
        unpack(path, tmp_path / "out")


def test_what_is_passed_over_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "ALLOWANCE", 1000)
    path = tmp_path / "x.tar.gz"
    path.write_bytes(tarred({"zeros": bytes(10_000_000), "a.txt": b"a"}))
    with pytest.raises(InputError, match="made to fill the disk"):
        unpack(path, tmp_path / "out", ("*.txt",))


def test_plain_http_needs_a_declared_sum(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is plain HTTP, and no sha256 is declared"):
        Archive("http://example.org/x.zip").fetch(tmp_path)


def test_every_declared_archive_comes_over_https() -> None:
    declared = [source for name in CORPORA for source in getattr(CORPORA[name], "sources", ())]
    archives = [source for source in declared if isinstance(source, Archive)]
    assert len(archives) > 20
    assert all(archive.url.startswith("https://") for archive in archives)
    assert all(len(archive.sha256) in (0, 64) for archive in archives)
