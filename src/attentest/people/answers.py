"""Answers in SQLite: on disk before they are acknowledged, counted once however often they are sent, and forgettable.

Every answer and every undo is a row of ``events``, which is only added to: the last row of an item counts. Links are
kept as hashes, so that nobody who sees the file, a backup of it or an export can answer in somebody's name; a link that
is lost is replaced by a new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from attentest.errors import InputError, StorageError, UnknownName

__all__ = ["Annotator", "Answer", "AnswerKind", "AnswerStore", "Event"]

#: Where answers come from: a person on our pages, a person elsewhere, or a program. They are never mixed.
AnswerKind = Literal["person", "imported", "simulated"]
#: Seconds that a writer waits for another process.
PATIENCE = 30.0
#: Seconds on an item that are kept at most: a day.
LONGEST = 86_400.0
FORMAT = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS annotators (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, link TEXT UNIQUE, kind TEXT NOT NULL,
    portion INTEGER NOT NULL, invited TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS texts (version TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS consents (
    annotator INTEGER NOT NULL REFERENCES annotators ON DELETE CASCADE, version TEXT NOT NULL REFERENCES texts,
    at TEXT NOT NULL, PRIMARY KEY (annotator, version)) STRICT;
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, annotator INTEGER NOT NULL REFERENCES annotators ON DELETE CASCADE, item TEXT NOT NULL,
    choice TEXT, seconds REAL, nonce TEXT NOT NULL, at TEXT NOT NULL, UNIQUE (annotator, nonce)) STRICT;
CREATE INDEX IF NOT EXISTS by_annotator ON events (annotator, item, id);
"""
#: The last event of every item that an annotator answered and did not take back.
COUNTING = """
SELECT e.* FROM events e JOIN (SELECT MAX(id) AS last FROM events GROUP BY annotator, item) ON e.id = last
WHERE e.choice IS NOT NULL
"""


@dataclass(frozen=True)
class Annotator:
    """Somebody who was invited, or a program that stands for somebody."""

    number: int
    name: str
    kind: AnswerKind
    #: Which part of the items they get, where not everybody gets all.
    portion: int


@dataclass(frozen=True)
class Event:
    """What an annotator did; ``choice`` is None where they took an answer back."""

    id: int
    item: str
    choice: str | None
    seconds: float | None
    at: str


@dataclass(frozen=True)
class Answer:
    """An answer that counts."""

    annotator: str
    kind: AnswerKind
    item: str
    choice: str
    seconds: float | None
    at: str


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _hashed(link: str) -> str:
    return hashlib.sha256(link.encode()).hexdigest()


