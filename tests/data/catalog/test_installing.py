from __future__ import annotations

import errno
import gzip
import hashlib
import http.server
import json
import os
import threading
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.data.made_up_corpus import Toy, official, rows_file, toy_rows, tree

from attentest.data.catalog import installing
from attentest.data.catalog.installing import get
from attentest.data.catalog.raw import RowsOnDisk
from attentest.data.corpora import CORPORA
from attentest.data.sources.archive import Archive
from attentest.errors import InputError, StorageError


def left_behind(places: Path) -> list[str]:
    return [path.name for path in (places / "data").iterdir() if path.name != "toy"]


def test_an_official_folder_becomes_rows_with_a_manifest(places: Path) -> None:
    done = get(Toy(), from_folder=official(places / "official"))
    assert done.rows == {"test": 6, "train": 6}
    assert list(RowsOnDisk(Toy())("train")) == toy_rows("train")
    manifest = json.loads((done.folder / "MANIFEST.json").read_text(encoding="utf-8"))
    assert manifest["source"] == f"folder {places / 'official'}"
    about = manifest["splits"]["train"]
    assert (about["rows"], about["labels"]) == (6, {"0": 3, "1": 3})
    assert about["sha256"] == hashlib.sha256((done.folder / "train.jsonl.gz").read_bytes()).hexdigest()
    assert left_behind(places) == []


def test_the_same_files_give_the_same_bytes(places: Path) -> None:
    folder = official(places / "official")
    first = tree(get(Toy(), from_folder=folder).folder)
    assert tree(get(Toy(), from_folder=folder).folder) == first


def test_a_folder_of_rows_in_our_own_form_is_taken_too(places: Path) -> None:
    for split in ("train", "test"):
        rows_file(places / "mine" / f"{split}.jsonl.gz", toy_rows(split, 3))
    assert get(Toy(), from_folder=places / "mine").rows == {"train": 3, "test": 3}


def test_a_new_copy_replaces_the_old_one(places: Path) -> None:
    get(Toy(), from_folder=official(places / "first"))
    assert get(Toy(), from_folder=official(places / "second", 4)).rows["train"] == 4
    assert left_behind(places) == []


class Wrong:
    """Ways in which official files are wrong, by what is said."""

    @staticmethod
    def no_split(folder: Path) -> str:
        (folder / "test.txt").unlink()
        return r"the official files give train and no 'test': files are missing"

    @staticmethod
    def empty_split(folder: Path) -> str:
        (folder / "test.txt").write_text("", encoding="utf-8")
        return r"hold no rows for 'test'"

    @staticmethod
    def other_format(folder: Path) -> str:
        (folder / "train.txt").unlink()
        return r"holds no train.txt"

    @staticmethod
    def unknown_label(folder: Path) -> str:
        (folder / "train.txt").write_text("0\tfine\n5\tdull", encoding="utf-8")
        return r"Corpus 'toy', train, row 2 has the label '5', which corpus 'toy' does not know"

    @staticmethod
    def no_text(folder: Path) -> str:
        (folder / "train.txt").write_text("0\tfine\n1\t ", encoding="utf-8")
        return r"Corpus 'toy', train, row 2 has no text"


@pytest.mark.parametrize("wrong", ["no_split", "empty_split", "other_format", "unknown_label", "no_text"])
@pytest.mark.parametrize("had", [True, False])
def test_wrong_files_are_one_line_and_the_old_copy_stays(places: Path, wrong: str, had: bool) -> None:
    if had:
        get(Toy(), from_folder=official(places / "good"))
    (places / "data").mkdir(exist_ok=True)
    before = tree(places / "data")
    folder = official(places / "bad")
    said = getattr(Wrong, wrong)(folder)
    with pytest.raises(InputError, match=said) as raised:
        get(Toy(), from_folder=folder)
    assert "\n" not in str(raised.value)
    assert tree(places / "data") == before
    assert left_behind(places) == []


