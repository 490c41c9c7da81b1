"""The report: one HTML file that needs no network, no JavaScript and no trust in the texts it shows.

Charts are SVG inside ``<img>``, where nothing in them can run or load. Every value that a template writes is made
visible (control characters, overrides) and escaped by the environment, so no template has to remember to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from altair.utils.schemapi import debug_mode

from attentest.presentation.charts import POINTS, image
from attentest.presentation.presentation import Plot, Results, Section
from attentest.presentation.site import site_of
from attentest.presentation.text import interval_of, value_of
from attentest.report.pages.examples import examples, name_of
from attentest.report.pages.html import environment
from attentest.report.pages.published import published_beside
from attentest.report.results import read, results_of
from attentest.report.tables.verdict import ALSO, ANSWERS, TONES, also_rows
from attentest.report.verdict.missing import failures, left_out
from attentest.report.verdict.verdict import Verdict
from attentest.store.atomic import write_text
from attentest.store.findings import Findings, Measure
from attentest.store.folder import REPORT, RunFolder
from attentest.store.summary import Estimate, estimate, sentences_of

__all__ = ["basis_of", "figures_of", "page", "plots_of", "sections_of", "steps_of", "write_report"]

_MOST_CLASSES = 12
#: Of a longer list, such as the names of a thousand classes, the first ones are shown; run.json has them all.
_MOST_LISTED = 40

Row = dict[str, Any]


def write_report(run: RunFolder, verdict: Verdict, target: Path) -> None:
    """Write the page of a run and its verdict to a file, whole or not at all; the run's own is sealed with the run."""
    write_text(target, page(run, verdict))
    if target == run.path / REPORT:
        run.finish(REPORT)


def page(run: RunFolder, verdict: Verdict) -> str:
    """The page as text."""
    record = run.record
    every = {name: run.findings(name) for name in run.challenges}
    # A challenge run with several parameters is drawn once; every one has its numbers.
    results = results_of(run, every)
    found = results.found
    sections = sections_of(results)
    corpus, names, wording = record["fields"].get("corpus", {}), results.classes, results.wording
    steps = steps_of(results)
    figures = figures_of(results)
    return (
        environment(TONES=TONES, ANSWERS=ANSWERS, wording=wording)
        .get_template("page.html")
        .render(
            verdict=verdict,
            also=also_rows(verdict.also),
            ALSO=ALSO,
            corpus=corpus,
            model=record["fields"].get("model", {}),
            terms=record["fields"].get("training", {}).get("terms", ()),
            site=site_of(record["fields"]),
            steps=steps,
            figures=figures,
            lead=_lead(figures, verdict),
            sections=sections,
            tables={section.key: section.table(results) for section in sections},
            attacked="adversary" in found,
            examples=list(examples(found, results.palette, names)),
            numbers=_numbers(every, names, by_class=steps is None),
            particulars=_particulars(record),
            files=list(_files(record["finished"], every)),
            run=run.path.name,
            published=published_beside(run.path.name),
            missing=(*left_out(record), *failures(record)),
        )
    )


def sections_of(results: Results) -> list[Section]:
    """The sections that readings bring, each once, in their order."""
    given = {section.key: section for reading in read(results) for section in reading.sections}
    return sorted(given.values(), key=lambda section: section.place)


def steps_of(results: Results) -> Row | None:
    """Where texts are written: how many steps of how many sentences, after whose words; None where texts are read."""
    instances, fields = results.found.get("instances"), results.fields
    sentences = None if instances is None else sentences_of(instances.table)
    if sentences is None:
        return None
    counts = {"steps": len(sentences), "sentences": int(sentences.max()) + 1}
    return counts | {"own": fields.get("forced") == "own", "drawn": bool(fields.get("limit"))}


def plots_of(results: Results) -> Iterator[tuple[str, Plot, Findings]]:
    """Every plot for which something was judged, with its challenge and the findings that it draws."""
    for reading in read(results):
        findings = results.found[reading.challenge]
        for plot in reading.figures():
            if plot.applies(findings) and basis_of(_drawn_rows(plot, findings), plot)["judged"]:
                yield reading.challenge, plot, findings


def figures_of(results: Results) -> list[Row]:
    """The figures of every reading that has findings here, as the page shows them."""
    with debug_mode(False):  # Altair checks every part of a chart as it is made: for tests, which leave that on
        return [
            _figure(plot, results.found[reading.challenge], results) | {"challenge": reading.challenge}
            for reading in read(results)
            for plot in reading.figures()
            if plot.applies(results.found[reading.challenge])
        ]


