"""What a killed process leaves half-written is taken away; what a living one writes is not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from attentest.errors import StorageError
from attentest.store.atomic import replacing, sweep
from attentest.store.folder import RunFolder


def gone() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_what_a_process_that_is_gone_left_is_swept_at_any_depth(tmp_path):
    deep = tmp_path / "findings" / "unfinished"
    deep.mkdir(parents=True)
    dead = deep / f".agreement.parquet.{gone()}.0a1b2c.part"
    alive = tmp_path / f".run.json.{os.getpid()}.0a1b2c.part"
    unknown = tmp_path / ".notes.part"
    for path in (dead, alive, unknown):
        path.touch()
    sweep(tmp_path)
    assert not dead.exists()
    assert alive.exists()
    assert unknown.exists()


def test_taking_a_runs_lock_sweeps_it(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {"a": 1}, {})
    left = folder.path / f".weights.{gone()}.0a1b2c.part"
    left.touch()
    with folder.locked():
        assert not left.exists()


def test_two_writers_of_one_file_in_one_process_do_not_meet(tmp_path):
    target = tmp_path / "file"
    with replacing(target) as first, replacing(target) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert target.read_text() == "first"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StorageError, match="There is no folder"), replacing(tmp_path / "none" / "file"):
        pass
