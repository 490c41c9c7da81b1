"""attentest audit and attentest train."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attentest.cli import options as o
from attentest.cli.terminal import Terminal
from attentest.cores import cores
from attentest.printing import echo, echo_json
from attentest.runs.options import OPTIONS, Options
from attentest.tasks import TASKS

if TYPE_CHECKING:
    from attentest.runs.run import Run


@o.spread
def audit(
    options: Options,
    device: o.Device = "auto",
    runs: o.Runs = o.DEFAULT_RUNS,
    fresh: o.Fresh = False,
    details: Annotated[bool, typer.Option("--details", help="Print every line of evidence in full.")] = False,
    sources_column: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="For a language model: the data are questions, this column their sources ('attentest sources').",
        ),
    ] = "",
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Say whether a model's attention may be shown as an explanation.

    Trains a model (or takes --fine-tune or --model), reads its attention on the test texts, replaces and attacks it,
    compares it with gradients and deletion, and ends in a verdict and an HTML report. The same command again shows what
    is there; a killed one resumes.
    """
    if sources_column:
        from attentest.cli.sources.leading import audit_of_sources

        to = Path("sources") if runs == o.DEFAULT_RUNS else runs
        audit_of_sources(options, sources_column, to, device=device, fresh=fresh, quiet=quiet, as_json=as_json)
        return
    began, terminal = monotonic(), Terminal(quiet=quiet or as_json)
    check_texts(options)
    from attentest.auditing import describe_audit, finish
    from attentest.devices import device_named
    from attentest.report.verdict.missing import failures, left_out

    device_named(device)
    with terminal.console.status("Reading the corpus …"):
        run = describe_audit(**vars(options))
    introduce(run, terminal)
    choices = options.chosen(OPTIONS.keys() - {"challenges", "limit", "time", "thorough"})
    done = finish(run, runs, device=device, fresh=fresh, began=began, progress=terminal, choices=choices)
    if as_json:
        echo_json(done.to_record())
    elif quiet:
        echo(f"{done.verdict.headline}\nRun     {done.folder.path}\nReport  {done.report}")
    else:
        done.show(details=details)
    record = done.folder.record
    for line in (*left_out(record), *failures(record)):
        terminal.say(line)
    if failures(record):
        raise typer.Exit(1)


def check_texts(options: Options) -> None:
    """Refuse texts that are not there before anything slow is imported."""
    from attentest.data.files.presence import check_presence

    columns = ("text_column", "label_column", "second_column", "id_column")
    check_presence(**options.only(("corpus", "data", "test", "encoding", *columns)))


@o.spread
def train(
    options: Options,
    device: o.Device = "auto",
    runs: o.Runs = o.DEFAULT_RUNS,
    fresh: o.Fresh = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Train a model with attention and keep it; audit it later with --model."""
    terminal = Terminal(quiet=quiet or as_json)
    check_texts(options)
    from attentest.devices import device_named, second_core
    from attentest.runs.describe import describe_run
    from attentest.runs.model import train as train_model
    from attentest.runs.run import MODEL

    device_named(device)
    with terminal.console.status("Reading the corpus …"):
        run = describe_run(**{**vars(options), "challenges": ()})
    introduce(run, terminal)
    with second_core(cores()):
        folder = train_model(run, runs, device=device, fresh=fresh, progress=terminal)
    entry = folder.record["finished"][MODEL]
    best = entry["epochs"][entry["best_epoch"] - 1]
    if as_json:
        echo_json({"run": str(folder.path), **entry})
        return
    echo(
        f"Best epoch {best['number']} of {len(entry['epochs'])}: dev {entry['dev_score']} {best['score']:.3f}, "
        f"accuracy {best['accuracy']:.3f}"
    )
    echo(f"Run     {folder.path}")


#: So many names of classes are shown before an audit.
SHOWN = 12


def introduce(run: Run, terminal: Terminal) -> None:
    """What is about to happen, and every row that was left out."""
    from attentest.tasks import wording_of

    fields: dict[str, Any] = run.fields
    writes = TASKS[run.corpus.task].writes
    corpus, model = fields["corpus"], fields["model"]
    sizes = ", ".join(f"{size} {name}" for name, size in corpus["sizes"].items())
    names = corpus["classes"]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN + 1 else ""
    classes = "" if writes else f"; classes {', '.join(names[: SHOWN if more else None])}{more}"
    terminal.say(f"Corpus  {corpus['name']}: {sizes}{classes}")
    if corpus["partial"]:
        terminal.say(f"        partial: {corpus['partial']}")
    for line in (*corpus["left_out"], *corpus.get("notes", ())):
        terminal.say(f"        {line}")
    where = f" over {wording_of(fields).items}" if "structure" in model else ""
    asks = f", {model['query']} query" if model.get("query") else ""
    asks += f", {model['head']} head" if asks and model.get("head") else ""
    decoder = f", {model['decoder']} decoder" if model.get("decoder") else ""
    origin = run.model_record.origin
    terminal.say(f"Model   {model['encoder']}, {model['attention']} attention{where}{asks}{decoder}, {origin}")
    if cut := model.get("cut_short"):
        terminal.say(f"        {cut}")
    if writes and 0 < run.limit < (size := len(run.corpus[run.split])):
        terminal.say(f"        {run.limit} of {size} sentences are examined, step by step (--limit 0: all)")
    if run.challenges and (same := one_label(run)):
        terminal.say(f"        {same}")
    if seen := run.seen_in_training():
        terminal.say(
            f"        {seen} of the texts to examine were in the model's training: the verdict is about those too"
        )


def one_label(run: Run) -> str:
    """A remark where all texts to examine carry one label; "" where they do not, or are translations."""
    labels = run.examined().labels
    if TASKS[run.corpus.task].writes or (labels != labels[0]).any():
        return ""
    return f"all {len(labels)} texts to examine carry one label, {run.corpus.classes[labels[0]]}: accuracy says little"