class AnswerStore:
    """One study's file of answers; safe to use from several threads, beside other processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            self._connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False, isolation_level=None)
            self._connection.row_factory = sqlite3.Row
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
                self._connection.execute(f"PRAGMA {pragma}")
            with self._writing() as db:
                for statement in filter(str.strip, SCHEMA.split(";")):
                    db.execute(statement)
                db.execute("INSERT OR IGNORE INTO about VALUES ('format', ?)", (str(FORMAT),))
            found = self._one("SELECT value FROM about WHERE key = 'format'")["value"]
        except sqlite3.Error as error:
            raise StorageError(f"{path} cannot be opened ({error}). Restore it from a backup.") from error
        if found != str(FORMAT):
            raise StorageError(f"{path} is of format {found}, and this attentest reads format {FORMAT}.")

    def settings(self) -> dict[str, Any]:
        """What the database was told about safety."""
        return {
            name: self._one(f"PRAGMA {name}")[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }

    def patience(self, seconds: float) -> None:
        """How long to wait for another process."""
        with self._lock:
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    def close(self) -> None:
        """Let the file go."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; when the block has ended well, what it wrote is on disk."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
                if isinstance(error, sqlite3.IntegrityError):
                    raise
                raise StorageError(f"{self.path} cannot be written ({error}). Nothing of it was stored.") from error

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise StorageError(f"{self.path} cannot be read ({error}).") from error

    def _one(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Row:
        return self._all(query, values)[0]

    # Who answers

    def add(self, name: str, kind: AnswerKind, portions: int = 1) -> tuple[Annotator, str]:
        """A new annotator and their link, which is shown now and never again; simulated and imported ones have none."""
        check_name(name)
        link = secrets.token_urlsafe(24) if kind == "person" else ""
        with self._writing() as db:
            if db.execute("SELECT 1 FROM annotators WHERE name = ?", (name,)).fetchone():
                raise InputError(
                    f"An annotator is already called {name!r}. Choose another name, or ask for a new link (--new-link)."
                )
            used = [row["portion"] for row in db.execute("SELECT portion FROM annotators WHERE kind = ?", (kind,))]
            portion = min(range(portions), key=lambda each: (used.count(each), each))
            values = (name, _hashed(link) if link else None, kind, portion, _now())
            number = db.execute(
                "INSERT INTO annotators (name, link, kind, portion, invited) VALUES (?, ?, ?, ?, ?)", values
            ).lastrowid
        return Annotator(int(number or 0), name, kind, portion), link

    def new_link(self, name: str) -> str:
        """Another link for a person; the old one no longer works."""
        annotator, link = self.named(name), secrets.token_urlsafe(24)
        if annotator.kind != "person":
            raise InputError(f"{name!r} is {annotator.kind}: only people have links.")
        with self._writing() as db:
            db.execute("UPDATE annotators SET link = ? WHERE number = ?", (_hashed(link), annotator.number))
        return link

    def annotators(self, kind: AnswerKind | None = None) -> list[Annotator]:
        """Everybody, in the order of invitation."""
        rows = self._all("SELECT * FROM annotators WHERE ? IS NULL OR kind = ? ORDER BY number", (kind, kind))
        return [_annotator(row) for row in rows]

    def named(self, name: str) -> Annotator:
        """An annotator by name."""
        rows = self._all("SELECT * FROM annotators WHERE name = ?", (name,))
        if not rows:
            raise UnknownName("annotator of this study", name, [each.name for each in self.annotators()] or ["(none)"])
        return _annotator(rows[0])

    def linked(self, link: str) -> Annotator | None:
        """The annotator whose link it is."""
        rows = self._all("SELECT * FROM annotators WHERE link = ?", (_hashed(link),)) if link else []
        return _annotator(rows[0]) if rows else None

    # What they answer

    def answer(self, annotator: Annotator, item: str, choice: str | None, nonce: str, seconds: float | None) -> Event:
        """Store an answer, or with no choice take it back; it is on disk when this returns.

        The same nonce again gives what was stored the first time, so that nothing counts twice.
        """
        check_nonce(nonce)
        with self._writing() as db:
            return self._stored(db, annotator, item, choice, nonce, seconds)

    def _stored(
        self, db: sqlite3.Connection, who: Annotator, item: str, choice: str | None, nonce: str, seconds: float | None
    ) -> Event:
        _there(db, who)
        row = _sent(db, who, nonce)
        if row is None:
            kept = None if seconds is None else round(min(max(float(seconds), 0.0), LONGEST), 3)
            values = (who.number, item, choice, kept, nonce, _now())
            db.execute(
                "INSERT INTO events (annotator, item, choice, seconds, nonce, at) VALUES (?, ?, ?, ?, ?, ?)", values
            )
            row = db.execute("SELECT * FROM events WHERE id = last_insert_rowid()").fetchone()
        elif (row["item"], row["choice"]) != (item, choice):
            raise InputError("This nonce was sent before with another answer. Send every answer with a new one.")
        return _event(row)

    def undo(self, annotator: Annotator, nonce: str) -> Event | None:
        """Take back the answer that was given last and still counts; None where there is none."""
        check_nonce(nonce)
        with self._writing() as db:
            if (row := _sent(db, annotator, nonce)) is not None:
                return _event(row)
            last = f"{COUNTING} AND e.annotator = ? ORDER BY e.id DESC LIMIT 1"
            row = db.execute(last, (annotator.number,)).fetchone()
            return None if row is None else self._stored(db, annotator, row["item"], None, nonce, None)

    def given(self, annotator: Annotator) -> dict[str, Event]:
        """By item, the answers of one annotator that count."""
        rows = self._all(f"{COUNTING} AND e.annotator = ? ORDER BY e.id", (annotator.number,))
        return {row["item"]: _event(row) for row in rows}

    def history(self, annotator: Annotator) -> list[Event]:
        """All that an annotator did, in order."""
        return [
            _event(r) for r in self._all("SELECT * FROM events WHERE annotator = ? ORDER BY id", (annotator.number,))
        ]

    def answers(self, kind: AnswerKind | None = None) -> list[Answer]:
        """Every answer that counts, of people or of simulated annotators."""
        rows = self._all(
            f"SELECT a.name, a.kind, c.* FROM ({COUNTING}) c JOIN annotators a ON a.number = c.annotator "
            "WHERE ? IS NULL OR a.kind = ? ORDER BY a.number, c.id",
            (kind, kind),
        )
        return [Answer(r["name"], r["kind"], r["item"], r["choice"], r["seconds"], r["at"]) for r in rows]

    def insert(
        self,
        annotators: Sequence[tuple[str, AnswerKind, int]],
        answers: Sequence[Answer],
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Annotators by name, kind and portion with all their answers, in one transaction: all of them or none.

        ``notes`` are kept by their names, such as how an annotator was simulated.
        """
        with self._writing() as db:
            db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", list((notes or {}).items()))
            numbers: dict[str, int] = {}
            for name, kind, portion in annotators:
                check_name(name)
                if db.execute("SELECT 1 FROM annotators WHERE name = ?", (name,)).fetchone():
                    raise InputError(f"An annotator is already called {name!r}: nothing was stored.")
                row = db.execute(
                    "INSERT INTO annotators (name, link, kind, portion, invited) VALUES (?, NULL, ?, ?, ?)",
                    (name, kind, portion, _now()),
                )
                numbers[name] = int(row.lastrowid or 0)
            db.executemany(
                "INSERT INTO events (annotator, item, choice, seconds, nonce, at) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        numbers[each.annotator],
                        each.item,
                        each.choice,
                        each.seconds,
                        f"stored-{number}",
                        each.at or _now(),
                    )
                    for number, each in enumerate(answers)
                ],
            )

    def note(self, key: str) -> str | None:
        """What was kept under this name."""
        rows = self._all("SELECT value FROM about WHERE key = ?", (key,))
        return str(rows[0]["value"]) if rows else None

    # Consent and withdrawal

    def consent(self, annotator: Annotator, version: str, content: str) -> None:
        """Record that an annotator agreed to this text."""
        with self._writing() as db:
            _there(db, annotator)
            db.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (version, content))
            db.execute("INSERT OR IGNORE INTO consents VALUES (?, ?, ?)", (annotator.number, version, _now()))

    def consents(self, annotator: Annotator) -> dict[str, str]:
        """The versions that an annotator agreed to, and when."""
        rows = self._all("SELECT version, at FROM consents WHERE annotator = ? ORDER BY at", (annotator.number,))
        return {row["version"]: row["at"] for row in rows}

    def forget(self, annotator: Annotator) -> int:
        """Delete an annotator with all they answered, for good: the file keeps no byte of it. How many events it had.

        How many withdrew is counted, and nothing else is kept.
        """
        with self._writing() as db:
            gone = db.execute("SELECT COUNT(*) FROM events WHERE annotator = ?", (annotator.number,)).fetchone()[0]
            db.execute("DELETE FROM annotators WHERE number = ?", (annotator.number,))
            db.execute("DELETE FROM about WHERE key = ?", (f"{annotator.kind} {annotator.name}",))
            if annotator.kind == "person":
                db.execute(
                    "INSERT INTO about VALUES ('withdrawn', '1') "
                    "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)"
                )
        self.erase()
        return int(gone)

    def erase(self) -> None:
        """Write the file anew without what was deleted, and empty the log beside it."""
        with self._lock:
            try:
                self._connection.execute("VACUUM")
                busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.OperationalError:
                busy = 1
        if busy:
            raise StorageError(
                f"{self.path}: the answers are deleted, but another process holds the file, and it may still have "
                "their bytes. Close the other process and run 'attentest people forget STUDY' without a name."
            )

    @property
    def withdrawn(self) -> int:
        """How many people withdrew."""
        rows = self._all("SELECT value FROM about WHERE key = 'withdrawn'")
        return int(rows[0]["value"]) if rows else 0


def check_name(name: str) -> None:
    """Refuse names that cannot be shown in a line."""
    if not name.strip() or len(name) > 80 or not name.isprintable() or name != name.strip():
        raise InputError(f"{name[:80]!r} is no name: write 1 to 80 printable characters. A pseudonym is best.")


def check_nonce(nonce: str) -> None:
    """Refuse what cannot tell one sending from another."""
    if not 8 <= len(nonce) <= 100 or not nonce.isascii() or not nonce.isprintable():
        raise InputError("A nonce must have 8 to 100 printable ASCII characters.")


def _there(db: sqlite3.Connection, annotator: Annotator) -> None:
    """Refuse somebody who withdrew in the meantime."""
    if not db.execute("SELECT 1 FROM annotators WHERE number = ?", (annotator.number,)).fetchone():
        raise InputError(f"{annotator.name!r} withdrew from this study: nothing more is stored.")


def _sent(db: sqlite3.Connection, annotator: Annotator, nonce: str) -> sqlite3.Row | None:
    """What was stored under this nonce."""
    row: sqlite3.Row | None = db.execute(
        "SELECT * FROM events WHERE annotator = ? AND nonce = ?", (annotator.number, nonce)
    ).fetchone()
    return row


def _annotator(row: sqlite3.Row) -> Annotator:
    return Annotator(row["number"], row["name"], row["kind"], row["portion"])


def _event(row: sqlite3.Row) -> Event:
    return Event(row["id"], row["item"], row["choice"], row["seconds"], row["at"])
