"""attentest claims: every published figure and conclusion of a paper beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from attentest.cli import options as o
from attentest.cli.terminal import Terminal
from attentest.errors import InputError, NotApplicable, UnknownName, suggestion
from attentest.printing import Printer, echo, echo_json
from attentest.store.outputs import check_output

if TYPE_CHECKING:
    from attentest.papers.claims import Claims
    from attentest.papers.headline import Headline
    from attentest.papers.outcomes import Outcome
    from attentest.studies.study import Study

__all__ = ["claims", "print_claims", "reproducible"]


def claims(
    paper: Annotated[str, typer.Argument(help="A paper by name; default: all of them, a line each.")] = "",
    table: Annotated[
        str | None, typer.Option(metavar="N", help="Only this table of the paper, such as 2 or 'Table 2'.")
    ] = None,
    corpus: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this corpus, as sst or 'SST'; repeat for more.")
    ] = None,
    status: Annotated[
        str | None, typer.Option(metavar="NAME", help="agrees, differs, unsettled, 'not run' or unavailable.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also list claims that have no figure of ours.")] = False,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the outcomes as CSV.")] = None,
    page: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the outcomes as an HTML page.")] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep what the claims need of the runs, in a small file.")
    ] = None,
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Compute from such a file, in place of runs.")
    ] = None,
    onto: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A table that --csv wrote: claims without a run here stay as it has them."),
    ] = None,
    runs: o.Runs = o.DEFAULT_RUNS,
    as_json: o.Json = False,
) -> None:
    """Compare every published figure and conclusion of a paper with ours.

    Ours come from the runs of the paper's study ('attentest reproduce PAPER'), or from what was kept of them (--from);
    without any, the table that comes with attentest is shown. A figure from other texts, vectors or settings than the
    paper's is marked and kept out of the agreement rate.
    """
    if not paper:
        for flag, given in (("--table", table), ("--corpus", corpus), ("--status", status)):
            if given:
                raise InputError(f"{flag} needs a paper: attentest claims PAPER {flag} ….")
        if csv or page or as_json or keep or from_file or onto:
            raise InputError(
                "--csv, --page, --keep, --from, --onto and --json need a paper: attentest claims PAPER --csv FILE."
            )
        _print_papers(runs)
        return
    if keep is not None and from_file is not None:
        raise InputError("--keep needs runs, and --from is in their place: give one of them.")
    for option, target in (("--csv", csv), ("--page", page), ("--keep", keep)):
        check_output(option, target, from_file)
    if keep is not None:
        _keep(paper, runs, keep)
    print_claims(
        paper,
        runs,
        kept=from_file,
        onto=onto,
        table=table,
        corpora=tuple(corpus or ()),
        status=status,
        everything=everything,
        csv=csv,
        page=page,
        as_json=as_json,
    )


def print_claims(
    paper: str,
    runs: Path,
    *,
    table: str | None = None,
    corpora: Sequence[str] = (),
    status: str | None = None,
    everything: bool = False,
    csv: Path | None = None,
    page: Path | None = None,
    as_json: bool = False,
    kept: Path | None = None,
    onto: Path | None = None,
) -> None:
    """Print (and write) a paper's outcomes, those that are asked for, from runs or from what was ``kept`` of them."""
    from attentest.papers.claims import load_claims
    from attentest.papers.headline import write_headline
    from attentest.papers.outcome_files import completed, given_outcomes, row_of, write_outcomes
    from attentest.report.claims.headline import HeadlineView, headline_table
    from attentest.report.claims.tables import claims_table
    from attentest.report.claims.view import View

    loaded = load_claims(paper)
    wanted = _chosen(loaded, table, corpora, status)
    outcomes, came_from, found = _from_archive(paper, kept) if kept is not None else _from_runs(paper, runs)
    if onto is not None:
        outcomes = completed(outcomes, given_outcomes(onto, loaded))
        came_from += f"; the rest as {onto} has it"
    outcomes = [outcome for outcome in outcomes if wanted(outcome)]
    view = View(loaded, outcomes)
    first = HeadlineView.of(found, (outcome.claim.key for outcome in outcomes))
    beside = None if csv is None or first is None else csv.with_name(f"{csv.stem}-headline.csv")
    if csv is not None:
        write_outcomes(csv, outcomes)
    if beside is not None and first is not None:
        write_headline(beside, first.headline)
    if page is not None:
        from attentest.report.claims.figures import figures_of
        from attentest.report.claims.page import write_claims_page
        from attentest.studies.record import finished_cells

        cells = [] if kept is not None else finished_cells(runs, paper)
        write_claims_page(view, page, came_from, first, figures_of(loaded.paper, cells))
    if as_json:
        echo_json([row_of(outcome) for outcome in outcomes])
        return
    console = Printer()
    console.print(Text(came_from, style="dim"))
    asked = table is not None or status is not None
    listed = everything or status is not None
    if first is not None:
        console.print(*headline_table(first, console.width), Text(), sep="\n")
    console.print(claims_table(view, width=console.width, everything=listed, released=asked))
    for name, path in (("Figures", csv), ("Headline", beside), ("Page", page)):
        if path is not None:
            console.print(Text(f"{name:<9}{path}"))


