"""attentest study (run, status, ls, pack), and attentest reproduce: a study with published figures beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from attentest.cli import options as o
from attentest.cli.terminal import Terminal
from attentest.cores import cores
from attentest.errors import InputError, UnknownName
from attentest.printing import Printer, echo
from attentest.store.outputs import check_output

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


@dataclass(frozen=True)
class Part:
    """What of a study is computed or shown, and what is another than in its file."""

    corpus: CorpusOnly = None
    seeds: Annotated[int, typer.Option(metavar="N", min=0, help="Only the first N seeds; 0: those of the study.")] = 0
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Examine a random sample of N texts in every cell; 0: all.")
    ] = None
    epochs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Train every cell for at most N epochs.")] = (
        None
    )
    vectors: Annotated[
        str | None, typer.Option(metavar="PATH", help="Other word vectors for every cell; 'none' for random ones.")
    ] = None
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Another Transformers checkpoint for the cells that fine-tune one: its folder."
        ),
    ] = None


@dataclass(frozen=True)
class Work:
    """How, where and whether cells are computed."""

    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Cells computed in parallel; default: one.")] = 1
    engine: Annotated[str, typer.Option(metavar="NAME", help="auto, processes or ray.")] = "auto"
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A running Ray cluster; default: one on this machine.")
    ] = None
    gpus: Annotated[
        float, typer.Option(metavar="X", min=0, help="Ray: the share of a GPU that one cell takes, such as 0.25.")
    ] = 0.0
    device: o.Device = "cpu"
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try cells again that failed before.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cells, what is done, and what the rest will take.")
    ] = False
    runs: o.Runs = o.DEFAULT_RUNS
    quiet: o.Quiet = False

    @property
    def using(self) -> Engine:
        """The engine that these options describe."""
        from attentest.studies.engines import engine

        return engine(self.engine, workers=self.workers, address=self.address, gpus=self.gpus)


@study_app.command("run")
@o.spread
def run_study(
    study: File,
    part: Part,
    work: Work,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Every measure of every cell, as CSV.")] = None,
) -> None:
    """Compute every cell of a study that is not done yet.

    A killed study resumes, cell by cell and epoch by epoch. A cell that fails is recorded and does not
    stop the others. The findings are the same, to the byte, whatever the engine and the number of workers.
    """
    found = narrowed(find_study(study), part)
    refuse_idle_checkpoint([found], part)
    check_output("--csv", csv, Path(study))
    terminal = Terminal(quiet=work.quiet)
    if work.dry_run:
        show_plan(found, work.runs, work.workers, terminal)
        return
    done = conducted(found, work, work.using, terminal)
    from attentest.report.studies.results import groups_of, results_csv
    from attentest.report.studies.tables import study_table
    from attentest.store.atomic import write_text

    ids = [cell.run.id for cell in done.planned if cell.run is not None and cell.run.id not in done.failed]
    if ids and not work.quiet:
        Printer().print(study_table(ids, work.runs))
    if csv is not None:
        write_text(csv, results_csv(groups_of(ids, work.runs)))
        echo(f"Figures {csv}")
    conclude(done)


@study_app.command("status")
@o.spread
def status(study: File, part: Part, runs: o.Runs = o.DEFAULT_RUNS) -> None:
    """Show how far a study has come: every cell, done, begun, to do or failed."""
    show_plan(narrowed(find_study(study), part), runs, 1, Terminal())


@study_app.command("ls")
def ls(runs: o.Runs = o.DEFAULT_RUNS) -> None:
    """List the built-in studies, and those that have runs here."""
    from attentest.papers.studies import built_in
    from attentest.report.studies.tables import studies_table

    Printer().print(studies_table(built_in(), runs))


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
    from attentest.runs.describe.fine_tuned import checkpoint_folder
    from attentest.runs.describe.trained import vectors_file

    found = narrowed(find_study(study), Part(corpus))
    terminal = Terminal()
    cells = found.cells()
    texts = dict.fromkeys(str(cell.choices.get("corpus", "reviews")) for cell in cells)
    declared = [value for value in map(CORPORA.parse, texts) if isinstance(value, Declared)]
    pack(declared, to, progress=terminal)
    for name in dict.fromkeys(str(cell.choices["vectors"]) for cell in cells if cell.choices.get("vectors")):
        path = vectors_file(name)
        if path is None:
            continue
        if not path.is_file():
            raise InputError(f"No file of word vectors at {path}. Put it into vectors/ of the data folder.")
        (to / "vectors").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to / "vectors" / path.name)
    for name in dict.fromkeys(str(cell.choices["fine_tune"]) for cell in cells if cell.choices.get("fine_tune")):
        checkpoint = checkpoint_folder(name)
        shutil.copytree(checkpoint, to / "models" / checkpoint.name, dirs_exist_ok=True)
    size = sum(file.stat().st_size for file in to.rglob("*") if file.is_file())
    echo(f"{to}: {len(declared)} corpora, {size / 2**20:.0f} MB. There: ATTENTEST_DATA={to} attentest study run …")


@o.spread
def reproduce(
    paper: Annotated[str, typer.Argument(help="A paper by name ('attentest study ls').")],
    part: Part,
    work: Work,
    table: Annotated[
        str | None, typer.Option(metavar="N", help="Only what this table of the paper needs, such as 2.")
    ] = None,
) -> None:
    """Reproduce a paper's experiments and compare its published figures with ours.

    What was computed before is not computed again. A figure got from other data or vectors than the paper's is marked.
    Without --corpus, corpora that are not on this machine are left out, each with a line that says how to get it.
    """
    from attentest.cli.claims import print_claims, reproducible

    whole = reproducible(paper, table)
    terminal = Terminal(quiet=work.quiet)
    chosen = with_corpora(whole, part.corpus or []) if part.corpus else at_hand(whole, terminal)
    studies = [narrowed(study, replace(part, corpus=named)) for study, named in chosen]
    refuse_idle_checkpoint(studies, part)
    if work.dry_run:
        for study in studies:
            show_plan(study, work.runs, work.workers, terminal)
        return
    using = work.using
    conducts = [conducted(study, work, using, terminal) for study in studies]
    if not any(each.done for each in conducts):
        conclude(conducts[0])
    print_claims(paper, work.runs, table=table, corpora=tuple(part.corpus or ()))
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
    """The studies that have some of these corpora, each with its own.

    A corpus that no study has stays with the first, which refuses it in its own words.
    """

    def holds(study: Study, corpus: str) -> bool:
        return any(corpus in (text, text.partition("(")[0]) for text in corpora_of(study))

    chosen = {number: [c for c in corpora if holds(study, c)] for number, study in enumerate(studies)}
    chosen[0] += [c for c in corpora if not any(holds(study, c) for study in studies)]
    return [(studies[number], named) for number, named in chosen.items() if named]


def at_hand(studies: list[Study], terminal: Terminal) -> list[tuple[Study, list[str]]]:
    """The studies with those of their corpora that are on this machine; a line for each of the others."""
    from attentest.data.files.presence import check_presence

    absent: dict[str, str] = {}
    for corpus in dict.fromkeys(corpus for study in studies for corpus in corpora_of(study)):
        try:
            check_presence(corpus, None)
        except InputError as error:
            absent[corpus] = str(error)
    found = [(study, [c for c in corpora_of(study) if c not in absent]) for study in studies]
    if not any(here for _, here in found):
        raise InputError(f"None of its corpora is on this machine. {next(iter(absent.values()), '')}".rstrip())
    for problem in absent.values():
        terminal.say(f"Left out {problem}")
    # A study of one corpus has no axis to cut; all corpora of one are as good as none named.
    return [(study, here if len(here) < len(corpora_of(study)) else []) for study, here in found if here]


def corpora_of(study: Study) -> list[str]:
    """The corpora of a study, as its file writes them."""
    return [str(corpus) for corpus in study.grid.get("corpus", (study.run.get("corpus", "reviews"),))]


def narrowed(study: Study, part: Part) -> Study:
    """The study as the command line asks for it."""
    chosen: list[str] = []
    present = corpora_of(study)
    for corpus in part.corpus or []:
        like = [text for text in present if text == corpus or text.partition("(")[0] == corpus]
        chosen += like or [corpus]
    same: dict[str, Any] = {"limit": part.limit, "epochs": part.epochs, "vectors": part.vectors}
    if part.checkpoint is not None and study.run.get("fine_tune"):
        study = replace(study, run={**study.run, "fine_tune": part.checkpoint})
    return study.narrowed(corpora=tuple(chosen), seeds=part.seeds, **same)


def refuse_idle_checkpoint(studies: Iterable[Study], part: Part) -> None:
    """Refuse a checkpoint that no cell would be fine-tuned from."""
    studies = list(studies)
    if part.checkpoint is not None and not any(study.run.get("fine_tune") for study in studies):
        raise InputError(f"--checkpoint {part.checkpoint}: study {studies[0].name!r} fine-tunes none. Leave it out.")


def show_plan(study: Study, runs: Path, workers: int, terminal: Terminal) -> None:
    """Print the cells, what is done, and what the rest will take."""
    from attentest.report.studies.tables import plan_table
    from attentest.studies.plan import costs, plan

    planned = plan(study, runs, progress=terminal)
    Printer().print(plan_table(study, planned, costs(planned, runs), workers, cores=cores()))


def conducted(study: Study, work: Work, engine: Engine, terminal: Terminal) -> Conducted:
    """Conduct the study with its display."""
    from attentest.cli.studies.display import StudyDisplay
    from attentest.devices import device_named
    from attentest.studies.conduct import conduct, jobs_of
    from attentest.studies.engines import RayCluster
    from attentest.studies.plan import plan

    runs, device, retry_failed = work.runs, work.device, work.retry_failed
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
    console = Printer(stderr=True, highlight=False)
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
