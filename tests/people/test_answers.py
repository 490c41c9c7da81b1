"""Answers survive, count once, can be taken back, and are gone when forgotten."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from attentest.errors import InputError, StorageError, UnknownName
from attentest.people.answers import Annotator, Answer, AnswerStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnswerStore]:
    made = AnswerStore(tmp_path / "answers.sqlite")
    yield made
    made.close()


@pytest.fixture
def anna(store: AnswerStore) -> Annotator:
    return store.add("anna", "person")[0]


def test_a_link_finds_its_annotator_and_is_nowhere_in_the_files(store: AnswerStore, tmp_path: Path) -> None:
    anna, link = store.add("anna", "person")
    assert store.linked(link) == anna
    assert store.linked(link[:-1] + ("y" if link.endswith("x") else "x")) is None
    assert store.linked("") is None
    assert len(link) == 32
    assert not any(link.encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_a_new_link_takes_the_place_of_the_old_one(store: AnswerStore) -> None:
    anna, old = store.add("anna", "person")
    new = store.new_link("anna")
    assert (store.linked(old), store.linked(new)) == (None, anna)


def test_simulated_annotators_have_no_link_and_are_kept_apart(store: AnswerStore, anna: Annotator) -> None:
    robot, link = store.add("robot", "simulated")
    assert link == ""
    with pytest.raises(InputError, match="only people have links"):
        store.new_link("robot")
    for number, who in enumerate((anna, robot)):
        store.answer(who, "item", "yes", f"nonce-00{number}", 1.0)
    assert [each.annotator for each in store.answers("person")] == ["anna"]
    assert [each.annotator for each in store.answers("simulated")] == ["robot"]


def test_what_is_sent_twice_counts_once(store: AnswerStore, anna: Annotator) -> None:
    first = store.answer(anna, "one", "yes", "nonce-001", 2.0)
    assert store.answer(anna, "one", "yes", "nonce-001", 9.0) == first
    assert store.history(anna) == [first]
    with pytest.raises(InputError, match="nonce was sent before"):
        store.answer(anna, "one", "no", "nonce-001", 2.0)


def test_the_last_answer_counts_and_the_history_keeps_all(store: AnswerStore, anna: Annotator) -> None:
    for number, choice in enumerate(("yes", "no", "yes")):
        store.answer(anna, "one", choice, f"nonce-00{number}", 1.0)
    assert store.given(anna)["one"].choice == "yes"
    assert [event.choice for event in store.history(anna)] == ["yes", "no", "yes"]


def test_undo_takes_back_the_answer_given_last_however_often_it_is_sent(store: AnswerStore, anna: Annotator) -> None:
    for number, item in enumerate(("one", "two", "three")):
        store.answer(anna, item, "yes", f"nonce-00{number}", 1.0)
    store.answer(anna, "one", "no", "nonce-changed", 1.0)
    for _ in range(3):  # an acknowledgement is lost twice
        undone = store.undo(anna, "undo-0001")
        assert undone is not None
        assert (undone.item, undone.choice) == ("one", None)
    assert sorted(store.given(anna)) == ["three", "two"]
    assert len(store.history(anna)) == 5
    for number in range(2):
        store.undo(anna, f"undo-001{number}")
    assert store.undo(anna, "undo-0020") is None


def test_seconds_stay_within_a_day(store: AnswerStore, anna: Annotator) -> None:
    for number, (given, kept) in enumerate([(-3.0, 0.0), (1.23456, 1.235), (1e9, 86_400.0), (None, None)]):
        assert store.answer(anna, f"item{number}", "yes", f"nonce-00{number}", given).seconds == kept


@pytest.mark.parametrize("name", ["", " ", "a" * 81, "tab\there", " anna", "line\nbreak"])
def test_names_that_cannot_be_shown_are_refused(store: AnswerStore, name: str) -> None:
    with pytest.raises(InputError, match="is no name"):
        store.add(name, "person")


def test_a_name_is_taken_once_and_an_unknown_one_is_refused(store: AnswerStore, anna: Annotator) -> None:
    with pytest.raises(InputError, match="already called 'anna'"):
        store.add("anna", "person")
    with pytest.raises(UnknownName, match="Did you mean 'anna'"):
        store.named("ana")


def test_portions_are_filled_evenly_and_anew_after_a_withdrawal(store: AnswerStore) -> None:
    made = [store.add(f"p{number}", "person", 3)[0] for number in range(6)]
    assert [each.portion for each in made] == [0, 1, 2, 0, 1, 2]
    store.forget(made[1])
    store.forget(made[4])
    assert store.add("late", "person", 3)[0].portion == 1
    assert store.add("robot", "simulated", 3)[0].portion == 0


def test_threads_lose_nothing_and_store_nothing_twice(store: AnswerStore) -> None:
    who = [store.add(f"p{number}", "person")[0] for number in range(8)]

    def work(one: Annotator) -> None:
        for item in range(20):
            for _ in range(2):  # everything is sent twice
                store.answer(one, f"item{item}", "yes", f"nonce-{item:04d}", 1.0)

    threads = [threading.Thread(target=work, args=(one,)) for one in who]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.answers()) == 8 * 20
    assert all(len(store.history(one)) == 20 for one in who)


WORKER = """
import sys
from pathlib import Path
from attentest.people.answers import AnswerStore
store = AnswerStore(Path(sys.argv[1]))
who = store.named(sys.argv[2])
for number in range(int(sys.argv[3])):
    store.answer(who, f"item{number}", "yes", f"nonce-{number:05d}", 1.0)
    print(number, flush=True)
