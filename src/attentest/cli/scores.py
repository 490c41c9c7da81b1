"""attentest scores: a run's scores for other tools, and other tools' scores for a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attentest.cli import options as o
from attentest.printing import echo
from attentest.store.outputs import check_output

__all__ = ["scores_app"]

scores_app = typer.Typer(
    help="Exchange the scores of single tokens with other tools: captum, inseq, ERASER.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FormatName = Annotated[
    str | None, typer.Option("--format", metavar="NAME", help="eraser, inseq or captum; default: by the file's ending.")
]


@scores_app.command("export")
def export(
    run: Annotated[str, typer.Argument(help="A run's folder, its id or the beginning of it, or 'latest'.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")],
    format: FormatName = None,  # noqa: A002
    explainer: Annotated[
        str, typer.Option(metavar="NAME", help="Whose scores: an explainer's of the run, or imported ones.")
    ] = "attention",
    runs: o.Runs = o.DEFAULT_RUNS,
) -> None:
    """Write one explainer's scores of all texts of a run, for another tool.

    Written are the scores that the run keeps among its findings of 'instances', text by text.
    """
    from attentest.store.folder import find_run
    from attentest.store.score_formats import format_of
    from attentest.store.scores import scores_of

    made = format_of(format, out)
    check_output("--out", out)
    scores = scores_of(find_run(run, runs), explainer)
    made.write(out, scores)
    echo(f"{len(scores.values):,} texts, scores of {scores.explainer}: {out} ({made.summary})")


@scores_app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="The file of scores.")],
    run: Annotated[str, typer.Option(metavar="RUN", help="The run whose texts were scored, as for 'attentest show'.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="What to call the scores.")],
    format: FormatName = None,  # noqa: A002
    runs: o.Runs = o.DEFAULT_RUNS,
) -> None:
    """Check another tool's scores of a run's texts and keep them, so that challenges can judge them.

    Every text of the run must have a finite score for each of its tokens. The scores are kept among the run's findings;
    the explainer 'precomputed' reads them.
    """
    from attentest.store.folder import find_run
    from attentest.store.score_formats import format_of
    from attentest.store.scores import fitted, keep_scores, texts_of

    made = format_of(format, file)
    folder = find_run(run, runs)
    texts = texts_of(folder)
    kept = keep_scores(folder, name, fitted(file.name, texts, made.scores(file, texts)), f"{made.name}: {file.name}")
    from attentest.explainers.precomputed import Precomputed
    from attentest.registry import text_of

    echo(f"{len(texts.ids):,} texts checked and kept: {kept}")
    challenge = f"faithfulness(explainers=('attention', {text_of(Precomputed(file=str(kept)))!r}))"
    quoted = challenge.translate({ord(sign): f"\\{sign}" for sign in '\\"$`'})
    echo("To judge them, run the audit's command again (nothing is trained twice) with:")
    echo(f'  --challenge "{quoted}"')
