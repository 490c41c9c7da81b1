"""The table and the picture of Pruthi et al.'s page, from the runs of its studies.

    python scripts/deception.py RUNS [RUNS …]

``twins.csv`` in the paper's folder has a row for every model; ``docs/images/pruthi-twins.svg`` shows what the verdict
said of them. The tables of the page are put into it. A model whose twin is not there is left out, and named.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import altair as alt

from attentest.papers import PAPERS
from attentest.presentation.charts import THEME, data_of, styled, svg
from attentest.report.deception.twins import Twin, Twins
from attentest.store.atomic import replacing, write_text
from attentest.store.folder import runs_in

IMAGE = Path(__file__).parent.parent / "docs" / "images" / "pruthi-twins.svg"
ANSWERS = ("no", "with care", "yes", "cannot say")
#: Against attention, in doubt, for it; nothing can be said.
SHADES = ("#c0392b", "#e69f00", "#2a7ab9", "#b8b8b8")
ASKED = {"instances", "rationale", "exchange", "importance"}
Row = dict[str, Any]


def finished(roots: list[Path]) -> list[Twin]:
    """Every model of the folders that was asked everything."""
    found = []
    for folder in (folder for root in roots for folder in runs_in(root)):
        if all(folder.named(name) for name in ASKED):
            found.append(Twin.of(folder))
        else:
            print(f"left out, not finished: {folder.path.name}")
    return found


def with_twins(models: list[Twin]) -> Twins:
    """Those whose twin is there too."""
    honest = {(one.group, one.seed) for one in models if one.weight == 0}
    for one in models:
        if (one.group, one.seed) not in honest:
            print(f"left out, without its twin: {one.run}")
    kept = [one for one in models if (one.group, one.seed) in honest]
    return Twins(tuple(sorted(kept, key=lambda one: (one.group, one.weight, one.heads, one.seed))))


def confusion(rows: list[Row]) -> list[str]:
    """By corpus, model and kind: how often the verdict gave each answer."""
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row["corpus"], row["encoder"], row["kind"]][row["answer_reason"]] += 1
    lines = [f"| corpus | model | kind | models | {' | '.join(ANSWERS)} |", "| --- | --- | --- |" + " ---: |" * 5]
    for (corpus, encoder, kind), answers in sorted(counts.items()):
        cells = (str(answers[answer]) for answer in ANSWERS)
        lines.append(f"| {corpus} | {encoder} | {kind} | {sum(answers.values())} | {' | '.join(cells)} |")
    return lines


def means(rows: list[Row]) -> list[str]:
    """By corpus, model and λ: accuracy, mass and how often decisions follow, in per cent."""
    groups: dict[tuple[str, str, float, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["corpus"], row["encoder"], row["weight"], row["heads"]].append(row)
    head = "| corpus | model | λ | seeds | accuracy | mass | follows | others | deceptive |"
    lines = [head, "| --- | --- | --- |" + " ---: |" * 6]
    for (corpus, encoder, weight, heads), some in sorted(groups.items()):
        values = (
            f"{100 * sum(row[name] for row in some) / len(some):.1f}"
            for name in ("accuracy", "mass", "followed", "rest_followed")
        )
        hides = "–" if weight == 0 else f"{sum(row['kind'] == 'deceptive' for row in some)} of {len(some)}"
        shown = f"{weight:g}{', max' if heads == 'max' else ''}"
        lines.append(f"| {corpus} | {encoder} | {shown} | {len(some)} | {' | '.join(values)} | {hides} |")
    return lines


def picture(rows: list[Row]) -> str:
    """What the verdict said of deceptive models and of honest twins, corpus by corpus."""
    some = [row for row in rows if row["kind"] != "neither"]
    shown = [{"model": _label(row), "answer": row["answer_reason"]} for row in some]
    order = list(dict.fromkeys(map(_label, sorted(some, key=lambda row: (row["corpus"], row["encoder"], row["kind"])))))
    shades = alt.Scale(domain=list(ANSWERS), range=list(SHADES))
    bars = (
        alt.Chart(data_of(shown))
        .mark_bar()
        .transform_calculate(place=f"indexof({list(ANSWERS)}, datum.answer)")
        .encode(
            alt.X("count()", title="models", axis=alt.Axis(tickMinStep=1)),
            alt.Y("model:N", title=None, sort=order, axis=alt.Axis(labelLimit=320)),
            alt.Color("answer:N", title="verdict", scale=shades, sort=list(ANSWERS)),
            alt.Order("place:Q"),
        )
        .properties(width=380, height=alt.Step(22))
    )
    return svg(styled(bars.properties(padding=THEME["padding"] | {"left": 34})))


def _label(row: Row) -> str:
    encoder = "embeddings alone" if row["encoder"] == "none" else row["encoder"].partition("(")[0]
    return f"{row['corpus'].removeprefix('deceptive_')}, {encoder}: {row['kind']}"


def main() -> None:
    """Write the table, the picture and the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    rows = with_twins(finished(parser.parse_args().runs)).records()
    target = PAPERS["pruthi_2020"].folder / "twins.csv"
    with replacing(target) as path, path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        names = [name for name, value in rows[0].items() if isinstance(value, float) and name != "weight"]
        table.writerows({**row, **{name: f"{row[name]:.4f}" for name in names}} for row in rows)
    write_text(IMAGE, picture(rows))
    page = target.with_name("page.md")
    text = page.read_text("utf-8")
    for name, lines in (("means", means(rows)), ("confusion", confusion(rows))):
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        text = before + mark + "\n" + "\n".join(lines) + "\n\n<!-- end -->" + rest.partition("<!-- end -->")[2]
    write_text(page, text)


if __name__ == "__main__":
    main()
