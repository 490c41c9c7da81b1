"""attentest study (run, status, ls, pack), and attentest reproduce: a study with published figures beside it."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from attentest.cli import options as o
from attentest.cli.terminal import Terminal
from attentest.errors import InputError, UnknownName

if TYPE_CHECKING:
    from attentest.studies.conduct import Conducted
    from attentest.studies.engine import Engine
    from attentest.studies.study import Study

study_app = typer.Typer(
    name="study",
    help="A grid of runs in a TOML file: corpora × models × seeds, computed once, on one machine or many.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[str, typer.Argument(metavar="STUDY", help="A TOML file, or a built-in study's name ('study ls').")]
CorpusOnly = Annotated[
    list[str] | None, typer.Option("--corpus", metavar="NAME", help="Only this corpus of the study; repeat for more.")
]
Seeds = Annotated[int, typer.Option(metavar="N", min=0, help="Only the first N seeds; 0: those of the study.")]
Limit = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Examine a random sample of N texts in every cell; 0: all.")
]
Epochs = Annotated[int | None, typer.Option(metavar="N", min=1, help="Train every cell for at most N epochs.")]
Vectors = Annotated[
    str | None, typer.Option(metavar="PATH", help="Other word vectors for every cell; 'none' for random ones.")
]
Workers = Annotated[int, typer.Option(metavar="N", min=1, help="Cells computed in parallel; default: one.")]
EngineName = Annotated[str, typer.Option("--engine", metavar="NAME", help="auto, processes or ray.")]
Address = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="A running Ray cluster; default: one on this machine.")
]
Gpus = Annotated[
    float, typer.Option(metavar="X", min=0, help="Ray: the share of a GPU that one cell takes, such as 0.25.")
]
Retry = Annotated[bool, typer.Option("--retry-failed", help="Try cells again that failed before.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the cells, what is done, and what the rest will take.")]


@study_app.command("run")
def run_study(
    study: File,
    corpus: CorpusOnly = None,
    seeds: Seeds = 0,
    limit: Limit = None,
    epochs: Epochs = None,
    vectors: Vectors = None,
    workers: Workers = 1,
    engine: EngineName = "auto",
    address: Address = None,
    gpus: Gpus = 0.0,
    device: o.Device = "cpu",
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Every measure of every cell, as CSV.")] = None,
    runs: o.Runs = Path("runs"),
    quiet: o.Quiet = False,
) -> None:
    """Compute every cell of a study that is not done yet.

    A killed study resumes, cell by cell and epoch by epoch. A cell that fails is recorded and does not
    stop the others. The findings are the same, to the byte, whatever the engine and the number of workers.
    """
    found = narrowed(find_study(study), corpus, seeds, limit, epochs, vectors)
    terminal = Terminal(quiet=quiet)
    if dry_run:
        show_plan(found, runs, workers, terminal)
        return
    done = conducted(found, runs, engine_named(engine, workers, address, gpus), device, retry_failed, terminal)
    from attentest.report.studies.results import groups_of, results_csv
    from attentest.report.studies.tables import study_table
    from attentest.store.atomic import write_text

    ids = [cell.run.id for cell in done.planned if cell.run is not None and cell.run.id not in done.failed]
    if ids and not quiet:
        Console().print(study_table(ids, runs))
    if csv is not None:
        write_text(csv, results_csv(groups_of(ids, runs)))
        typer.echo(f"Figures {csv}")
    conclude(done)


@study_app.command("status")
def status(
    study: File,
    corpus: CorpusOnly = None,
    seeds: Seeds = 0,
    limit: Limit = None,
    epochs: Epochs = None,
    vectors: Vectors = None,
    runs: o.Runs = Path("runs"),
) -> None:
    """Show how far a study has come: every cell, done, begun, to do or failed."""
    found = narrowed(find_study(study), corpus, seeds, limit, epochs, vectors)
    show_plan(found, runs, 1, Terminal())


@study_app.command("ls")
def ls(runs: o.Runs = Path("runs")) -> None:
    """List the built-in studies, and those that have runs here."""
    from attentest.papers.studies import built_in
    from attentest.report.studies.tables import studies_table

    Console().print(studies_table(built_in(), runs))


@study_app.command("pack")
def pack_study(
    study: File,
    to: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write; there it serves as ATTENTEST_DATA.")],
    corpus: CorpusOnly = None,
) -> None:
    """Prepare a study's corpora, vectors and checkpoints for a machine that has neither their rows nor a tokenizer."""
    import shutil

    from attentest.data.catalog.prepared import pack
    from attentest.data.corpora import CORPORA
    from attentest.data.corpora.declared import Declared
    from attentest.runs.describe import vectors_file
    from attentest.runs.fine_tuned import checkpoint_folder

    found = narrowed(find_study(study), corpus, 0, None, None, None)
    terminal = Terminal()
    cells = found.cells()
    texts = dict.fromkeys(str(cell.choices.get("corpus", "reviews")) for cell in cells)
    declared = [value for value in map(CORPORA.parse, texts) if isinstance(value, Declared)]
    pack(declared, to, progress=terminal)
    for name in dict.fromkeys(str(cell.choices["vectors"]) for cell in cells if cell.choices.get("vectors")):
        path = vectors_file(Path(name))
        if not path.is_file():
            raise InputError(f"No file of word vectors at {path}. Put it into vectors/ of the data folder.")
        (to / "vectors").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to / "vectors" / path.name)
    for name in dict.fromkeys(str(cell.choices["fine_tune"]) for cell in cells if cell.choices.get("fine_tune")):
        checkpoint = checkpoint_folder(name)
        shutil.copytree(checkpoint, to / "models" / checkpoint.name, dirs_exist_ok=True)
    size = sum(file.stat().st_size for file in to.rglob("*") if file.is_file())
    typer.echo(
        f"{to}: {len(declared)} corpora, {size / 2**20:.0f} MB. There: ATTENTEST_DATA={to} attentest study run …"
    )


