"""What a killed process leaves half-written is taken away; what a living one writes is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attentest.data.files.unfinished import part_of, sweep
from attentest.errors import StorageError
from attentest.store.atomic import replacing, write_text
from attentest.store.folder import RunFolder

HERE = part_of(Path("file")).name.split(".")[-4]


def gone() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_what_a_process_that_is_gone_left_is_swept_at_any_depth(tmp_path):
    deep = tmp_path / "findings" / "unfinished"
    deep.mkdir(parents=True)
    dead = deep / f".agreement.parquet.{HERE}.{gone()}.0a1b2c.part"
    alive = tmp_path / f".run.json.{HERE}.{os.getppid()}.0a1b2c.part"
    unknown = tmp_path / ".notes.part"
    for path in (dead, alive, unknown):
        path.touch()
    sweep(tmp_path)
    assert not dead.exists()
    assert alive.exists()
    assert unknown.exists()


def test_taking_a_runs_lock_sweeps_it(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {"a": 1}, {})
    left = folder.path / f".weights.{HERE}.{gone()}.0a1b2c.part"
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


def test_what_a_process_of_the_same_number_left_is_swept_too(tmp_path):
    """In a container the next process has the number of the one that was killed."""
    left, young, old = (
        tmp_path / f".run.json.{HERE}.{number}.0a1b2c.part" for number in (os.getpid(), os.getppid(), 1)
    )
    for path in (left, young, old):
        path.touch()
    os.utime(old, (0, 0))
    with replacing(tmp_path / "file") as writing:
        sweep(tmp_path)
        assert writing.exists()
    assert not left.exists()
    assert young.exists()
    assert not old.exists()


def test_nobody_writes_through_a_link_that_was_put_there(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")

    def guessed(count: int) -> str:
        """Somebody knew the name, and was quicker."""
        (tmp_path / f".file.{HERE}.{os.getpid()}.{'0' * count}.part").symlink_to(victim)
        return "0" * count

    monkeypatch.setattr("secrets.token_hex", guessed)
    with pytest.raises(StorageError, match="File exists"), replacing(tmp_path / "file") as temporary:
        temporary.write_text("theirs")
    assert victim.read_text() == "mine"


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "file").symlink_to(victim)
    with replacing(tmp_path / "file") as temporary:
        temporary.write_text("new")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "file").is_symlink()


def test_a_link_in_the_place_of_the_lock_is_refused(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {"a": 1}, {})
    (folder.path / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="Cannot write in"), folder.locked():
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_writing_a_file_takes_away_what_was_left_of_an_earlier_try(tmp_path):
    target = tmp_path / "study[1].json"
    dead, other = (tmp_path / f".{name}.{HERE}.{gone()}.0a1b2c.part" for name in (target.name, "another"))
    dead.touch()
    other.touch()
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert not dead.exists()
    assert other.exists()


def test_what_another_machine_writes_stays_for_a_day(tmp_path):
    young, old = (tmp_path / f".run.json.{'0' * 8}.{number}.0a1b2c.part" for number in (gone(), gone()))
    young.touch()
    old.mkdir()
    (old / "rows").touch()
    os.utime(old, (0, 0))
    sweep(tmp_path)
    assert young.exists()
    assert not old.exists()


def test_parts_of_findings_that_were_finished_go_and_those_of_others_stay(tmp_path):
    """A process killed after it finished the findings, and before it took their parts away."""
    folder = RunFolder.create(tmp_path / "run", {"seed": 0}, {})
    for name in ("uniform", "permutation"):
        part = folder.path / "findings" / "unfinished" / name / "0-abc.arrow"
        part.parent.mkdir(parents=True)
        part.write_bytes(b"rows")
    (folder.path / "findings" / "uniform.parquet").write_bytes(b"findings")
    folder.finish("findings/uniform.parquet")
    with folder.locked():
        assert [path.name for path in (folder.path / "findings" / "unfinished").iterdir()] == ["permutation"]
    (folder.path / "findings" / "permutation.parquet").write_bytes(b"findings")
    folder.finish("findings/permutation.parquet")
    with folder.locked():
        assert not (folder.path / "findings" / "unfinished").exists()


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_or_a_device_stays_what_it_is(tmp_path: Path, linked: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    target = tmp_path / "link" if linked else pipe
    if linked:
        target.symlink_to(pipe)
    with pytest.raises(StorageError, match="it is a device or a pipe"):
        write_text(target, "text")
    assert pipe.is_fifo()
    assert target.is_symlink() == linked
    assert len(list(tmp_path.iterdir())) == 1 + linked
