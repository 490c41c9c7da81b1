"""Outcomes as CSV: one row a claim, in the order of the paper's files, numbers to four digits."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from attentest.data.files.given import bytes_of_given
from attentest.errors import InputError, shown, suggestion
from attentest.papers import PAPERS
from attentest.papers.claims import Claim, Claims, Direction, load_claims
from attentest.papers.outcomes import Outcome
from attentest.papers.settling import STATUSES, WAYS
from attentest.store.atomic import write_text

__all__ = [
    "COLUMNS",
    "REPRODUCED",
    "committed",
    "completed",
    "given_outcomes",
    "read_outcomes",
    "row_of",
    "write_outcomes",
]

#: What tells claims apart.
_NAMES = ("kind", "paper", "table", "corpus", "model", "attention", "measure", "group", "source")
_NUMBERS = ("ours", "low", "high", "spread", "seed_low", "seed_high")
COLUMNS = (
    *_NAMES,
    "published",
    "published_spread",
    *_NUMBERS,
    "interval",
    *("seeds", "judged", "not_judged", "status", "like_for_like", "difference", "reason", "also"),
    *("runs", "run_ids", "attentest", "torch", "device"),
)
#: Bytes of a table of outcomes.
LARGEST = 64 << 20
#: The table of outcomes in a paper's folder.
REPRODUCED = "reproduced.csv"


def row_of(outcome: Outcome) -> dict[str, str]:
    """One outcome as text, a cell for every column."""
    row = _names(outcome.claim)
    claim = outcome.claim
    row["published"] = claim.printed if isinstance(claim, Claim) else claim.rule.reading
    row["published_spread"] = claim.printed_spread if isinstance(claim, Claim) else ""
    row |= {name: _number(getattr(outcome, name)) for name in _NUMBERS}
    row |= {name: getattr(outcome, name) for name in ("interval", "status", "difference", "reason", "also", "runs")}
    row |= {name: getattr(outcome, name) for name in ("attentest", "torch", "device")}
    row |= {"judged": str(outcome.judged), "not_judged": str(outcome.not_judged)}
    row["like_for_like"] = ("yes" if outcome.like_for_like else "no") if outcome.settled else ""
    row["seeds"] = " ".join(map(str, outcome.seeds))
    row["run_ids"] = " ".join(outcome.run_ids)
    return row


def write_outcomes(path: Path, outcomes: Iterable[Outcome]) -> None:
    """Write them to a file, whole or not at all; the same outcomes give the same bytes."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(row_of, outcomes))
    write_text(path, text.getvalue())


def read_outcomes(text: str, file: str, claims: Claims) -> list[Outcome]:
    """Outcomes from a file's text, joined with the claims they are about."""
    reader = csv.DictReader(io.StringIO(text))
    try:
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise InputError(f"{file} is not a table of outcomes: it must begin with {','.join(COLUMNS[:5])},….")
        rows = [(f"{file}, line {reader.line_num}", row) for row in reader]
    except csv.Error as error:
        raise InputError(f"{file}, line {reader.line_num}: {error}. Make the table again: attentest claims.") from error
    known = {tuple(_names(claim).values()): claim for claim in claims.every}
    found = []
    for where, row in rows:
        if {*row} != {*COLUMNS} or None in row.values():
            raise InputError(f"{where} does not have {len(COLUMNS)} cells. Make the table again: attentest claims.")
        claim = known.get(tuple(row[name] for name in _NAMES))
        if claim is None:
            named = " · ".join(row[name] or "" for name in _NAMES[2:] if row[name])
            raise InputError(
                f"{where}: {claims.paper.name} has no claim {named!r}. Make the table again: attentest claims."
            )
        found.append(_outcome(row, claim, where))
    return found


def given_outcomes(path: Path, claims: Claims) -> list[Outcome]:
    """Outcomes from a file that somebody names."""
    if not path.is_file():
        raise InputError(f"There is no file {path}: --onto names a table that attentest claims PAPER --csv wrote.")
    try:
        text = bytes_of_given(path, LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}). Make the table again: attentest claims.") from error
    return read_outcomes(text, str(path), claims)


def completed(outcomes: Sequence[Outcome], earlier: Iterable[Outcome]) -> list[Outcome]:
    """These outcomes; those of claims that no run answers as an earlier table has them, whose runs are elsewhere."""
    before = {outcome.claim.key: outcome for outcome in earlier if outcome.settled}
    return [one if one.settled else before.get(one.claim.key, one) for one in outcomes]


def committed(name: str) -> list[Outcome] | None:
    """The table that comes with attentest, if the paper has one."""
    text = PAPERS[name].text(REPRODUCED)
    return None if text is None else read_outcomes(text, f"papers/{name}/{REPRODUCED}", load_claims(name))


def _outcome(row: dict[str, str], claim: Claim | Direction, where: str) -> Outcome:
    status = row["status"]
    if status not in STATUSES:
        raise InputError(f"{where}: status {status!r}. {suggestion(status, STATUSES)}")
    way = row["interval"]
    if way not in WAYS:
        raise InputError(f"{where}: interval {way!r}. {suggestion(way, WAYS)}")
    try:
        numbers = {name: _finite(row[name]) if row[name] else math.nan for name in _NUMBERS}
        return Outcome(
            claim,
            status,
            **numbers,
            interval=way,
            seeds=tuple(map(int, row["seeds"].split())),
            judged=int(row["judged"]),
            not_judged=int(row["not_judged"]),
            like_for_like=row["like_for_like"] != "no",
            difference=row["difference"],
            reason=row["reason"],
            also=row["also"],
            runs=row["runs"],
            run_ids=tuple(row["run_ids"].split()),
            attentest=row["attentest"],
            torch=row["torch"],
            device=row["device"],
        )
    except ValueError as error:
        raise InputError(f"{where}: a number cannot be read ({error}).") from error


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{shown(text)} is not finite")
    return value


def _names(claim: Claim | Direction) -> dict[str, str]:
    if isinstance(claim, Direction):
        cells = ("direction", claim.paper, claim.table, claim.corpus, "", "", claim.rule.name, "", "")
    else:
        about = (claim.table, claim.corpus, claim.model, claim.attention, claim.measure, claim.group)
        cells = ("figure", claim.paper, *about, claim.source)
    return dict(zip(_NAMES, cells, strict=True))


def _number(value: float) -> str:
    """To four digits behind the point, without zeros that say nothing; no number is an empty cell."""
    if not math.isfinite(value):
        return ""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
