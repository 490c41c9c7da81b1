"""Bad inputs: whatever a stranger hands over is used, or refused in one line."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import sys
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import typer

from tests.campaigns.campaign import Campaign, Fault
from tests.campaigns.made.answers import AnnotatorRequests, AnswerFiles, QuestionFiles
from tests.campaigns.made.archives import Archives, OfficialFiles
from tests.campaigns.made.checkpoints import DamagedCheckpoints
from tests.campaigns.made.claims import ClaimsArchives, OutcomeTables
from tests.campaigns.made.data_files import DataFiles
from tests.campaigns.made.finished import FinishedRuns
from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.names import Arguments, MarkedWords, Names, Studies, WholeAudits
from tests.campaigns.made.requests import Requests
from tests.campaigns.made.run_files import Queries, ScoreFiles
from tests.campaigns.processes import PATIENCE, Ended, started, unexpected

__all__ = ["BadInputs", "Claims", "Questions"]

#: Bytes that a case may have in memory at most; what this process brings along is part of it.
MOST_MEMORY = 3 << 30
LONGEST_LINE = 2000
MOST_ALLOCATED = MOST_MEMORY + (2 << 30)
#: What a fresh process runs: a run that could be described is not trained.
DESCRIBING = (
    "import sys, attentest.auditing as auditing; auditing.finish = lambda *_, **__: sys.exit(0)\n"
    "sys.argv[0] = 'attentest'\nfrom attentest.cli.main import main; main()"
)


class Inputs(Campaign):
    """Kinds of input, drawn in turn by their shares."""

    promise: ClassVar[str] = (
        "it is used, or refused with exit code 2 and one line; within 20 s and 3 GB; nothing half-written"
    )

    @abstractmethod
    def all_kinds(self) -> tuple[type[Kind], ...]:
        """What is drawn from."""

    def prepare(self, folder: Path) -> None:
        self.kinds = [kind() for kind in self.all_kinds()]
        for kind in self.kinds:
            kind.prepare(folder)
        self.turns = [kind for kind in self.kinds for _ in range(kind.share)]
        Random(0).shuffle(self.turns)
        self.peak, self.slowest = 0, (0.0, "")
        self.codes: Counter[str] = Counter()
        self.fresh = 0
        _load()

    def case(self, draw: Random, number: int, folder: Path) -> str:
        kind = self.turns[number % len(self.turns)]
        case = kind.case(draw, folder)
        before, kept = _listed(folder), _contents(folder, case.kept)
        fresh = case.alone or Random(f"fresh/{number}").randrange(kind.fresh) == 0
        fresh = fresh and isinstance(case.command, tuple) and not case.whole
        ended = (in_fresh_process if fresh else _in_fork)(case, folder)
        self.peak = max(self.peak, ended.peak)
        self.slowest = max(self.slowest, (ended.seconds, f"{kind.name} case {number}"))
        self.codes[f"{kind.name}: {'used' if ended.code == 0 else 'refused'}"] += 1
        self.fresh += fresh
        judge(ended, f"{kind.name}: {case.what}", case.codes)
        left = [path for path in _listed(folder) - before if not path.startswith(case.may_leave or ("\0",))]
        if left and (ended.code == 2 or any(path.endswith(".part") for path in left)):
            raise Fault(f"{kind.name}: {case.what}: left behind: {sorted(left)[:5]}")
        now = _contents(folder, case.kept)
        if lost := sorted(name for name, content in kept.items() if now.get(name) != content):
            raise Fault(f"{kind.name}: {case.what}: written over, or gone: {lost[:5]}")
        return kind.name

    def close(self) -> None:
        COMMAND.clear()
        gc.unfreeze()

    def notes(self) -> Iterable[str]:
        yield f"most memory {self.peak / 2**20:.0f} MiB; slowest {self.slowest[0]:.1f} s ({self.slowest[1]})"
        yield f"{self.fresh} in fresh processes, to the end of the interpreter"
        yield ", ".join(f"{what} {count}" for what, count in sorted(self.codes.items()))


class BadInputs(Inputs):
    """Thirteen kinds, of whatever an audit or a study is made from and asked."""

    name: ClassVar[str] = "inputs"
    quick: ClassVar[int] = 100
    full: ClassVar[int] = 10_000
    minutes: ClassVar[float] = 22

    def all_kinds(self) -> tuple[type[Kind], ...]:
        audits = (DataFiles, Names, ScoreFiles, Studies, DamagedCheckpoints, Archives, Queries, Arguments, Requests)
        return (*audits, OfficialFiles, WholeAudits, FinishedRuns, MarkedWords)


class Questions(Inputs):
    """Three kinds, of what comes from those who are asked: language models' questions, people's answers."""

    name: ClassVar[str] = "questions"
    quick: ClassVar[int] = 12
    full: ClassVar[int] = 600
    minutes: ClassVar[float] = 2

    def all_kinds(self) -> tuple[type[Kind], ...]:
        return QuestionFiles, AnswerFiles, AnnotatorRequests


class Claims(Inputs):
    """Two kinds, of what is kept of a paper's runs and goes from hand to hand."""

    name: ClassVar[str] = "claims"
    quick: ClassVar[int] = 10
    full: ClassVar[int] = 300
    minutes: ClassVar[float] = 6

    def all_kinds(self) -> tuple[type[Kind], ...]:
        return ClaimsArchives, OutcomeTables