def reproduce(
    paper: Annotated[str, typer.Argument(help="A paper by name ('attentest study ls').")],
    table: Annotated[
        str | None, typer.Option(metavar="N", help="Only what this table of the paper needs, such as 2.")
    ] = None,
    corpus: CorpusOnly = None,
    seeds: Seeds = 0,
    limit: Limit = None,
    epochs: Epochs = None,
    vectors: Vectors = None,
    workers: Workers = 1,
    engine: EngineName = "auto",
    address: Address = None,
    gpus: Gpus = 0.0,
    device: o.Device = "cpu",
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    runs: o.Runs = Path("runs"),
    quiet: o.Quiet = False,
) -> None:
    """Reproduce a paper's experiments and compare its published figures with ours.

    What was computed before is not computed again. A figure got from other data or vectors than the paper's is marked.
    """
    from attentest.cli.claims import print_claims, reproducible

    whole = reproducible(paper, table)
    terminal = Terminal(quiet=quiet)
    studies = [
        narrowed(study, named, seeds, limit, epochs, vectors) for study, named in with_corpora(whole, corpus or [])
    ]
    if dry_run:
        for study in studies:
            show_plan(study, runs, workers, terminal)
        return
    using = engine_named(engine, workers, address, gpus)
    conducts = [conducted(study, runs, using, device, retry_failed, terminal) for study in studies]
    if not any(each.done for each in conducts):
        conclude(conducts[0])
    print_claims(paper, runs, table=table, corpora=tuple(corpus or ()))
    for each in conducts:
        conclude(each)


def find_study(text: str) -> Study:
    """A study by its file, or built in by its name."""
    from attentest.papers.studies import built_in

    path = Path(text)
    if not text.endswith(".toml") and not path.is_file():
        known = built_in()
        if text not in known:
            raise UnknownName("built-in study", text, known)
        path = known[text]
    from attentest.studies.study import read_study

    return read_study(path)