def test_duplicate_ids_are_refused(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*toy_rows("train"), toy_rows("train")[0]]
    monkeypatch.setattr(Toy, "read_official", lambda self, folder: {"train": rows, "test": rows})
    with pytest.raises(InputError, match=r"row 7 has the id 'train-0' of row 1"):
        get(Toy(), from_folder=official(places / "official"))
    assert left_behind(places) == []


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_and_ctrl_c_leave_the_old_copy(
    places: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    get(Toy(), from_folder=official(places / "good"))
    before = tree(places / "data")
    written = gzip.GzipFile.write
    calls = iter(range(100))

    def stops(self: Any, data: Any) -> int:
        if next(calls) == 8:
            raise error
        return written(self, data)

    monkeypatch.setattr(gzip.GzipFile, "write", stops)
    expected = StorageError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        get(Toy(), from_folder=official(places / "new", 5))
    if expected is StorageError:
        assert "No space left on device" in str(raised.value)
        assert "what was there is kept" in str(raised.value)
    assert tree(places / "data") == before
    assert left_behind(places) == []


def test_a_failure_at_the_last_step_puts_the_old_copy_back(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get(Toy(), from_folder=official(places / "good"))
    before = tree(places / "data")
    renamed = Path.rename

    def refuses(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(errno.EIO, "Input/output error")
        return renamed(self, target)

    monkeypatch.setattr(Path, "rename", refuses)
    with pytest.raises(StorageError, match="Input/output error"):
        get(Toy(), from_folder=official(places / "new", 5))
    assert tree(places / "data") == before


def test_an_old_copy_lost_between_two_renames_is_found_again(places: Path) -> None:
    get(Toy(), from_folder=official(places / "good"))
    before = tree(places / "data" / "toy")
    (places / "data" / "toy").rename(places / "data" / ".toy.old")
    with pytest.raises(InputError):
        get(Toy(), from_folder=places / "nowhere")
    assert tree(places / "data" / "toy") == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_data_folder_that_cannot_be_written_is_named_before_anything_is_fetched(places: Path) -> None:
    (places / "data").mkdir(mode=0o500)
    with pytest.raises(StorageError, match="ATTENTEST_DATA"):
        get(Toy(), from_folder=places / "nowhere")


def test_an_official_file_that_cannot_be_read_is_not_a_full_disk(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(self: Toy, path: Path) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
        yield

    monkeypatch.setattr(Toy, "read_rows", unreadable)
    with pytest.raises(InputError, match=r"test.txt cannot be read \(Permission denied\)"):
        get(Toy(), from_folder=official(places / "official"))


# ── where it comes from ──


def test_an_official_file_of_deep_json_is_refused(places: Path) -> None:
    deep = places / "official" / "snli_1.0"
    deep.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (deep / f"snli_1.0_{split}.jsonl").write_text("[" * 100_000 + "\n")
    with pytest.raises(InputError, match="nested too deeply"):
        get(CORPORA.parse("snli"), from_folder=places / "official")


def test_a_corpus_nobody_may_fetch_says_where_to_get_it(places: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be fetched for you \(CC0\). Get .* from https://example.org/toy and"):
        get(Toy())


def test_a_source_that_is_unknown_or_not_there_is_named(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toy, "sources", (Archive("http://127.0.0.1/x.zip"),))
    with pytest.raises(InputError, match=r"--source 'ftp' is unknown: write archive or hub"):
        get(Toy(), source="ftp")
    with pytest.raises(InputError, match=r"has no source 'hub' \(it has: archive\)"):
        get(Toy(), source="hub")


def test_from_an_archive_on_a_server_to_rows(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    served = places / "served"
    official(served / "files")
    with zipfile.ZipFile(served / "toy.zip", "w") as packed:
        for path in (served / "files").iterdir():
            packed.write(path, path.name)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}/toy.zip"
        monkeypatch.setattr(Toy, "sources", (Archive(address),))
        done = get(Toy(), source="archive")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert done.rows == {"test": 6, "train": 6}
    kept = sorted(path.name for path in (places / "cache" / "downloads" / "toy").iterdir())
    assert kept == ["SHA256", "toy.zip"]
    assert get(Toy()).rows == done.rows, "the archive is here: no server is needed"
    assert installing.KINDS["archive"] is Archive