#: What cases would each import.
LOADED = (
    *(
        "attentest.auditing",
        "attentest.cli.main",
        "attentest.explaining",
        "attentest.explorer.server",
        "attentest.studies.plan",
    ),
    *(
        "attentest.explorer.live.answers",
        "attentest.store.query",
        "attentest.runs.describe.given",
        "attentest.data.tokenizers",
    ),
    *("attentest.papers.archive", "attentest.papers.outcome_files", "attentest.report.claims.figures"),
    *("attentest.report.claims.headline", "attentest.report.claims.page", "attentest.report.claims.tables"),
    *("attentest.deceiving", "attentest.people", "attentest.people.exchange.outgoing", "attentest.people.results.page"),
    *(
        "attentest.people.simulated",
        "attentest.report.overlay",
        "attentest.sources.explaining",
        "attentest.store.verifying",
    ),
    *("attentest.data.catalog.installing", "attentest.report.results", "attentest.report.tables.verdict"),
    *(
        "duckdb",
        "httpx",
        "pydantic",
        "typer._adapters",
        "rich.status",
        "starlette.testclient",
        "uvicorn",
        "anyio._backends._asyncio",
    ),
    *("spacy.lang.en", "transformers.models.bert.modeling_bert", "pyarrow.parquet", "requests", "safetensors.numpy"),
)


def _load() -> None:
    """Import once, here; and warm up what reads texts and questions."""
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    from attentest.data.tokenizers import tokenize

    list(tokenize(["A good film."], "english", lowercase=True))
    from attentest.auditing import describe_audit

    describe_audit(corpus="reviews(train=20, dev=5, test=5)")  # and hashes the code, which decides the ids of runs
    gc.collect()
    gc.freeze()  # forks share it
    COMMAND.append(typer.main.get_command(sys.modules["attentest.cli.main"].app))


COMMAND: list[Any] = []


def patience() -> float:
    """Seconds that a case may take: 20, and as much more as others use this machine."""
    return PATIENCE * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _in_fork(case: Case, folder: Path) -> Ended:
    arguments, work = ((), case.command) if callable(case.command) else (case.command, None)

    def before() -> None:
        # As the interpreter has it for everybody: what this process holds open is no fault of a case.
        warnings.simplefilter("ignore", ResourceWarning)
        if not case.whole:
            stop_before_work()
        if case.unread:
            read_no_further()
        entry = sys.modules["attentest.cli.main"]
        entry.app = COMMAND[0] if work is None else lambda standalone_mode: work()  # type: ignore[attr-defined]

    began = started(arguments, folder, memory=MOST_ALLOCATED, environment=case.environment, first=before)
    return began.ended((3 if case.whole else 1) * patience())


def stop_before_work() -> None:
    """A run that could be described was used: training it would say nothing more about its inputs."""
    import attentest.auditing
    import attentest.deceiving

    def described(*_: object, **__: object) -> None:
        raise SystemExit(0)

    attentest.auditing.finish = attentest.deceiving.finish = described  # type: ignore[assignment]


def read_no_further() -> None:
    """Whoever would read what is printed has gone."""
    end, printed = os.pipe()
    os.close(end)
    os.dup2(printed, 1)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - ends with the process


def in_fresh_process(case: Case, folder: Path) -> Ended:
    """From the start to the very end of the interpreter: a fork skips both, and what libraries print there."""
    described = case.command[:1] in (("audit",), ("deceive",))  # type: ignore[index]
    begin = ("-c", DESCRIBING) if described else ("-m", "attentest")
    command = [sys.executable, *begin, *case.command]  # type: ignore[misc]

    def become() -> None:
        if case.unread:
            read_no_further()
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_ALLOCATED, MOST_ALLOCATED))
        os.execv(command[0], command)

    return started((), folder, environment=case.environment, first=become).ended(3 * patience())


def judge(ended: Ended, what: str, codes: tuple[int, ...] = (0, 2)) -> None:
    """Fault unless it was used, or refused in one line, within bounds, and nothing else was said but progress."""
    said = ended.err.strip()
    if ended.timed_out:
        raise Fault(f"{what}: no end after {ended.seconds:.0f} s")
    if "Traceback (most recent" in ended.err + ended.out or "A fault in attentest" in said or "Warning:" in said:
        raise Fault(f"{what}: {said[-700:]}")
    if ended.code not in codes:
        raise Fault(f"{what}: exit code {ended.code}: {(said or ended.out.strip())[-700:]}")
    if ended.peak > MOST_MEMORY:
        raise Fault(f"{what}: {ended.peak >> 20} MiB")
    helped = ended.code == 2 and "Usage:" in ended.out  # a command that was given nothing shows what it takes
    if found := unexpected(ended.err, refusal=ended.code == 2 and not helped):
        raise Fault(f"{what}: exit code {ended.code}, and beside one line: {found[:5]!r}")
    last = said.rpartition("\n")[2]
    if len(last) > LONGEST_LINE:
        raise Fault(f"{what}: a line of {len(last)} characters: {last[:300]}")
    if any(ord(sign) < 32 for sign in last):
        raise Fault(f"{what}: control characters in {last[:300]!r}")


def _contents(folder: Path, part: str) -> dict[str, bytes]:
    """Of a part of the folder, what every file holds."""
    files = (folder / part).rglob("*") if part else ()
    return {str(path): path.read_bytes() for path in files if path.is_file()}


def _listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}
