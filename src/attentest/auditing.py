"""The audit: from data and a model (or none) to findings, a verdict and a report."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from attentest.cores import cores
from attentest.devices import device_named
from attentest.printing import Printer
from attentest.progress import SILENT, Progress
from attentest.report.verdict.judge import judge
from attentest.report.verdict.records import record_of
from attentest.report.verdict.verdict import Verdict
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute, is_complete
from attentest.runs.options import Options
from attentest.runs.questions import Questions
from attentest.runs.run import Run
from attentest.store.folder import REPORT, RunFolder
from attentest.studies.controls import train_controls
from attentest.studies.plan import Planned, costs
from attentest.studies.study import Cell
from attentest.tasks import DEFAULT, TASKS

if TYPE_CHECKING:
    import pandas

__all__ = ["Audit", "audit", "describe_audit", "describe_run", "expected_cost", "expected_seconds", "finish"]


@dataclass(frozen=True)
class Audit:
    """A finished audit: its verdict, its report, and its findings as frames."""

    folder: RunFolder
    verdict: Verdict

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder.path / REPORT

    def show(self, text: str | None = None, *, details: bool = False) -> Any:
        """Print the answer in 25 lines or, with ``details``, every line in full and what was checked of explainers.

        With the id of a ``text`` it gives a widget for notebooks: the scores of every explainer, and weights to change.
        """
        if text is not None:
            from attentest.report.notebook.widget import text_widget

            return text_widget(self.folder, text)
        from rich.text import Text

        from attentest.report.results import terminal_tables
        from attentest.report.tables.answer import answer
        from attentest.report.tables.verdict import verdict_summary

        console = Printer(highlight=False)
        if not details:
            console.print(answer(self.verdict, self.report), soft_wrap=True)
            return None
        console.print(verdict_summary(self.verdict))
        for table in terminal_tables(self.folder):
            console.print(table)
        console.print(Text(f"Run     {self.folder.path}\nReport  {self.report}"), soft_wrap=True)
        return None

    def _repr_html_(self) -> str:
        """The answers, what decides them and where the report is, for notebooks; nothing in it can run."""
        from attentest.report.pages.card import card

        return card(self.verdict, self.report)

    def to_record(self) -> dict[str, Any]:
        """The verdict and every measure as plain values."""
        return record_of(self.folder, self.verdict)

    def to_frame(self, challenge: str = "instances") -> pandas.DataFrame:
        """The per-instance findings of one challenge."""
        frame: pandas.DataFrame = self.folder.findings(challenge).table.to_pandas()
        return frame


def audit(
    model: Any = None,
    tokenizer: Any = None,
    texts: Sequence[Any] | None = None,
    labels: Sequence[int | str] | None = None,
    *,
    runs: str | Path = "runs",
    device: str = "auto",
    fresh: bool = False,
    progress: Progress = SILENT,
    **choices: Any,
) -> Audit:
    """Audit a model's attention: train one, or take one that is there.

    ``model`` is a finished run's folder, the folder of a Transformers checkpoint, a Transformers model in memory (with
    its ``tokenizer``), or a subject of your own; ``texts`` and ``labels`` may stand in the place of data. The other
    choices are the command line's options, with underscores; ``challenges`` is a list.
    ``runs`` is the folder of runs; ``fresh`` computes again what is there.
    """
    began = monotonic()
    device_named(device)
    run = describe_audit(model, tokenizer, texts, labels, **choices)
    return finish(run, Path(runs), device=device, fresh=fresh, began=began, progress=progress)


def describe_audit(
    model: Any = None,
    tokenizer: Any = None,
    texts: Sequence[Any] | None = None,
    labels: Sequence[int | str] | None = None,
    **choices: Any,
) -> Run:
    """The run of an audit: with the usual challenges for its task, where none is named."""
    given = {"model": model, "tokenizer": tokenizer, "texts": texts, "labels": labels, **choices}
    options = Options.of(given, also=inspect.signature(audit).parameters)
    options = replace(options, challenges=options.challenges or None)
    run, chosen = describe_run(**vars(options)), Questions.of(options)
    task = TASKS[run.corpus.task]
    if not (task.usual and chosen.usual):
        return run
    put = replace(chosen, usual=(*DEFAULT, *task.usual)).put()
    limit = task.limit if options.limit is None else options.limit
    return replace(run, challenges=put.challenges, usual=put.usual, limit=limit)


#: Seconds on one core from which on an audit's control models are worth processes of their own.
LONG = 60.0


def expected_seconds(run: Run, runs: Path) -> float | None:
    """What an audit with other models will cost on one core, or None where none is trained or everything is there."""
    if not run.companions or is_complete(run, RunFolder(runs / run.id)):
        return None
    cost = costs([Planned(Cell({}, run.id), "to do", run)], runs)[0]
    return 0.0 if cost is None else cost.seconds


def expected_cost(run: Run, seconds: float) -> str:
    """The same in one line."""
    minutes = max(1, round(seconds / 60))
    others = f"{len(run.companions)} other models are trained to compare this one with"
    return f"Beside  {others}: about {minutes} min in all on one core, less where some are there already"


def finish(
    run: Run,
    runs: Path,
    *,
    device: str = "auto",
    fresh: bool = False,
    began: float | None = None,
    progress: Progress = SILENT,
    choices: Mapping[str, Any] | None = None,
) -> Audit:
    """Execute the run, judge it and write its report; its time, where it has one, ``began`` now or before.

    Where ``choices`` describe the run to other processes, control models that take long are trained in such, side by
    side. A script that calls this would be started in each of them, so that only the command line gives any.
    """
    began = monotonic() if began is None else began
    if (seconds := expected_seconds(run, runs)) is not None:
        progress.say(expected_cost(run, seconds))
        if (
            choices is not None
            and seconds >= LONG
            and not run.time
            and cores() > 1
            and device_named(device).type == "cpu"
        ):
            train_controls(run, choices, runs, progress)
    folder = execute(
        run,
        runs,
        device=device,
        workers=cores(),
        fresh=fresh,
        announce=True,
        began=began,
        progress=progress,
    )
    verdict = judge(folder)
    from attentest.report.pages.run import write_report

    with folder.locked(progress.say):
        write_report(folder, verdict, folder.path / REPORT)
    return Audit(folder, verdict)
