"""The table and the picture of Pruthi et al.'s page, from the runs of its studies.

    python scripts/deception.py [RUNS …]

``twins.csv`` in the paper's folder has a row for every model, ``uniform.csv`` for every translator whose attention is
uniform; ``docs/images/pruthi-twins.svg`` shows what the verdict said of twins. The tables of the page are put into it.
A model whose twin is not there is left out, and named. Models of the tables whose runs are not among RUNS stay in them
as they are.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair as alt

from attentest.papers import PAPERS
from attentest.presentation.charts import THEME, data_of, styled, svg
from attentest.report.deception.twins import Twin, Twins
from attentest.store.atomic import replacing, write_text
from attentest.store.folder import runs_in
from attentest.store.summary import estimate

IMAGE = Path(__file__).parent.parent / "docs" / "images" / "pruthi-twins.svg"
ANSWERS = ("no", "with care", "yes", "cannot say")
USES = {
    "reason": "Say which words mattered",
    "check": "Check where the model looks",
    "one": "Give it as the one reason",
}
#: Against attention, in doubt, for it; nothing can be said.
SHADES = ("#c0392b", "#e69f00", "#2a7ab9", "#b8b8b8")
#: How the table of the paper's figures calls corpora and models.
CORPORA = {
    **{"deceptive_pronoun": "Pronoun", "deceptive_sst_wiki": "SST+Wiki", "bigram_flip": "Bigram flip"},
    **{"sequence_copy": "Sequence copy", "sequence_reverse": "Sequence reverse"},
    "multi30k_aligned": "English to German",
}
#: Models of pruthi_embeddings and pruthi_translators stand beside those that were trained shorter: what tells them.
LONGER = ", trained longer"
TOLD = {"none": ("learning_rate", 0.03), "bigru(hidden=64)": ("epochs", 30)}
MODELS = {
    "none": "embedding",
    f"none{LONGER}": "embedding",
    "bilstm": "bilstm",
    "bigru": "translator",
    "all-MiniLM-L6-v2": "transformer",
}
TRAINED = {0.0: "honest", 0.1: "λ = .1", 1.0: "λ = 1"}
ASKED = {"instances", "rationale", "exchange", "importance"}
Row = dict[str, Any]


def finished(roots: list[Path]) -> list[Twin]:
    """Every model of the folders that was asked everything."""
    found = []
    for folder in (folder for root in roots for folder in runs_in(root)):
        if folder.record["fields"]["model"]["attention"] == "uniform":
            continue
        if all(folder.named(name) for name in ASKED):
            twin = Twin.of(folder)
            name, value = TOLD.get(twin.encoder, ("", None))
            longer = bool(name) and folder.record["fields"]["training"][name] == value
            found.append(replace(twin, encoder=twin.encoder + LONGER) if longer else twin)
        else:
            print(f"left out, not finished: {folder.path.name}")
    return found


def known(path: Path) -> list[Twin]:
    """Every model of a table."""
    names = ("weight", "accuracy", "mass", "marked", "followed", "rest_followed")
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Twin(
                **{name: row[name] for name in ("corpus", "encoder", "attention", "heads", "run")},
                **{name: float(row[name]) for name in names},
                seed=int(row["seed"]),
                bleu=float(row["bleu"]) if row.get("bleu") else None,
                answers={
                    name.removeprefix("answer_"): said for name, said in row.items() if name.startswith("answer_")
                },
            )
            for row in csv.DictReader(file)
        ]


def together(before: list[Twin], now: list[Twin]) -> list[Twin]:
    """All models, each once: as it is now, where it is in both."""
    return list({(*one.group, one.weight, one.heads, one.seed): one for one in (*before, *now)}.values())


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
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for (_, _, kind), answers in counts.items():
        sums[kind] += answers
    for kind, answers in sorted(sums.items()):
        counts["**all**", "", kind] = answers
    for (corpus, encoder, kind), answers in sorted(counts.items(), key=lambda one: (not one[0][1], one[0])):
        cells = (str(answers[answer]) for answer in ANSWERS)
        lines.append(f"| {corpus} | {encoder} | {kind} | {answers.total()} | {' | '.join(cells)} |")
    return lines


def uses(rows: list[Row]) -> list[str]:
    """What the verdict says of deceptive models and of honest twins, by the use of attention that it answers."""
    lines = [f"| use | kind | models | {' | '.join(ANSWERS)} |", "| --- | --- |" + " ---: |" * 5]
    for use, asked in USES.items():
        for kind in ("deceptive", "honest"):
            answers = Counter(row[f"answer_{use}"] for row in rows if row["kind"] == kind)
            cells = (str(answers[answer]) for answer in ANSWERS)
            lines.append(f"| {asked} | {kind} | {answers.total()} | {' | '.join(cells)} |")
    return lines


def means(rows: list[Row]) -> list[str]:
    """By corpus, model and λ: accuracy, mass and how often decisions follow, in per cent."""
    groups: dict[tuple[str, str, float, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["corpus"], row["encoder"], row["weight"], row["heads"]].append(row)
    head = "| corpus | model | λ | seeds | accuracy | mass | follows | others | deceptive | paper: accuracy, mass |"
    lines = [head, "| --- | --- | --- |" + " ---: |" * 7]
    published = recalled()
    for (corpus, encoder, weight, heads), some in sorted(groups.items()):
        values = (
            f"{100 * sum(row[name] for row in some) / len(some):.1f}"
            for name in ("accuracy", "mass", "followed", "rest_followed")
        )
        hides = "–" if weight == 0 else f"{sum(row['kind'] == 'deceptive' for row in some)} of {len(some)}"
        shown = f"{weight:g}{', max' if heads == 'max' else ''}"
        theirs = published.get((corpus, encoder.partition("(")[0], weight, heads or "mean"))
        cells = (*values, hides, theirs or "–")
        lines.append(f"| {corpus} | {encoder} | {shown} | {len(some)} | {' | '.join(cells)} |")
    return lines


def recalled(measure: str = "accuracy") -> dict[tuple[str, str, float, str], str]:
    """The paper's accuracy, or BLEU, and mass by corpus, encoder, λ and heads."""
    given = _claimed()
    found = {}
    for corpus, theirs in CORPORA.items():
        for encoder, kind in MODELS.items():
            for weight, trained in TRAINED.items():
                for heads, said in (("mean", ""), ("max", ", max")):
                    pair = [given.get((theirs, f"{kind}, {trained}{said}", name)) for name in (measure, "mass")]
                    if all(pair):
                        found[corpus, encoder, weight, heads] = ", ".join(map(str, pair))
    return found


