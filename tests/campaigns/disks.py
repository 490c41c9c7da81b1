"""Disks: a folder of runs that is full, or may not be written, in the middle of the work; then it may again."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

from tests.campaigns.campaign import Campaign, Fault, Unavailable
from tests.campaigns.kills import PIECES, Kills, bytes_in
from tests.campaigns.processes import refused

#: What is computed on the disk.
TRIED = [piece for piece in PIECES if piece.name in ("study", "training and examining", "audit and report")]
#: Bytes of a disk that is too small for the work.
SIZES = (60_000, 4_000_000)


class Disks(Campaign):
    """A small disk in memory, on which a run's folder lies."""

    name = "disks"
    promise = "a disk that is full or read-only ends in one line; with room again, the same bytes"
    quick, full = 1, 24

    def __init__(self) -> None:
        self.kills = Kills()

    def prepare(self, folder: Path) -> None:
        probe = folder / "probe"
        probe.mkdir()
        if mount("-t", "tmpfs", "none", str(probe)):
            raise Unavailable("no right to mount a disk")
        subprocess.run(["umount", str(probe)], check=True)
        self.kills.process = self.process
        self.kills.prepare(folder)

    def case(self, draw: Random, number: int, folder: Path) -> str:
        piece, kind = TRIED[number // 2 % len(TRIED)], ("full", "read-only")[number % 2]
        place = self.kills.place(folder / "place")
        (place / "runs").mkdir()
        size = draw.randrange(*SIZES) if kind == "full" else 100_000_000
        if mount("-t", "tmpfs", "-o", f"size={size}", "none", str(place / "runs")):
            raise Unavailable("no right to mount a disk")
        try:
            if kind == "read-only":
                mount("-o", "remount,ro", str(place / "runs"))
            ended = self.kills.start(piece, place).ended(300, left=20)
            if kind == "read-only" or ended.code != 0:
                refused_for_lack(ended, f"{piece.name}, {kind}, {size} bytes")
            half = [path.name for path in (place / "runs").rglob("*.part")]
            if half:
                raise Fault(f"{piece.name}: half-written files stay: {half[:4]}")
            mount("-o", "remount,rw,size=200000000", str(place / "runs"))
            again = self.kills.start(piece, place, "--retry-failed").ended(300, left=20)
            if again.code != 0:
                raise Fault(f"{piece.name}: with room again: {again.err[-800:]}")
            if bytes_in(place) != self.kills.expected(piece).files:
                raise Fault(f"{piece.name}: with room again, other bytes")
        finally:
            subprocess.run(["umount", "-l", str(place / "runs")], check=False)
        return f"{kind}, {piece.name}"


def refused_for_lack(ended: object, what: str) -> None:
    """One line and code 2; a study also may count the cell as failed, with code 1 and the reason."""
    said = ended.err  # type: ignore[attr-defined]
    if "Traceback" in said or "A fault in attentest" in said:
        raise Fault(f"{what}: {said[-800:]}")
    if ended.code == 1 and "Failed " in said:  # type: ignore[attr-defined]
        return
    refused(ended, what)  # type: ignore[arg-type]


def mount(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode
