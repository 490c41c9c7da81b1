"""Kills: a study, an audit, a fine-tuning, a preparation ended at any moment, and taken up until they are done."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import torch

from attentest.data.corpora import CORPORA
from attentest.runs import model as training
from attentest.runs.examination import examine as examination
from attentest.store.folder import runs_in
from attentest.store.verifying import verify_run
from tests.campaigns.campaign import Campaign, Fault
from tests.campaigns.processes import Ended, Started, started
from tests.data.made_up_corpus import Toy, official
from tests.runs.test_fine_tuned import saved, words_of_reviews

REVIEWS = "reviews(train=160, dev=40, test=40)"
MODEL = ("--encoder", "bilstm(hidden=8)", "--embedding", "8", "--epochs", "4", "--patience", "0")
STUDY = f"""
name = "killed"
title = "Killed"
[run]
corpus = "{REVIEWS}"
encoder = "bilstm(hidden=8)"
embedding = 8
epochs = 3
challenges = ["uniform", "permutation(draws=20)", "seed_variance(seeds=2)"]
[grid]
attention = ["additive", "dot"]
"""
#: Of five kills, three are kill -9.
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
#: Seconds after which nothing of this size may still run, on a busy machine.
LONGEST = 900.0
#: So often a piece of work is killed, at some moment of the first so many parts of its time; then it may end.
KILLS, PART = 6, 0.8


@dataclass(frozen=True)
class Piece:
    """One kind of work, begun and taken up by the same command."""

    name: str
    command: tuple[str, ...]
    #: Whether it only shows what is there: it is killed, and must change nothing.
    serves: bool = False


PIECES = (
    Piece("study", ("study", "run", "killed.toml", "--quiet")),
    Piece("training and examining", ("train", "--corpus", REVIEWS, *MODEL, "--quiet")),
    Piece("audit and report", ("audit", "--corpus", REVIEWS, *MODEL, "--quiet", "--challenge", "uniform")),
    Piece("workers", ("study", "run", "killed.toml", "--quiet", "--workers", "2")),
    Piece("fine-tuning", ("fine-tune", "base", "--corpus", REVIEWS, "--epochs", "2", "--to", "tuned", "--quiet")),
    Piece("corpora prepare", ("corpora", "prepare", "toy", "--from", "official")),
    Piece("explorer", ("explore", "runs", "--no-browser"), serves=True),
)
#: Seconds in which an explorer is killed.
SERVED = 4.0


@dataclass(frozen=True)
class Undisturbed:
    """What came of a piece of work, and what it took."""

    place: Path
    files: dict[str, Any]
    cpu: float
    seconds: float


class Kills(Campaign):
    """Each case is one piece of work, killed up to KILLS times."""

    name = "kills"
    promise = "whatever is killed, and however often, ends in the same bytes and leaves nothing behind"
    quick, full = 2, 56
    minutes = 18
    pieces: ClassVar[tuple[Piece, ...]] = PIECES

    def __init__(self) -> None:
        self.kills: Counter[str] = Counter()
        self.twice: list[float] = []

    def prepare(self, folder: Path) -> None:
        torch.set_num_threads(1)
        self.process.setitem(CORPORA.own, "toy", Toy)
        # What is kept every few seconds is kept at once, so that there is something to take up from.
        self.process.setattr(training, "CHECKPOINT_SECONDS", 0.0)
        self.process.setattr(examination, "KEEP_SECONDS", 0.0)
        saved(folder / "base", words_of_reviews())
        self.ground = folder
        self.undisturbed: dict[str, Undisturbed] = {}

    def expected(self, piece: Piece) -> Undisturbed:
        """What comes of a piece that nobody disturbs; computed when it is first asked for."""
        if piece.name not in self.undisturbed:
            place = self.place(self.ground / f"undisturbed {piece.name}")
            ended = self.start(piece, place).ended(LONGEST, left=20)
            _done(ended, piece.name)
            self.undisturbed[piece.name] = Undisturbed(place, self.found_in(place), ended.cpu, ended.seconds)
        return self.undisturbed[piece.name]

    def place(self, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        (folder / "killed.toml").write_text(STUDY)
        official(folder / "official", 400)
        if not (folder / "base").exists():
            shutil.copytree(self.ground / "base", folder / "base")
        return folder

    def start(self, piece: Piece, place: Path, *more: str, first: Callable[[], None] = lambda: None) -> Started:
        environment = {"ATTENTEST_CACHE": str(place / "cache"), "ATTENTEST_DATA": str(place / "data")}
        added = more if piece.command[0] == "study" else ()
        return started([*piece.command, *added], place, environment=environment, first=first)

    def case(self, draw: Random, number: int, folder: Path) -> str:
        piece = self.pieces[number % len(self.pieces)]
        how = HOWS[(number // len(self.pieces)) % len(HOWS)]
        if piece.serves:
            return self._served(draw, piece, folder)
        alone = self.expected(piece)
        place, cpu = self.place(folder / "place"), 0.0
        for _ in range(KILLS):
            jump = draw.randrange(2**32)
            first = partial(jumping, jump) if how == "clock" else lambda: None
            running = self.start(piece, place, first=first)
            beside = self.start(piece, place) if how == "two at once" else None
            time.sleep(draw.uniform(0, PART * alone.seconds))
            number_of = draw.choice(SIGNALS)
            running.signal(number_of)
            ended = running.ended(LONGEST, left=20)
            cpu += ended.cpu
            self._judge(ended, number_of, piece)
            if beside is not None:
                other = beside.ended(LONGEST, left=20)
                _done(other, f"{piece.name}, beside one that was killed")
                cpu += other.cpu
            self.kills[signal.Signals(number_of).name] += 1
            if ended.code == 0:
                break
            if how == "moved":
                place = place.rename(folder / f"place-{draw.randrange(10**6)}")
            if how == "clock":
                shaken(place, draw)
        last = self.start(piece, place).ended(LONGEST, left=20)
        _done(last, piece.name)
        cpu += last.cpu
        self.twice.append(cpu / max(0.1, alone.cpu))
        self._compare(piece, place)
        return f"{piece.name}, {how}"

    def _served(self, draw: Random, piece: Piece, folder: Path) -> str:
        """An explorer that is killed changes nothing of the runs that it shows."""
        shutil.copytree(self.expected(PIECES[0]).place / "runs", folder / "runs")
        before = bytes_in(folder)
        running = self.start(piece, folder)
        time.sleep(draw.uniform(0, SERVED))
        number = draw.choice(SIGNALS)
        running.signal(number)
        self._judge(running.ended(LONGEST, left=20), number, piece)
        self.kills[signal.Signals(number).name] += 1
        if bytes_in(folder) != before:
            raise Fault("explorer: other bytes than before")
        return piece.name

    def found_in(self, place: Path) -> dict[str, Any]:
        """What is the same in every run."""
        return bytes_in(place)

    def _judge(self, ended: Ended, number: int, piece: Piece) -> None:
        """A process that was killed says at most one line and leaves no other behind."""
        if ended.timed_out or ended.left_running:
            raise Fault(f"{piece.name}: {signal.Signals(number).name} does not end it")
        if "Traceback" in ended.err and number != signal.SIGKILL:
            raise Fault(f"{piece.name}: a traceback after {signal.Signals(number).name}: {ended.err[-1500:]}")
        if number == signal.SIGINT and ended.code not in (0, 130, -signal.SIGINT):
            raise Fault(f"{piece.name}: exit code {ended.code} after SIGINT: {ended.err[-600:]}")

    def _compare(self, piece: Piece, place: Path) -> None:
        found, expected = self.found_in(place), self.expected(piece).files
        if found != expected:
            names = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
            raise Fault(f"{piece.name}: not as in an undisturbed run: {names[:6]}")
        for run in runs_in(place / "runs"):
            if not verify_run(run).whole:
                raise Fault(f"{piece.name}: {run.path.name} is not whole")
        left = [str(path.relative_to(place)) for path in place.rglob("*") if leftover(path)]
        if left:
            raise Fault(f"{piece.name}: left behind: {left[:6]}")

    def notes(self) -> list[str]:
        signals = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        if not self.twice:
            return []
        return [
            f"{sum(self.kills.values())} kills: {signals}",
            f"work over that of an undisturbed run (CPU): median {statistics.median(self.twice):.1f} times, "
            f"at most {max(self.twice):.1f}",
        ]


HOWS = ("plain", "plain", "moved", "clock", "two at once")


def leftover(path: Path) -> bool:
    """Whether nobody would have it lie there."""
    name = path.name
    return name.endswith(".part") or name in ("training.safetensors", "unfinished") or name.endswith(".training")


def bytes_in(place: Path) -> dict[str, Any]:
    """What was computed: findings, weights, words, and what records say but how long it took."""
    found: dict[str, Any] = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_file() and path.suffix in (".parquet", ".safetensors", ".u64", ".arrow") and "base/" not in name:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.name in ("vocabulary.json", "corpus.json"):
            found[name] = path.read_text()
        elif path.name == "run.json":
            record = json.loads(path.read_text())
            found[name] = sorted(record["finished"]), record["fields"]
    return found


def _done(ended: Ended, what: str) -> None:
    if ended.code != 0 or ended.timed_out or ended.left_running:
        raise Fault(f"{what}: exit code {ended.code} after {ended.seconds:.0f} s: {(ended.err or ended.out)[-1500:]}")


def jumping(seed: int) -> None:
    """A clock that is set, back and forth, while this process works."""
    draw, real = random.Random(seed), time.time
    time.time = lambda: real() + draw.uniform(-(10**7), 10**7)


def shaken(place: Path, draw: Random) -> None:
    """The same files, made at other times, some of them in the future."""
    for path in place.rglob("*"):
        if path.is_file() and not path.is_symlink():
            when = time.time() + draw.uniform(-(10**8), 10**8)
            os.utime(path, (when, when))
