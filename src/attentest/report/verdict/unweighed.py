"""What was measured and decides no line of the verdict: a few numbers of every such challenge, in plain words."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from attentest.challenges import PRESENTATIONS
from attentest.presentation.line import Measured
from attentest.presentation.text import reasons
from attentest.store.findings import Findings, Measure
from attentest.store.folder import RunFolder
from attentest.store.summary import estimate

__all__ = ["also_measured"]

#: Of any other challenge, its first measures.
FIRST = 4


def also_measured(run: RunFolder, read: Collection[str]) -> Iterator[Measured]:
    """The headline measures of every findings file of a run but those that lines were ``read`` from."""
    tabled = {run.named(name) for name, reading in PRESENTATIONS.items() if reading.tabled}
    for name in run.challenges:
        if name in read or name in tabled:
            continue
        findings = run.findings(name)
        found = (_measured(findings, measure, words) for measure, words in _headlines(findings))
        yield from (one for one in found if one.texts)
        if findings.name in PRESENTATIONS and (further := PRESENTATIONS[findings.name].further):
            yield from further(findings)


def _headlines(findings: Findings) -> list[tuple[Measure, str]]:
    """Which measures, and in which words."""
    chosen = PRESENTATIONS[findings.name].headline if findings.name in PRESENTATIONS else {}
    found = []
    for kind in dict.fromkeys(measure.where.get("attention", "") for measure in findings.measures):
        of_kind = [measure for measure in findings.measures if measure.where.get("attention", "") == kind]
        own = {measure.name.removeprefix(f"{kind}."): measure for measure in of_kind}
        of = "" if kind in ("", "self") else f"{kind}: "
        for name in (name for name in chosen if name in own):
            found.append((own[name], f"{of}{chosen[name]}" if chosen[name] else own[name].words))
    return found or [(measure, measure.words) for measure in findings.measures[:FIRST]]


def _measured(findings: Findings, measure: Measure, words: str) -> Measured:
    rows, found = findings.rows(measure.where), estimate(findings, measure)
    judged = pc.invert(pc.is_null(rows[measure.column], nan_is_null=True))
    if "not_judged" in rows.column_names:
        judged = pc.and_(judged, pc.is_null(rows["not_judged"]))
    if not found.judged and (why := reasons(findings, measure.where)):
        words = f"{words} (not judged: {next(iter(why))})"
    return Measured(findings.challenge, words, found, measure.statistic, _texts(rows.filter(judged)), _texts(rows))


def _texts(rows: pa.Table) -> int:
    """How many texts, or steps, there are rows of."""
    return pc.count_distinct(rows["id"]).as_py() if "id" in rows.column_names else len(rows)