"""


def start(store: AnswerStore, name: str, count: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WORKER, str(store.path), name, str(count)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_processes_and_this_one_write_at_once(store: AnswerStore, anna: Annotator) -> None:
    for name in ("ben", "cleo"):
        store.add(name, "person")
    working = [start(store, name, 40) for name in ("ben", "cleo")]
    for number in range(40):
        store.answer(anna, f"item{number}", "no", f"nonce-{number:05d}", 1.0)
    assert [len(process.communicate(timeout=60)[0].splitlines()) for process in working] == [40, 40]
    assert len(store.answers()) == 120


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_acknowledged(store: AnswerStore, anna: Annotator) -> None:
    process = start(store, "anna", 100_000)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(25)]
    os.kill(process.pid, signal.SIGKILL)
    rest = process.communicate(timeout=10)[0].splitlines()
    acknowledged = [int(line) for line in (*said, *(line for line in rest if line))]
    kept = store.given(anna)
    assert {f"item{number}" for number in acknowledged} <= set(kept)
    assert len(kept) <= len(acknowledged) + 1  # at most the one that was on disk and not yet acknowledged


def test_nothing_of_somebody_who_withdrew_is_left_in_any_file(store: AnswerStore, tmp_path: Path) -> None:
    other = store.add("stays-here", "person")[0]
    gone = store.add("zzleaver-zz", "person")[0]
    store.consent(gone, "v1", "what was agreed to")
    for number in range(60):
        store.answer(gone, f"item{number}", f"secretchoice{number}", f"secretnonce-{number:04d}", 1.0)
        store.answer(other, f"item{number}", "kept", f"nonce-{number:04d}", 1.0)

    def found(text: str) -> bool:
        return any(text.encode() in path.read_bytes() for path in tmp_path.iterdir())

    assert all(map(found, ("zzleaver-zz", "secretchoice7", "secretnonce-0007")))
    assert store.forget(gone) == 60
    assert not any(map(found, ("zzleaver-zz", "secretchoice", "secretnonce-")))
    assert found("stays-here")
    assert len(store.answers()) == 60
    assert store.withdrawn == 1
    with pytest.raises(InputError, match="withdrew"):
        store.answer(gone, "item1", "yes", "nonce-late", 1.0)


def test_withdrawal_says_when_another_process_still_holds_the_bytes(store: AnswerStore, anna: Annotator) -> None:
    store.answer(anna, "one", "yes", "nonce-001", 1.0)
    other = sqlite3.connect(store.path)
    other.execute("BEGIN")
    other.execute("SELECT * FROM events").fetchall()  # reads, and goes on reading
    store.patience(0.1)
    with pytest.raises(StorageError, match="another process holds the file"):
        store.forget(anna)
    assert store.annotators() == []
    other.close()
    store.erase()
    assert b"anna" not in store.path.read_bytes()


def test_consent_is_kept_with_its_version_and_its_text(store: AnswerStore, anna: Annotator) -> None:
    store.consent(anna, "v1", "first text")
    store.consent(anna, "v1", "first text")
    store.consent(anna, "v2", "second text")
    assert list(store.consents(anna)) == ["v1", "v2"]


def test_all_that_is_inserted_is_there_or_nothing(store: AnswerStore, anna: Annotator) -> None:
    rows = [Answer("new", "imported", "one", "yes", 1.0, "2026-01-01T00:00:00+00:00")]
    with pytest.raises(InputError, match="nothing was stored"):
        store.insert([("new", "imported", 0), ("anna", "imported", 0)], rows)
    assert [each.name for each in store.annotators()] == ["anna"]
    store.insert([("new", "imported", 0)], rows)
    assert [(a.annotator, a.kind, a.choice) for a in store.answers()] == [("new", "imported", "yes")]


def test_it_is_durable_by_its_settings(store: AnswerStore) -> None:
    assert store.settings() == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


def test_what_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_text(json.dumps({"not": "a database"}) * 100)
    with pytest.raises(StorageError, match="cannot be opened"):
        AnswerStore(path)
