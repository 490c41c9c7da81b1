"""Every measure of a run in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from attentest.presentation.text import interval_of, reasons, value_of, visible
from attentest.store.findings import Findings, Measure
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate, estimate, estimates_by_class
from attentest.tasks import task_of, wording_of

__all__ = ["measures_table"]


_FEW_CLASSES = 4


def measures_table(run: RunFolder) -> Table:
    """Every measure of every findings file: value with interval, by predicted class, how many were judged."""
    fields = run.record["fields"]
    names = [visible(str(name), 24) for name in fields.get("corpus", {}).get("classes", [])]
    steps, units = task_of(fields).writes, wording_of(fields).units
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    table.add_column("Measure", overflow="fold")
    table.add_column(f"All {units}", min_width=13)
    if not steps:
        table.add_column("By predicted class", overflow="fold")
    table.add_column("Judged", justify="right", no_wrap=True)
    table.add_column("Not", justify="right", no_wrap=True)
    for challenge in run.challenges:
        findings = run.findings(challenge)
        if findings.measures:
            table.add_row(Text(visible(challenge).replace("_", " ").upper(), style="bold"))
        for measure in findings.measures:
            whole = estimate(findings, measure)
            table.add_row(
                Text(visible(measure.words)),
                Text(_both(whole, measure)),
                *([] if steps else [Text("\n").join(_by_class(findings, measure, names))]),
                Text(f"{whole.judged:,}"),
                Text(f"{whole.not_judged:,}"),
            )
        for reason, count in reasons(findings).items():
            table.add_row(Text(f"not judged: {visible(reason)} ({count:,} rows)", style="dim"))
        table.add_section()
    return table


def _both(found: Estimate, measure: Measure) -> str:
    form = measure.statistic
    return f"{value_of(found, form)} {interval_of(found, form).replace(' ', '')}".rstrip()


def _by_class(findings: Findings, measure: Measure, names: Sequence[str]) -> Iterable[Text]:
    """A line for each class; of many classes only the lowest and the highest."""
    found = [(c, e) for c, e in estimates_by_class(findings, measure).items() if e.judged]
    if len(found) > _FEW_CLASSES:
        found.sort(key=lambda pair: pair[1].value)
        found = [found[0], found[-1]]
    for c, e in found:
        name = names[c] if c < len(names) else f"class {c}"
        yield Text(f"{name} {_both(e, measure)}")