def _lead(figures: Sequence[Row], verdict: Verdict) -> Row | None:
    """The one figure to show of the section of figures: that of a line that decides, or the first."""
    deciding = {line.findings.partition("(")[0] for line in verdict.lines if line.decides}
    here = [figure for figure in figures if figure["plot"].section == "figures"]
    return next((figure for figure in here if figure["challenge"] in deciding), here[0] if here else None)


def _figure(plot: Plot, findings: Findings, results: Results) -> Row:
    basis = basis_of(_drawn_rows(plot, findings), plot)
    judged = basis["judged"]
    return {
        "plot": plot,
        "caption": plot.captioned(findings, results),
        "image": image(plot.draw(findings, results)) if judged else None,
        "narrow": image(plot.narrow(findings, results)) if judged and plot.narrow else None,
        "drawn": POINTS if plot.points and judged > POINTS else None,
        **basis,
    }


def _drawn_rows(plot: Plot, findings: Findings) -> pa.Table:
    table = findings.table
    return table.filter(pc.is_in(table["pair"], pa.array(plot.pairs))) if plot.pairs else table


def basis_of(table: pa.Table, plot: Plot) -> Row:
    """Where every text is: drawn, drawn in part, or left out, and why; a text is in one place only."""
    whole = pc.and_(pc.is_null(table["not_judged"]), pc.invert(pc.is_null(table[plot.column], nan_is_null=True)))
    drawn = set(table.filter(whole)["id"].to_pylist())
    why = dict.fromkeys(table["id"].to_pylist(), plot.missing)
    refused = table.filter(pc.is_valid(table["not_judged"]))
    why |= dict(zip(refused["id"].to_pylist(), refused["not_judged"].to_pylist(), strict=True))
    in_part = drawn.intersection(refused["id"].to_pylist())
    return {
        "judged": len(drawn),
        "texts": len(why),
        "in_part": dict(Counter(why[key] for key in in_part).most_common()),
        "reasons": dict(Counter(reason for key, reason in why.items() if key not in drawn).most_common()),
    }


def _numbers(found: Mapping[str, Findings], names: Sequence[str], *, by_class: bool) -> Row:
    """Every measure for all texts and by predicted class; of very many classes, the most predicted ones."""
    columns: list[int] = []
    if found and by_class:
        counts = pc.value_counts(next(iter(found.values())).table["predicted"]).to_pylist()
        columns = sorted(c["values"] for c in sorted(counts, key=lambda c: -c["counts"])[:_MOST_CLASSES])
    measured = [findings for findings in found.values() if findings.measures]
    # Column by column: estimates of as many texts draw the same resamples.
    numbers = {
        (column, findings.challenge, number): _number(estimate(findings, measure, predicted=column), measure)
        for column in (None, *columns)
        for findings in measured
        for number, measure in enumerate(findings.measures)
    }
    sections = [
        (
            one.challenge,
            [
                (measure.words, numbers[None, one.challenge, n], [numbers[c, one.challenge, n] for c in columns])
                for n, measure in enumerate(one.measures)
            ],
        )
        for one in measured
    ]
    heads = [name_of(names, c) for c in columns]
    return {"classes": heads, "sections": sections, "left_out": max(0, len(names) - len(columns)) if by_class else 0}


def _number(found: Estimate, measure: Measure) -> Row:
    value, interval = value_of(found, measure.statistic), interval_of(found, measure.statistic)
    return {"value": value, "interval": interval, "judged": found.judged, "not_judged": found.not_judged}


def _particulars(record: Mapping[str, Any]) -> dict[str, Row]:
    """Everything recorded of the run but its files, grouped."""
    groups: dict[str, Row] = {"run": {}}
    rest = {key: value for key, value in record.items() if key not in ("fields", "finished")}
    for key, value in (record["fields"] | rest).items():
        if isinstance(value, Mapping):
            groups[key] = {str(k): _words(v) for k, v in value.items()}
        else:
            groups["run"][key] = _words(value)
    return groups


def _files(finished: Mapping[str, Mapping[str, Any]], found: Mapping[str, Findings]) -> Iterator[tuple[str, str, str]]:
    """Each finished file, what it holds, its checksum."""
    rows = {f"findings/{name}.parquet": {"rows": len(findings.table)} for name, findings in found.items()}
    for name, about in finished.items():
        if name == REPORT:  # this page, as it was before
            continue
        holds = {key: value for key, value in about.items() if key != "sha256"} | rows.get(name, {})
        yield name, _words(holds), about["sha256"]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_words(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        more = [f"and {len(value) - _MOST_LISTED} more"] if len(value) > _MOST_LISTED + 1 else []
        return "; ".join([*map(_words, value[: _MOST_LISTED if more else None]), *more]) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if value >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value in (None, "") else str(value)
