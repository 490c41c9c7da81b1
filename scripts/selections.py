"""The table and the figure of docs/explanation/selections.md, from the runs of the studies selections*.

    python scripts/selections.py RUNS --to docs/selections

``selections.csv`` has, for every corpus, model and measure, the mean over seeds with an interval for which seeds and
texts are drawn again, the same for differences, and the figure of every seed with its own interval over texts. Rows of
models that have no run in RUNS stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow.compute as pc

from attentest.presentation.charts import COLOURS, THEME, data_of, styled, svg
from attentest.statistics.intervals import Interval
from attentest.statistics.resampling import Sample, difference, interval, means
from attentest.store.atomic import write_text
from attentest.store.findings import Findings, read_findings
from attentest.store.folder import RunFolder, runs_in
from attentest.store.summary import estimate

FIELDS = ("corpus", "model", "selector", "words", "measure", "value", "low", "high", "seeds", "texts", "by_seed")
#: What is shown of a selection and of those beside it, and what of the selection alone.
EACH = ("share", "sufficiency", "comprehensiveness", "stays", "right", "instead", "token_f1", "auprc")
ALONE = ("places_right", "length_right", "majority_right", "places_gain")
#: Where the selection should lie below (−1) or above the others.
BETTER = {"sufficiency": -1, "auprc": 1}
BESIDE = ("random", "first_words")
FULL = "none"
#: HardKuma with its constraint on how scattered the words are.
PHRASES = "phrases"
NEXT_TO_NOTHING = 0.05
#: Of both corpora.
CLASSES = ("negative", "positive")
NAMES = {
    **{"eraser_movies": "ERASER movies", "sst": "SST", "hardkuma": "HardKuma", "lei": "Lei et al."},
    **{"smuggler": "smuggler", "diffmask": "DiffMask", "phrases": "HardKuma's phrases"},
    **{"bilstm": "BiLSTM", "all-MiniLM-L6-v2": "MiniLM"},
}

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Seed:
    """One run: its accuracy, and its selection, where it has one."""

    seed: int
    correct: Findings
    selection: Findings | None


def runs_of(root: Path) -> dict[Key, list[Seed]]:
    """Finished runs by corpus, model and what selects; the full models once more beside what selects of them."""
    found: dict[Key, dict[int, Seed]] = defaultdict(dict)
    for folder in runs_in(root):
        if folder.record["fields"]["corpus"]["name"] not in NAMES:
            continue
        correct, selection = (_findings(folder, challenge) for challenge in ("instances", "selection"))
        if correct is None:
            continue
        corpus, model, selector, seed = _about(folder)
        if selection is not None:
            name = selector if selector != FULL else _words(selection)[0].partition("(")[0]
            found[corpus, model, name][seed] = Seed(seed, correct, selection)
        if selector == FULL:
            found[corpus, model, FULL].setdefault(seed, Seed(seed, correct, None))
    return {key: [of[seed] for seed in sorted(of)] for key, of in sorted(found.items())}


def _findings(folder: RunFolder, challenge: str) -> Findings | None:
    paths = [name for name in folder.record["finished"] if name.startswith(f"findings/{challenge}")]
    return read_findings(folder.verify(paths[0])) if paths else None


def _about(folder: RunFolder) -> tuple[str, str, str, int]:
    fields = folder.record["fields"]
    model = fields["model"]
    name = str(model.get("fine_tuned") or model["encoder"]).partition("(")[0]
    selector = str(model.get("selector") or FULL)
    called = PHRASES if "breaks=" in selector else selector.partition("(")[0]
    return fields["corpus"]["name"], name, called, fields["seed"]


def _words(findings: Findings) -> list[str]:
    return [measure.where["explainer"] for measure in findings.measures if measure.column == "share"]


def sample(
    seeds: list[Seed],
    of: Iterable[Findings],
    column: str,
    words: str | None,
    predicted: int | None = None,
    *,
    whole: bool = False,
) -> Sample:
    """One measure of every seed, text by text, or of the texts predicted to be of one class.

    Texts that are kept whole are not judged; their share is 1 where they are asked for too.
    """
    tables = [findings.rows(None if words is None else {"explainer": words}) for findings in of]
    if predicted is not None:
        tables = [table.filter(pc.equal(table["predicted"], predicted)) for table in tables]
    rows = sorted({row for table in tables for row in table["id"].to_pylist()})
    place = {row: number for number, row in enumerate(rows)}
    values = np.full((len(tables), len(rows)), np.nan)
    for line, table in zip(values, tables, strict=True):
        for row, value, why in zip(*(table[name].to_pylist() for name in ("id", column, "not_judged")), strict=True):
            line[place[row]] = np.nan if value is None or (why is not None and not whole) else float(value)
    return _sample(seeds, rows, values)


def beside_all(seeds: list[Seed], words: str) -> dict[tuple[str, str], Sample]:
    """What is kept beside all words, text by text.

    Right with what is kept less right with all; KL of the two predictions in nats, 0 where all words are kept; and of
    texts of which next to nothing is kept, whether they are then of class 1.
    """
    short = _plain(words)
    found: dict[tuple[str, str], list[dict[str, float]]] = {
        (f"{short} − all", "accuracy"): [],
        (short, "divergence"): [],
        (short, "positive where under 5 % is kept"): [],
    }
    for seed in seeds:
        assert seed.selection is not None
        whole = {row["id"]: row for row in seed.correct.rows(None).to_pylist()}
        of: list[dict[str, float]] = [{} for _ in found]
        for row in seed.selection.rows({"explainer": words}).to_pylist():
            name, full = row["id"], whole[row["id"]]
            if row["not_judged"] is not None:
                of[1][name] = 0.0
                continue
            before = full["probabilities"][row["predicted"]]
            alone = before - row["sufficiency"]
            of[0][name] = float(row["right"]) - float(full["correct"])
            of[1][name] = before * np.log(before / alone) + (1 - before) * np.log((1 - before) / (1 - alone))
            if row["share"] < NEXT_TO_NOTHING:
                of[2][name] = float((row["predicted"] == 1) == row["stays"])
        for tables, table in zip(found.values(), of, strict=True):
            tables.append(table)
    return {about: _of_texts(seeds, tables) for about, tables in found.items()}


def _of_texts(seeds: list[Seed], tables: list[dict[str, float]]) -> Sample:
    rows = sorted({row for table in tables for row in table})
    return _sample(seeds, rows, np.array([[table.get(row, np.nan) for row in rows] for table in tables]))


def _sample(seeds: list[Seed], rows: list[str], values: np.ndarray) -> Sample:
    judged = int(np.isfinite(values).sum())
    return Sample(tuple(rows), tuple(seed.seed for seed in seeds), means(values), judged, values.size - judged)


def table(runs: dict[Key, list[Seed]]) -> Iterator[dict[str, Any]]:
    """Every row."""
    accuracy = {key: sample(seeds, (s.correct for s in seeds), "correct", None) for key, seeds in runs.items()}
    for key, seeds in runs.items():
        about = dict(zip(("corpus", "model", "selector"), key, strict=True))
        own = [estimate(seed.correct, "accuracy") for seed in seeds]
        yield about | _row("all", "accuracy", interval(accuracy[key], f"{key} accuracy"), accuracy[key], own)
        full = accuracy.get((*key[:2], FULL))
        if key[2] in (FULL, "diffmask") or full is None:
            pass
        else:
            apart = difference(accuracy[key], full, f"{key} − full", same_model=False)
            yield about | _row("all − full", "accuracy", apart, accuracy[key], [])
        selections = [seed.selection for seed in seeds if seed.selection is not None]
        if not selections:
            continue
        first, *others = _words(selections[0])
        columns = {
            (words, column): sample(seeds, selections, column, words)
            for words in (first, *others)
            for column in (*EACH, *(ALONE if words == first else ()))
        }
        for (words, column), figures in columns.items():
            measure = column if column in ALONE else f"{words}.{column}"
            own = [estimate(findings, measure) for findings in selections]
            yield about | _row(_plain(words), column, interval(figures, f"{key} {measure}"), figures, own)
        for number, name in enumerate(CLASSES):
            figures = sample(seeds, selections, "share", first, number)
            row = _row(_plain(first), f"share of {name}", interval(figures, f"{key} {name}"), figures, [])
            yield about | row | {"by_seed": "; ".join(f"{value:.3f}" for value in figures.per_seed)}
        figures = sample(seeds, selections, "share", first, whole=True)
        row = _row(_plain(first), "share, whole texts too", interval(figures, f"{key} whole"), figures, [])
        yield about | row | {"by_seed": "; ".join(f"{value:.3f}" for value in figures.per_seed)}
        if key[2] == "diffmask":
            for (words, measure), figures in beside_all(seeds, first).items():
                row = _row(words, measure, interval(figures, f"{key} {measure} beside all"), figures, [])
                yield about | row | {"by_seed": "; ".join(f"{value:.3f}" for value in figures.per_seed)}
        for beside in BESIDE:
            for column in BETTER:
                apart = difference(columns[first, column], columns[beside, column], f"{key} {column}", same_model=True)
                yield about | _row(f"{_plain(first)} − {beside}", column, apart, columns[first, column], [])


def _plain(words: str) -> str:
    return words.partition("(")[0]


def _row(words: str, measure: str, found: Interval, of: Sample, own: list[Any]) -> dict[str, Any]:
    numbers = {name: f"{getattr(found, name):.4f}" for name in ("value", "low", "high")}
    by_seed = "; ".join(f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]" for each in own)
    return {
        "words": words,
        "measure": measure,
        **numbers,
        "seeds": len(of.seeds),
        "texts": len(of.ids),
        "by_seed": by_seed,
    }


def figure(rows: list[dict[str, Any]]) -> Any:
    """Sufficiency and AUPRC of selections, beside as many random and first words."""
    names = {"random": "random words", "first_words": "first words"}
    panels = []
    for column, title in (("sufficiency", "drop of ŷ with these words alone"), ("auprc", "AUPRC against rationales")):
        shown = [
            {
                "model": f"{NAMES[row['corpus']]}: {NAMES[row['selector']]}"
                + (f" of {NAMES.get(row['model'], row['model'])}" if row["selector"] == "diffmask" else ""),
                "words": names.get(row["words"], "the selection"),
                **{name: float(row[name]) for name in ("value", "low", "high")},
            }
            for row in rows
            if row["measure"] == column and row["words"] in (*names, "selection", "diffmask")
        ]
        base = alt.Chart(data_of(shown)).encode(
            alt.Y("model:N", title=None, axis=alt.Axis(labelLimit=260, ticks=False, domain=False)),
            alt.YOffset("words:N", sort=["the selection", *names.values()]),
            alt.Color("words:N", title=None, sort=["the selection", *names.values()]).scale(range=COLOURS[:3]),
        )
        x = alt.X("value:Q", title=title)
        intervals = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
        panels.append(
            alt.layer(intervals, base.mark_circle(size=50, opacity=1).encode(x), width=260, height=alt.Step(13))
        )
    return styled(alt.hconcat(*panels, spacing=16).properties(padding=THEME["padding"] | {"left": 34}))


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The page's tables, to be pasted."""
    known = {
        (*(row[name] for name in ("corpus", "model", "selector", "words", "measure")),): row
        for row in rows
    }  # fmt: skip
    for key in sorted({key[:3] for key in known if key[2] != FULL}):
        own = "diffmask" if key[2] == "diffmask" else "selection"

        def shown(words: str, measure: str, key: Key = key) -> str:
            return in_print(known[(*key, words, measure)])

        full = (
            in_print(known[(*key[:2], FULL, "all", "accuracy")]) if (*key[:2], FULL, "all", "accuracy") in known else ""
        )
        accuracy = shown(own, "right") if own == "diffmask" else shown("all", "accuracy")
        yield " | ".join(
            (
                "| kept",
                *key,
                shown(own, "share"),
                accuracy,
                full,
                shown(own, "token_f1"),
                shown(own, "comprehensiveness"),
                "",
            )
        )
        for measure in BETTER:
            yield " | ".join(
                (
                    f"| {measure}",
                    *key,
                    *(shown(words, measure) for words in (own, *BESIDE)),
                    *(shown(f"{own} − {beside}", measure) for beside in BESIDE),
                    "",
                )
            )
        yield " | ".join(("| places", *key, *(shown(own, measure) for measure in ALONE), ""))


def in_print(row: dict[str, Any]) -> str:
    """A figure with its interval, as the page has it."""
    value, low, high = (
        f"{float(row[name]):.3f}".replace("0.", ".").replace("-", "−") for name in ("value", "low", "high")
    )
    return f"{value} [{low}, {high}]".replace("−.000", ".000")


def with_others(rows: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """These rows, and those of the table that are about other models."""
    if not path.is_file():
        return rows
    with path.open(encoding="utf-8", newline="") as file:
        before = list(csv.DictReader(file))
    now = {_about_of(row) for row in rows}
    return sorted((*(row for row in before if _about_of(row) not in now), *rows), key=_about_of)


def _about_of(row: dict[str, Any]) -> Key:
    return row["corpus"], row["model"], row["selector"]


def main() -> None:
    """Write both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--to", type=Path, default=Path("docs/selections"))
    given = parser.parse_args()
    rows = with_others(list(table(runs_of(given.runs))), given.to / "selections.csv")
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    given.to.mkdir(parents=True, exist_ok=True)
    write_text(given.to / "selections.csv", out.getvalue())
    write_text(given.to / "selections.svg", svg(figure(rows)))
    print("\n".join(lines(rows)))


if __name__ == "__main__":
    main()