def _claimed() -> dict[tuple[str, str, str], str]:
    with (PAPERS["pruthi_2020"].folder / "claims.csv").open(encoding="utf-8", newline="") as file:
        return {(row["dataset"], row["model"], row["measure"]): row["value"] for row in csv.DictReader(file)}


def translation(rows: list[Row]) -> list[str]:
    """By λ: BLEU, and the lowest and highest seed's, beside the paper's."""
    lines = ["| λ | seeds | BLEU | lowest … highest | mass | follows | paper: BLEU, mass |", "| --- |" + " ---: |" * 6]
    theirs = recalled("bleu")
    for weight in sorted({row["weight"] for row in rows}):
        some = [row for row in rows if row["weight"] == weight and row.get("bleu") is not None]
        if some:
            every = [row["bleu"] for row in some]
            mass, follows = (100 * sum(row[name] for row in some) / len(some) for name in ("mass", "followed"))
            published = theirs.get(("multi30k_aligned", "bigru", weight, "mean"), "–")
            cells = (f"{sum(every) / len(every):.1f}", f"{min(every):.1f} … {max(every):.1f}", f"{mass:.1f}")
            lines.append(f"| {weight:g} | {len(some)} | {' | '.join(cells)} | {follows:.1f} | {published} |")
    return lines


def uniform(path: Path, roots: list[Path]) -> list[str]:
    """Translators whose attention is uniform: accuracy and mass, beside the paper's; the table of all is written."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            rows = {(row["corpus"], row["seed"]): row for row in csv.DictReader(file)}
    for folder in (folder for root in roots for folder in runs_in(root)):
        fields, asked = folder.record["fields"], (folder.named("instances"), folder.named("rationale"))
        if fields["model"]["attention"] == "uniform" and all(asked):
            right, marked = (folder.findings(str(name)) for name in asked)
            figures = estimate(right, "accuracy").value, estimate(marked, "attention.mass").value
            said = dict(zip(("accuracy", "mass"), (f"{figure:.4f}" for figure in figures), strict=True))
            key = fields["corpus"]["name"], str(fields["seed"])
            rows[key] = {"corpus": key[0], "seed": key[1], **said, "run": folder.path.name}
    with replacing(path) as to, to.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ("corpus", "seed", "accuracy", "mass", "run"), lineterminator="\n")
        table.writeheader()
        table.writerows(row for _, row in sorted(rows.items()))
    given = _claimed()
    lines = ["| corpus | seeds | accuracy | mass | paper: accuracy, mass |", "| --- |" + " ---: |" * 4]
    for corpus in sorted({corpus for corpus, _ in rows}):
        some = [row for (one, _), row in rows.items() if one == corpus]
        ours = (f"{100 * sum(float(row[name]) for row in some) / len(some):.1f}" for name in ("accuracy", "mass"))
        theirs = (given[CORPORA[corpus], "translator, uniform", name] for name in ("accuracy", "mass"))
        lines.append(f"| {corpus} | {len(some)} | {' | '.join(ours)} | {', '.join(theirs)} |")
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
    encoder = re.sub(r"\(.*?\)", "", row["encoder"]).replace("none", "embeddings alone")
    return f"{row['corpus'].removeprefix('deceptive_')}, {encoder}: {row['kind']}"


def _in_table(row: Row) -> Row:
    """As the table holds it, so that the page's means stay what they are when its runs are no longer at hand."""
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def main() -> None:
    """Write the table, the picture and the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path)
    target = PAPERS["pruthi_2020"].folder / "twins.csv"
    roots = parser.parse_args().runs
    models = together(known(target), finished(roots))
    rows = [_in_table(row) for row in with_twins(models).records()]
    with replacing(target) as path, path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        table.writeheader()
        table.writerows(
            {name: f"{v:.4f}" if isinstance(v, float) and name != "weight" else v for name, v in row.items()}
            for row in rows
        )
    write_text(IMAGE, picture(rows))
    page = target.with_name("page.md")
    text = page.read_text("utf-8")
    tables = {"means": means(rows), "confusion": confusion(rows), "uses": uses(rows), "translation": translation(rows)}
    tables["uniform"] = uniform(target.with_name("uniform.csv"), roots)
    for name, lines in tables.items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        if not mark:
            print(f"left out, for the page has no place for it: {name}")
            continue
        text = before + mark + "\n" + "\n".join(lines) + "\n\n<!-- end -->" + rest.partition("<!-- end -->")[2]
    write_text(page, text)


if __name__ == "__main__":
    main()