def reproducible(paper: str, table: str | None = None) -> list[Study]:
    """A paper's studies, or as much of them as one table needs; the one that is called like the paper first."""
    from attentest.papers import PAPERS
    from attentest.papers.claims import load_claims

    loaded = load_claims(paper)
    files = loaded.paper.studies()
    if not files:
        others = ", ".join(name for name, one in PAPERS.items() if one.studies()) or "none"
        raise NotApplicable(f"Paper {paper!r}: {loaded.rules.not_run}. Papers that can be run: {others}.")
    tables = None if table is None else _tables(loaded, table)
    from attentest.studies.study import read_study

    studies = [read_study(path) for path in files]
    if tables is None:
        return studies
    needed = [part for study in studies if (part := _needed(study, loaded, tables)) is not None]
    if not needed:
        raise NotApplicable(f"{paper}, {table!r}: nothing of it is in the studies of this version.")
    return needed


def _needed(study: Study, loaded: Claims, tables: set[str]) -> Study | None:
    """What some tables need of a study; None where that is nothing."""
    rules = loaded.rules
    figures = [claim for claim in loaded.figures if claim.table in tables]
    corpora = {rules.corpora[claim.corpus].name for claim in figures}
    models = {rules.models[claim.model].name for claim in figures if claim.model}
    attentions = {rules.attentions[claim.attention].name for claim in figures if claim.attention}
    needed = [rules.models[claim.model].needs for claim in figures if claim.model]
    structures = {text for needs in needed for text in needs.get("structure", ("flat",))}
    measures = {(claim.measure, claim.group) for claim in figures}
    challenges = {"instances"} | {_base(rules.measure(*names).challenge) for names in measures}
    grid = dict(study.grid)
    axes: dict[str, set[Any]] = {"corpus": corpora, "structure": structures, "encoder": models, "attention": attentions}
    for axis, names in axes.items():
        if axis in grid and any(names):
            grid[axis] = tuple(value for value in grid[axis] if _base(value) in {_base(name) for name in names})
            if not grid[axis]:
                return None
    if _base(study.run.get("corpus", "")) not in ("", *map(_base, corpora)):
        return None
    if (tuned := study.run.get("fine_tune")) and Path(tuned).name not in models:
        return None

    def kept(choices: Mapping[str, Any]) -> dict[str, Any]:
        asked = tuple(text for text in choices.get("challenges", ()) if _base(text) in challenges)
        return {**choices, **({"challenges": asked} if asked else {})}

    adjust = tuple(replace(rule, set=kept(rule.set)) for rule in study.adjust)
    return replace(study, grid=grid, run=kept(study.run), adjust=adjust)


def _base(text: object) -> str:
    return str(text).partition("(")[0].strip()


