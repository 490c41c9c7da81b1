"""What a campaign is: a promise, and cases drawn at random that could break it."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import shutil
import tempfile
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import ClassVar, final

import pytest
import torch

import tests.campaigns

__all__ = ["Campaign", "Fault", "Unavailable", "campaigns", "conduct"]


class Fault(AssertionError):
    """The promise was broken; says how."""


class Unavailable(Exception):
    """What the campaign needs is not on this machine; says what."""


class Campaign(ABC):
    """One promise. A case draws all its chance from ``draw``, so that seed and number repeat it."""

    name: ClassVar[str]
    #: What holds for every case, in one line.
    promise: ClassVar[str]
    #: How many cases continuous integration runs, in seconds; and how many ``make campaign`` runs, in minutes.
    quick: ClassVar[int]
    full: ClassVar[int]
    #: What the full count took on one core, measured: of campaigns that run at once, the longest starts first.
    minutes: ClassVar[float] = 5
    marks: ClassVar[tuple[pytest.MarkDecorator, ...]] = (pytest.mark.slow,)
    #: What a campaign changes of the process it changes through this, and finds undone at its end: other tests follow.
    process: pytest.MonkeyPatch

    def prepare(self, folder: Path) -> None:  # noqa: B027 - many need nothing
        """Make once, in ``folder``, what all cases share; raises Unavailable where it cannot be had."""

    def close(self) -> None:  # noqa: B027 - many leave nothing
        """End what ``prepare`` started."""

    @abstractmethod
    def case(self, draw: Random, number: int, folder: Path) -> str:
        """Try one case in an empty folder: returns its kind, to be counted, and raises Fault where it fails."""

    def notes(self) -> Iterable[str]:
        """What else was measured, a line each."""
        return ()


@final
@dataclass(frozen=True)
class Conducted:
    """What became of a campaign."""

    name: str
    seed: int
    kinds: dict[str, int]
    #: Number of the case and what was wrong.
    faults: tuple[tuple[int, str], ...]
    seconds: float
    #: Seconds on a core, those of processes that were waited for included.
    cpu: float
    notes: tuple[str, ...]

    @property
    def cases(self) -> int:
        """How many were tried."""
        return sum(self.kinds.values())


def campaigns() -> dict[str, type[Campaign]]:
    """Every campaign by name, found in the modules of this folder."""
    found: dict[str, type[Campaign]] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(tests.campaigns.__path__)):
        if module.startswith(("test_", "__")):
            continue
        for _, kind in inspect.getmembers(importlib.import_module(f"tests.campaigns.{module}"), inspect.isclass):
            if issubclass(kind, Campaign) and not inspect.isabstract(kind):
                found[kind.name] = kind
    return found


def conduct(
    campaign: Campaign,
    numbers: Iterable[int],
    seed: int,
    said: Callable[[str], None] = lambda line: None,
) -> Conducted:
    """Run these cases; what fails is kept as a line, and the others go on."""
    started, used = time.monotonic(), sum(os.times()[:4])
    kinds: Counter[str] = Counter()
    faults: list[tuple[int, str]] = []
    threads = torch.get_num_threads()
    with (
        tempfile.TemporaryDirectory(prefix=f"campaign-{campaign.name}-") as made,
        pytest.MonkeyPatch.context() as campaign.process,
    ):
        shared = Path(made) / "shared"
        shared.mkdir()
        try:
            campaign.prepare(shared)
            for number in numbers:
                folder = Path(made) / f"case-{number}"
                folder.mkdir()
                try:
                    kinds[campaign.case(Random(f"{campaign.name}/{seed}/{number}"), number, folder)] += 1
                except Exception as error:
                    line = str(error) if isinstance(error, Fault) else "".join(traceback.format_exception(error))
                    kinds["failed"] += 1
                    faults.append((number, line))
                    said(f"{campaign.name} case {number}, seed {seed}: {line}")
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
        finally:
            campaign.close()
            torch.set_num_threads(threads)
    seconds, cpu = time.monotonic() - started, sum(os.times()[:4]) - used
    return Conducted(campaign.name, seed, dict(kinds), tuple(faults), seconds, cpu, tuple(campaign.notes()))
