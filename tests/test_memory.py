"""Memory that a process no longer holds goes back to the system."""

from __future__ import annotations

import pytest

from attentest import memory


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the C library was asked for, from a process that holds nothing yet."""
    asked: list[int] = []
    monkeypatch.setattr(memory, "TRIM", lambda kept: asked.append(kept) or 1)
    monkeypatch.setattr(memory.Least, "bytes", 0)
    return asked


def test_only_what_has_grown_is_given_back(trims: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter([100, memory.GROWN + 1, 40, 30 + memory.GROWN, 41 + memory.GROWN, 50])
    monkeypatch.setattr(memory, "resident", lambda: next(sizes))
    memory.give_back_if_grown()
    assert trims == []
    memory.give_back_if_grown()
    assert trims == [0]
    memory.give_back_if_grown()
    assert trims == [0]
    memory.give_back_if_grown()
    assert trims == [0, 0]
    assert memory.Least.bytes == 50


def test_systems_that_do_not_say_are_left_alone(trims: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(memory, "STATM", tmp_path / "none")
    assert memory.resident() == 0
    memory.give_back_if_grown()
    assert trims == []
    monkeypatch.setattr(memory, "TRIM", None)
    memory.give_back()


def test_this_process_takes_memory() -> None:
    assert memory.resident() > 2**20 or not memory.STATM.exists()
