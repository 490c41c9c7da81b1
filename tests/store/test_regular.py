from __future__ import annotations

import os
from pathlib import Path

import pytest

from attentest.errors import StorageError
from attentest.people.study import PeopleStudy
from attentest.sources.unfinished import unfinished
from attentest.store.atomic import checksum, replacing
from attentest.store.folder import RunFolder
from attentest.store.parts import Parts
from attentest.store.regular import content, opened
from attentest.store.verifying import verify_run
from attentest.studies.cell import FAILED, failure_of


def run_in(root: Path) -> RunFolder:
    folder = RunFolder.create(root / "run", {"seed": 0}, {})
    for name in ("vocabulary.json", "corpus.json"):
        (folder.path / name).write_text("{}")
        folder.finish(name)
    return folder


@pytest.mark.parametrize("name", ["run.json", "vocabulary.json"])
@pytest.mark.parametrize("endless", ["pipe", "/dev/zero"])
def test_a_pipe_or_device_in_the_place_of_a_runs_file_is_not_waited_for(
    tmp_path: Path, name: str, endless: str
) -> None:
    folder = run_in(tmp_path)
    path = folder.path / name
    path.unlink()
    if endless == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(endless)
    with pytest.raises(OSError, match="pipe or a device"):
        checksum(path)
    if name == "run.json":
        with pytest.raises(StorageError, match=r"run\.json cannot be read \(it is no file"):
            _ = folder.record
    else:
        with pytest.raises(StorageError, match="missing or was altered"):
            folder.verify(name)
    states = {file.name: file.state for file in verify_run(RunFolder(folder.path)).files}
    assert states[name] == "altered"


def test_a_file_and_a_link_to_one_are_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"words")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for name in "ab":
        with opened(tmp_path / name) as file:
            assert file.read() == b"words"
        assert content(tmp_path / name) == b"words"
    with pytest.raises(IsADirectoryError):
        opened(tmp_path)


@pytest.mark.parametrize("name", [".", "folder"])
def test_a_folder_is_no_file_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=r"it is a folder\. Name a file"), replacing(Path(name)):
        pass


def test_what_goes_on_from_a_pipe_begins_anew(tmp_path: Path) -> None:
    """Parts of an examination, records of an audit of sources, why a cell failed."""
    heard: list[str] = []
    for name in ("0-0123.arrow", "records", FAILED):
        os.mkfifo(tmp_path / name)
    assert Parts(tmp_path, "layout", heard.append).texts == 0
    assert not (tmp_path / "0-0123.arrow").exists()
    assert unfinished(tmp_path / "records", heard.append) == {}
    assert not (tmp_path / "records").exists()
    assert ["was altered" in line for line in heard] == [True, True]
    assert "the record of it cannot be read" in str(failure_of(tmp_path))
    for damaged in ("[]", "null", "[" * 9000):
        (tmp_path / FAILED).unlink()
        (tmp_path / FAILED).write_text(damaged)
        assert "the record of it cannot be read" in str(failure_of(tmp_path))


def test_a_pipe_in_the_place_of_what_annotators_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "consent.md").write_bytes(b"one\r\ntwo")
    (tmp_path / "instructions.md").write_text("three")
    study = object.__new__(PeopleStudy)
    study.path = tmp_path
    assert study.documents().consent == "one\ntwo"
    (tmp_path / "instructions.md").unlink()
    os.mkfifo(tmp_path / "instructions.md")
    with pytest.raises(StorageError, match=r"instructions\.md cannot be read"):
        study.documents()