def _print_papers(runs: Path) -> None:
    from attentest.papers import PAPERS
    from attentest.papers.claims import load_claims
    from attentest.report.claims.tables import papers_table
    from attentest.report.claims.view import View

    found = {name: _outcomes(name, runs) for name in PAPERS}
    views = {name: View(load_claims(name), outcomes) for name, (outcomes, _) in found.items()}
    Printer().print(papers_table(views, {name: source for name, (_, source) in found.items()}))
    echo("One paper:  attentest claims NAME")


def _outcomes(paper: str, runs: Path) -> tuple[list[Outcome], str]:
    """A paper's outcomes and where they come from: the runs here, or else the table that comes with attentest."""
    from attentest.papers.outcome_files import committed
    from attentest.papers.outcomes import evaluate
    from attentest.studies.record import finished_cells

    cells = finished_cells(runs, paper)
    if cells:
        with Terminal().console.status(f"Comparing {paper} with {len(cells):,} runs …"):
            return evaluate(paper, cells), f"from {len(cells):,} runs in {runs}"
    kept = committed(paper)
    if kept is not None:
        return kept, f"no runs of it in {runs}: this is the table that comes with attentest"
    return evaluate(paper), f"no runs of it in {runs}"


def _from_runs(paper: str, runs: Path) -> tuple[list[Outcome], str, Headline | None]:
    """A paper's outcomes, where they come from, and its first table: from the runs here, or as they come along."""
    from attentest.papers.headline import committed_headline, headline
    from attentest.studies.record import finished_cells

    outcomes, came_from = _outcomes(paper, runs)
    cells = finished_cells(runs, paper)
    return outcomes, came_from, headline(paper, cells) if cells else committed_headline(paper)


def _from_archive(paper: str, file: Path) -> tuple[list[Outcome], str, Headline | None]:
    """The same from what was kept of the runs."""
    from attentest.papers.archive import archived
    from attentest.papers.headline import headline
    from attentest.papers.outcomes import evaluate

    with archived(file, paper) as cells, Terminal().console.status(f"Comparing {paper} with {len(cells):,} runs …"):
        return evaluate(paper, cells), f"from what {file} keeps of {len(cells):,} runs", headline(paper, cells)


def _keep(paper: str, runs: Path, file: Path) -> None:
    """Keep what the claims read of the runs here."""
    from attentest.papers.archive import write_archive
    from attentest.papers.claims import load_claims
    from attentest.studies.record import finished_cells

    load_claims(paper)  # a name that no paper has is an error before anything is read
    kept = write_archive(file, paper, finished_cells(runs, paper))
    size = f"{kept.bytes / 1e6:.1f} MB"
    about = f"{kept.runs:,} runs, {kept.files:,} files, {kept.rows:,} rows, {size}"
    echo(f"Kept     {file}: {about}", err=True)


def _chosen(loaded: Claims, table: str | None, corpora: Sequence[str], status: str | None) -> Callable[[Outcome], bool]:
    """A test for the outcomes that are asked for; a name that the paper does not have is an error."""
    from attentest.papers.settling import STATUSES

    if status is not None and status not in STATUSES:
        raise UnknownName("status", status, STATUSES)
    tables = None if table is None else _tables(loaded, table)
    ours = {_base(rule.name): name for name, rule in loaded.rules.corpora.items() if rule.name}
    names = [ours.get(_base(corpus), corpus) for corpus in corpora]
    for name in names:
        if name not in loaded.rules.corpora:
            known = [*loaded.rules.corpora, *ours]
            raise InputError(f"{loaded.paper.name} has no corpus {name!r}. {suggestion(name, known)}")

    def wanted(outcome: Outcome) -> bool:
        claim = outcome.claim
        return (
            (tables is None or claim.table in tables)
            and (not names or claim.corpus in names)
            and (status is None or outcome.status == status)
        )

    return wanted


def _tables(loaded: Claims, text: str) -> set[str]:
    """The tables that a number or a name means: 2 is 'Table 2' and its later version."""
    known = list(dict.fromkeys(claim.table for claim in loaded.every))
    name = f"Table {text}" if text.isdigit() else text
    found = {table for table in known if table == name or table.startswith((f"{name} ", f"{name},"))}
    if not found:
        raise InputError(f"{loaded.paper.name} has no table {text!r}. {suggestion(name, known)}")
    return found
