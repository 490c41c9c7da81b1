from __future__ import annotations

import os
from pathlib import Path

import pytest

from attentest.errors import StorageError
from attentest.store.atomic import checksum, replacing
from attentest.store.folder import RunFolder
from attentest.store.regular import opened
from attentest.store.verifying import verify_run


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
    with pytest.raises(IsADirectoryError):
        opened(tmp_path)


@pytest.mark.parametrize("name", [".", "folder"])
def test_a_folder_is_no_file_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=r"it is a folder\. Name a file"), replacing(Path(name)):
        pass
