"""The table of docs/explanation/trained-for-meaning.md, from runs of the studies meaning_verdicts and meaning_aspects.

    python scripts/meaning.py RUNS

``docs/meaning/meaning.csv`` has, for every corpus, model and measure, the mean over seeds with an interval for which
seeds and texts are drawn again, the same for the difference from the base model (SST) or from the model that was not
taught (aspects), and the verdict's answers. Rows of models that have no run in RUNS stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from attentest.report.verdict.judge import judge
from attentest.statistics.intervals import Interval
from attentest.statistics.resampling import Sample, difference, interval, means
from attentest.store.atomic import write_text
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder, runs_in

DOCS = Path(__file__).parent.parent / "docs"
TABLE, PAGE = DOCS / "meaning" / "meaning.csv", DOCS / "explanation" / "trained-for-meaning.md"
FIELDS = ("corpus", "model", "measure", "value", "low", "high", "seeds", "texts", "by_seed")
#: What is shown, by the challenge and its measure.
MEASURES = {
    "accuracy": ("instances", "accuracy"),
    "conicity": ("conicity", "conicity"),
    "flipped": ("uniform", "flipped"),
    "shuffled": ("permutation", "median_change"),
    "held": ("importance", "attention.held.delete"),
    "held, unknown": ("importance", "attention.held.mask"),
    "found": ("rationale", "attention.average_precision"),
}
COMPARED = ("shuffled", "held", "held, unknown", "found")
ANSWERS = ("reason", "check", "one")
ASKED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("sst", "imdb"), ("importance", "conicity", "uniform")),
    "aspects": ("importance", "conicity", "uniform", "rationale"),
}
TAUGHT = ", taught"
Key = tuple[str, str]


def name_of(fields: dict[str, Any]) -> str:
    """What the page calls a model."""
    model, terms = fields["model"], fields.get("training", {}).get("terms") or ()
    encoder, attention = str(model["encoder"]), str(model["attention"])
    if fields["corpus"]["name"] == "aspects":
        parts = ["aspect LSTM" if model.get("query") == "aspect" else "BiLSTM"]
        parts += ["structured"] if attention.startswith("structured") else []
        return ", ".join(parts) + (TAUGHT if terms else "")
    changes = [str(term).partition("(")[0] for term in terms]
    changes += [name for name in ("sparsemax", "entmax15") if name in attention]
    changes += ["concat"] if "concat" in encoder else []
    changes += ["orthogonal LSTM"] if encoder.startswith("orthogonal") else []
    return ", ".join(changes) or "base"


def runs_of(root: Path) -> dict[Key, list[RunFolder]]:
    """Finished runs by corpus and model, in the order of their seeds."""
    found: dict[Key, dict[int, RunFolder]] = defaultdict(dict)
    for folder in runs_in(root):
        fields = folder.record["fields"]
        corpus = fields["corpus"]["name"]
        if all(folder.named(name) for name in ASKED.get(corpus, ("nothing",))):
            found[corpus, name_of(fields)][fields["seed"]] = folder
    return {key: [seeds[seed] for seed in sorted(seeds)] for key, seeds in sorted(found.items())}


def sample(folders: list[RunFolder], challenge: str, measure: str) -> Sample | None:
    """One measure of every seed, text by text; None where it was not asked."""
    tables = []
    for folder in folders:
        named = folder.named(challenge)
        if named is None:
            return None
        tables.append(_values(folder.findings(named), measure))
    ids = sorted({name for table in tables for name in table})
    values = np.array([[table.get(name, np.nan) for name in ids] for table in tables])
    judged = int(np.isfinite(values).sum())
    seeds = tuple(folder.record["fields"]["seed"] for folder in folders)
    return Sample(tuple(ids), seeds, means(values), judged, values.size - judged)


def _values(findings: Findings, name: str) -> dict[str, float]:
    measure = findings[name]
    table = findings.rows(measure.where)
    columns = (table[column].to_pylist() for column in ("id", measure.column, "not_judged"))
    return {
        text: float("nan") if value is None or why is not None else float(value)
        for text, value, why in zip(*columns, strict=True)
    }


def rows_of(runs: dict[Key, list[RunFolder]]) -> Iterator[dict[str, Any]]:
    """Every row."""
    found = {(*key, name): sample(folders, *of) for key, folders in runs.items() for name, of in MEASURES.items()}
    for (corpus, model), folders in runs.items():
        beside = model.removesuffix(TAUGHT) if model.endswith(TAUGHT) else "base"
        for name in MEASURES:
            own, other = found[corpus, model, name], found.get((corpus, beside, name))
            if own is None:
                continue
            yield _row(corpus, model, name, interval(own, f"{corpus} {model} {name}"), own)
            if other is not None and beside != model and name in COMPARED:
                apart = difference(own, other, f"{corpus} {model} {name}", same_model=False)
                yield _row(corpus, model, f"{name} − {beside}", apart, own)
        verdicts = [{goal.key: goal.answer for goal in judge(folder).goals} for folder in folders]
        for use in ANSWERS:
            said = "; ".join(verdict.get(use, "") for verdict in verdicts)
            yield {"corpus": corpus, "model": model, "measure": use, "seeds": len(folders), "by_seed": said}


def _row(corpus: str, model: str, measure: str, found: Interval, of: Sample) -> dict[str, Any]:
    numbers = {name: f"{getattr(found, name):.4f}" for name in ("value", "low", "high")}
    counted = {"seeds": len(of.seeds), "texts": len(of.ids)}
    by_seed = "; ".join(f"{figure:.4f}" for figure in of.per_seed)
    return {"corpus": corpus, "model": model, "measure": measure, **numbers, **counted, "by_seed": by_seed}


def shown(row: dict[str, Any] | None) -> str:
    """A figure with its interval, or the answers of all seeds."""
    if row is None:
        return "–"
    if not row.get("value"):
        answers = row["by_seed"].split("; ")
        each = dict.fromkeys(answers)
        return ", ".join(one if len(each) == 1 else f"{one} ({answers.count(one)})" for one in each)
    value, low, high = (f"{float(row[name]):.2f}".replace("-", "−") for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def lines(rows: list[dict[str, Any]], corpus: str) -> Iterator[str]:
    """The page's table of one corpus."""
    known = {(row["model"], row["measure"]): row for row in rows if row["corpus"] == corpus}
    models = list(dict.fromkeys(model for model, _ in known))
    models.sort(key=lambda model: (model != "base", model))
    measures = [name for name in (*MEASURES, *ANSWERS) if any(measure == name for _, measure in known)]
    yield f"| model | seeds | {' | '.join(measures)} |"
    yield f"| --- | ---: | {' | '.join('---' for _ in measures)} |"
    for model in models:
        seeds = known[model, "accuracy"]["seeds"]
        yield f"| {model} | {seeds} | {' | '.join(shown(known.get((model, name))) for name in measures)} |"


def main() -> None:
    """Read the runs, complete the table, put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    runs = runs_of(parser.parse_args().runs)
    before = list(csv.DictReader(TABLE.read_text("utf-8").splitlines())) if TABLE.exists() else []
    rows = [row for row in before if (row["corpus"], row["model"]) not in runs] + list(rows_of(runs))
    rows.sort(key=lambda row: (row["corpus"], row["model"]))
    out = io.StringIO()
    table = csv.DictWriter(out, FIELDS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_text(TABLE, out.getvalue())
    page = PAGE.read_text("utf-8")
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        start, end = f"<!-- {corpus} -->\n", "\n<!-- end -->"
        if start in page:
            head, _, rest = page.partition(start)
            page = f"{head}{start}\n" + "\n".join(lines(rows, corpus)) + "\n" + end + rest.partition(end)[2]
    write_text(PAGE, page)


if __name__ == "__main__":
    main()
