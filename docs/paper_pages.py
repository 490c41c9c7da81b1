"""The pages of a paper: what its folder says of it, and its published figures beside ours."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from attentest.papers import PAPERS
from attentest.papers.claims import Claim, Direction, load_claims
from attentest.papers.outcome_files import committed
from attentest.papers.outcomes import Outcome, evaluate
from attentest.papers.settling import STATUSES
from attentest.report.claims.coverage import Coverage, coverage
from attentest.report.claims.view import MARKS, View

__all__ = ["papers"]

GENERATED = Path(__file__).parent / "reference" / "generated"
#: A page's links are those that lead on from the paper's folder.
INCLUDED = "```{{include}} {path}\n:relative-docs: ../\n:relative-images:\n```"


def papers() -> dict[str, str]:
    """File names to Markdown, for every paper with a page or a table."""
    found = {"paper-figures.md": "\n\n".join(_figures())}
    for name, paper in PAPERS.items():
        page, outcomes = paper.folder / "page.md", committed(name)
        if page.is_file():
            found[f"paper-{name}.md"] = INCLUDED.format(path=os.path.relpath(page, GENERATED))
        if outcomes is not None:
            found[f"paper-{name}-claims.md"] = "\n\n".join(_page(paper.citation, View(load_claims(name), outcomes)))
    return found


def _figures() -> Iterator[str]:
    """How many of the printed figures have one of ours, by table."""
    yield "# How many published figures have one of ours"
    yield (
        "Every figure that the sources of this project print, by the paper's table, and what came of it. *With ours*: "
        "a figure of ours stands beside it, which agrees or differs with its whole interval, or is not settled. The "
        "others were not run, or are unavailable here. What is not like for like counts too; each paper's page tells "
        "it apart. Conclusions, released figures and recalled ones are not counted. `attentest claims` prints the sums."
    )
    head, rows = ("paper", "table", "printed", "with ours", *STATUSES), []
    every = Coverage("", Counter())
    for name, paper in PAPERS.items():
        for one in coverage(committed(name) or evaluate(name)):
            rows.append((paper.citation.partition(",")[0], one.table, *one.row()))
            every += one
    yield _table(head, [*rows, ("**all**", "", *every.row())])


def _page(citation: str, view: View) -> Iterator[str]:
    yield f"# {citation}: published and ours"
    settled = [outcome for outcome in view.outcomes if outcome.settled]
    made = sorted({f"{o.device}, torch {o.torch}" for o in settled if o.device})
    yield (
        f"Measured with attentest {settled[0].attentest if settled else ''} on {'; '.join(made)}. "
        "✓ agrees, ✗ differs, ? not settled; "
        "≠ marks what was not measured like for like (other texts, vectors or settings than the paper's; see "
        f"`attentest claims` for the difference in words). {view.intervals} Figures that the authors "
        "only released, and those we have none for, are in the CSV file and in `attentest claims --all`."
    )
    yield "## Directions"
    yield _table(
        ("conclusion", "corpus", "ours", ""), [_direction(o, view) for o in settled if isinstance(o.claim, Direction)]
    )
    tables = dict.fromkeys(
        o.claim.table for o in settled if isinstance(o.claim, Claim) and o.claim.source != "released"
    )
    for table in tables:
        yield f"## {table}"
        here = [o for o in settled if o.claim.table == table and isinstance(o.claim, Claim)]
        for line in view.of_table(here):
            yield f"{line[0].upper()}{line[1:]}."
        rows = [_figure(o, view) for o in here]
        yield _table(("corpus", "model", "measure", "published", "ours", "seeds", ""), rows)


def _direction(outcome: Outcome, view: View) -> tuple[str, ...]:
    claim = outcome.claim
    assert isinstance(claim, Direction)
    why = f": {outcome.reason}" if outcome.reason else ""
    return (claim.rule.reading, claim.corpus, _ours(outcome, view), f"{_mark(outcome)}{why}")


def _figure(outcome: Outcome, view: View) -> tuple[str, ...]:
    claim = outcome.claim
    assert isinstance(claim, Claim)
    group = f", {'class ' if claim.group.isdigit() else ''}{claim.group}" if claim.group else ""
    model = ", ".join(part for part in (claim.model, claim.attention) if part)
    seeds = str(len(outcome.seeds)) if outcome.seeds else ""
    return (claim.corpus, model, f"{claim.measure}{group}", claim.printed, _ours(outcome, view), seeds, _mark(outcome))


def _ours(outcome: Outcome, view: View) -> str:
    return f"{view.ours(outcome)} {view.interval(outcome)}".strip()


def _mark(outcome: Outcome) -> str:
    return f"{MARKS[outcome.status][0]}{'' if outcome.like_for_like else ' ≠'}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