def with_corpora(studies: list[Study], corpora: list[str]) -> list[tuple[Study, list[str]]]:
    """The studies that have some of these corpora, each with its own; all of them where none is named.

    A corpus that no study has stays with the first, which refuses it in its own words.
    """

    def holds(study: Study, corpus: str) -> bool:
        present = study.grid.get("corpus", (study.run.get("corpus", "reviews"),))
        return any(corpus in (str(text), str(text).partition("(")[0]) for text in present)

    if not corpora:
        return [(study, []) for study in studies]
    chosen = {number: [c for c in corpora if holds(study, c)] for number, study in enumerate(studies)}
    chosen[0] += [c for c in corpora if not any(holds(study, c) for study in studies)]
    return [(studies[number], named) for number, named in chosen.items() if named]


def narrowed(
    study: Study,
    corpora: list[str] | None,
    seeds: int,
    limit: int | None,
    epochs: int | None,
    vectors: str | None,
) -> Study:
    """The study as the command line asks for it."""
    chosen: list[str] = []
    present = [str(c) for c in study.grid.get("corpus", (study.run.get("corpus", "reviews"),))]
    for corpus in corpora or []:
        like = [text for text in present if text == corpus or text.partition("(")[0] == corpus]
        chosen += like or [corpus]
    same: dict[str, Any] = {"limit": limit, "epochs": epochs}
    if vectors == "none":
        from dataclasses import replace

        study = replace(study, run={k: v for k, v in study.run.items() if k != "vectors"})
    else:
        same["vectors"] = vectors
    return study.narrowed(corpora=tuple(chosen), seeds=seeds, **same)


def engine_named(name: str, workers: int, address: str | None, gpus: float) -> Engine:
    """The engine that these options describe."""
    from attentest.studies.engines import engine

    return engine(name, workers=workers, address=address, gpus=gpus)


def show_plan(study: Study, runs: Path, workers: int, terminal: Terminal) -> None:
    """Print the cells, what is done, and what the rest will take."""
    from attentest.report.studies.tables import plan_table
    from attentest.studies.plan import costs, plan

    planned = plan(study, runs, progress=terminal)
    Console().print(plan_table(study, planned, costs(planned, runs), workers, cores=os.cpu_count() or 1))


def conducted(
    study: Study, runs: Path, engine: Engine, device: str, retry_failed: bool, terminal: Terminal
) -> Conducted:
    """Conduct the study with its display."""
    from attentest.cli.study_display import StudyDisplay
    from attentest.devices import device_named
    from attentest.studies.conduct import conduct, jobs_of
    from attentest.studies.engines import RayCluster
    from attentest.studies.plan import plan

    device_named(device, here=not isinstance(engine, RayCluster))
    terminal.say(f"Study   {study.name}: {study.title or study.about}".rstrip(": "))
    planned = plan(study, runs, progress=terminal)
    display = StudyDisplay(terminal.console, quiet=terminal.quiet)
    jobs = jobs_of(planned, runs, device, retry_failed=retry_failed)
    to_train = sum(job.companion is not None for job in jobs)
    display.expect(len(planned), sum(cell.state == "done" for cell in planned), to_train)
    with display:
        return conduct(study, runs, engine, display, device=device, retry_failed=retry_failed, planned=planned)


def conclude(done: Conducted) -> None:
    """Say how many cells are done, and leave with 1 when some failed, 2 when some could not run here."""
    console = Console(stderr=True, highlight=False)
    console.print(Text(f"{done.done} of {len(done.planned)} cells done."))
    for identity, error in done.failed.items():
        console.print(Text(f"Failed  {identity}: {shorten(error, 300)}"))
    if done.failed:
        console.print(Text("'--retry-failed' tries them again."))
    for problem in dict.fromkeys(cell.problem for cell in done.impossible):
        count = sum(1 for cell in done.impossible if cell.problem == problem)
        console.print(Text(f"{count} cells cannot run here: {problem}"))
    if done.failed or done.impossible:
        raise typer.Exit(1 if done.failed else 2)
