"""The tables and the figure of docs/explanation/limits-of-saliency.md, from the runs of the studies limits*.

    python scripts/limits/limits.py RUNS --to docs/limits     # figures of the runs, then the page
    python scripts/limits/limits.py --page                    # the page alone, from the committed table

``limits.csv`` has every figure as a mean over seeds with a 95 % interval for which seeds and texts (of edits: pairs)
are drawn again, and the figure of every seed. Parts without a run in RUNS stay as they are. The page's tables stand
between marks, and are put there.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from limits_interactions import of_models
from limits_judged import BASELINES, BY_SNLI, FRAGILITY, GRADIENT, RELEVANCE
from limits_page import figure, put_tables

from attentest.data.batches import Encoded, bucketed
from attentest.papers.studies import built_in
from attentest.presentation.charts import svg
from attentest.runs.model import train
from attentest.runs.removal import ranks_of, without_top
from attentest.runs.trained import TrainedRun
from attentest.statistics.intervals import Interval
from attentest.statistics.resampling import Sample, difference, interval, means
from attentest.store.atomic import write_text
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder, runs_in
from attentest.studies.plan import plan
from attentest.studies.study import read_study

FIELDS = ("part", "corpus", "explainer", "at", "measure", "value", "low", "high", "seeds", "texts", "by_seed")
LIMITS, EDITS, ROAR = ("randomisation", "edits", "roar")
#: What is compared in each of the parts on fragility.
COMPARED = {
    FRAGILITY: (("attention", "gradient_x_input"),),
    GRADIENT: (("attention", "gradient"), ("gradient", "gradient_x_input")),
    RELEVANCE: (
        *((e, "gradient_x_input") for e in ("smooth_grad", "lrp", "deep_lift")),
        *(("attention", e) for e in ("lrp", "deep_lift")),
        ("attention_x_gradient", "attention"),
    ),
}
WHOLE = "given to the model of whole texts"

Row = dict[str, Any]
#: One figure of one text: its id, the text it is drawn with, the figure.
Value = tuple[str, str, float]


@dataclass(frozen=True)
class Figures:
    """The values of several seeds, and where they stand in the table."""

    part: str
    corpus: str
    explainer: str
    at: str
    measure: str
    sample: Sample

    @property
    def key(self) -> str:
        """What its seeds are drawn by: the same for all figures of the same models."""
        return f"{self.part} {self.corpus}"

    def row(self, explainer: str = "", at: str = "", found: Interval | None = None) -> Row:
        """As it stands in the table; of a difference, with what it is of."""
        shown = found or interval(self.sample, self.key)
        own = "" if found else "; ".join(f"{value:.3f}" for value in self.sample.per_seed)
        about = (self.part, self.corpus, explainer or self.explainer, at or self.at, self.measure)
        numbers = (f"{value:.4f}" for value in shown)
        counts = (len(self.sample.seeds), len(set(self.sample.texts or self.sample.ids)))
        return dict(zip(FIELDS, (*about, *numbers, *counts, own), strict=True))

    def less(self, other: Figures, *, same_model: bool = True, at: str = "") -> Row:
        """This − the other."""
        apart = difference(self.sample, other.sample, self.key, same_model=same_model)
        return self.row(f"{self.explainer} − {other.explainer}", at, apart)


def sample(seeds: Mapping[int, Sequence[Value]]) -> Sample:
    """Values by seed and text; a text that a seed did not judge has none."""
    texts = {name: text for values in seeds.values() for name, text, _ in values}
    ids = tuple(sorted(texts))
    place = {name: number for number, name in enumerate(ids)}
    table = np.full((len(seeds), len(ids)), np.nan)
    for line, seed in zip(table, sorted(seeds), strict=True):
        for name, _, value in seeds[seed]:
            line[place[name]] = value
    judged = int(np.isfinite(table).sum())
    drawn = tuple(texts[name] for name in ids)
    return Sample(ids, tuple(sorted(seeds)), means(table), judged, table.size - judged, texts=drawn)


def values(findings: Findings, column: str, where: Mapping[str, str], together: str = "id") -> list[Value]:
    """One column, text by text; what was not judged is left out."""
    table = findings.rows(where)
    columns = (table[name].to_pylist() for name in ("id", together, column, "not_judged"))
    return [
        (str(name), str(text), float(value))
        for name, text, value, why in zip(*columns, strict=True)
        if value is not None and why is None
    ]


Runs = dict[tuple[str, str], dict[int, RunFolder]]


def runs_of(root: Path) -> dict[str, Runs]:
    """Finished runs by study, by corpus and removal (of fragility: by what was asked), by seed."""
    found: dict[str, Runs] = {name: defaultdict(dict) for name in (LIMITS, EDITS, FRAGILITY, ROAR)}
    for folder in runs_in(root):
        fields = folder.record["fields"]
        removal = fields.get("removal", {}).get("explainer", "")
        named = [name for name in (LIMITS, EDITS, FRAGILITY) if folder.named(name)]
        if removal and folder.named("instances"):
            named = [ROAR]
        for name in named:
            which = str(folder.named(name)) if name == FRAGILITY else removal
            corpus = fields["corpus"]["name"]
            if name == EDITS and "from" in fields["training"]:
                corpus = BY_SNLI
            found[name][corpus, which][fields["seed"]] = folder
    return found


def asked(folders: Mapping[int, RunFolder], challenge: str) -> dict[int, Findings]:
    """The findings of a challenge, by seed."""
    return {seed: folder.findings(str(folder.named(challenge))) for seed, folder in sorted(folders.items())}


def figures(
    of: Mapping[int, Findings],
    about: tuple[str, str, str, str],
    column: str,
    where: Mapping[str, str],
    together: str = "id",
) -> Figures:
    """One measure of all seeds."""
    part, corpus, explainer, at = about
    read = {seed: values(findings, column, where, together) for seed, findings in of.items()}
    return Figures(part, corpus, explainer.partition("(")[0], at, column, sample(read))


def named(of: Mapping[int, Findings], column: str) -> list[str]:
    """The explainers that were asked, in order."""
    measures = next(iter(of.values())).measures
    return list(dict.fromkeys(m.where["explainer"] for m in measures if m.column == column and "explainer" in m.where))


def of_limits(runs: Runs) -> Iterator[Row]:
    """Accuracy, randomised weights and a moved origin."""
    for (corpus, _), folders in sorted(runs.items()):
        yield figures(asked(folders, "instances"), ("accuracy", corpus, "", ""), "correct", {}).row()
        random, moved = asked(folders, "randomisation"), asked(folders, "input_invariance")
        for explainer in named(random, "spearman"):
            for layer in ("head", "attention", "encoder", "everything"):
                where = {"explainer": explainer, "layer": layer}
                yield figures(random, ("randomisation", corpus, explainer, layer), "spearman", where).row()
        for explainer in named(moved, "invariant"):
            for column in ("invariant", "spearman", "top_changed"):
                about = ("input_invariance", corpus, explainer, "")
                yield figures(moved, about, column, {"explainer": explainer}).row()


def of_edits(runs: Runs) -> Iterator[Row]:
    """How often predictions follow, and average precision of explainers beside chance, first words and one another."""
    for (corpus, _), folders in sorted(runs.items()):
        of, revised = asked(folders, "edits"), {"asked": "prediction", "version": "revised"}
        yield figures(asked(folders, "instances"), ("accuracy", corpus, "", ""), "correct", {}).row()
        for column in ("followed", "flipped"):
            yield figures(of, ("edits", corpus, "", ""), column, revised, "pair").row()
        names = named(of, "average_precision")
        every: dict[tuple[str, str], Figures] = {}
        for outcome in ("followed", "not followed"):
            for explainer in names:
                where = {"asked": "explanation", "explainer": explainer, "outcome": outcome}
                about = ("edits", corpus, explainer, outcome)
                for column in ("average_precision", "hit"):
                    found = figures(of, about, column, where, "pair")
                    yield found.row()
                    if column == "average_precision":
                        every[found.explainer, outcome] = found
            where = {"asked": "explanation", "explainer": names[0], "outcome": outcome}
            chance = figures(of, ("edits", corpus, "chance", outcome), "chance", where, "pair")
            every["chance", outcome] = replace(chance, measure="average_precision")
            yield every["chance", outcome].row()
        plain = [name.partition("(")[0] for name in names]
        for name in (name for name in plain if name not in BASELINES):
            own = every[name, "followed"]
            for other in ("chance", "first_words", *(rest for rest in plain if rest not in (name, *BASELINES))):
                yield own.less(every[other, "followed"])
            yield own.less(every[name, "not followed"], at="followed − not followed")


def of_fragility(runs: Runs) -> Iterator[Row]:
    """How much of the top words is left, and by how much the explainers differ that the part compares."""
    for (corpus, _), folders in sorted(runs.items()):
        of = asked(folders, "fragility")
        names = named(of, "overlap")
        part = GRADIENT if "gradient" in names else RELEVANCE if "lrp" in names else FRAGILITY
        sizes = list(dict.fromkeys(m.where["size"] for m in next(iter(of.values())).measures))
        for way in ("searched", "random"):
            for size in sizes:
                every = {}
                for explainer in names:
                    where = {"explainer": explainer, "way": way, "size": size}
                    for column in ("overlap", "kept"):
                        found = figures(of, (part, corpus, explainer, f"{way} {size}"), column, where)
                        yield found.row()
                        every[found.explainer, column] = found
                for one, other in COMPARED[part]:
                    yield every[one, "overlap"].less(every[other, "overlap"])


def of_roar(runs: Runs, gaps: Mapping[tuple[str, str], Mapping[int, Sequence[Value]]]) -> Iterator[Row]:
    """Accuracy of models trained with gaps, beside random gaps, and beside models of whole texts given the gaps."""
    every = {
        (corpus, removal): figures(asked(folders, "instances"), ("roar", corpus, removal, "retrained"), "correct", {})
        for (corpus, removal), folders in sorted(runs.items())
    }
    for (corpus, removal), retrained in every.items():
        yield retrained.row()
        whole = replace(retrained, at=WHOLE, sample=sample(gaps[corpus, removal]))
        yield whole.row()
        apart = difference(retrained.sample, whole.sample, retrained.key, same_model=False)
        yield retrained.row(at="retrained − whole", found=apart)
        if removal != "random":
            yield retrained.less(every[corpus, "random"], same_model=False)


@torch.no_grad()
def given_gaps(root: Path) -> dict[tuple[str, str], dict[int, list[Value]]]:
    """Whether the models of whole texts are right of the texts with gaps, by corpus and removal, seed and text."""
    found: dict[tuple[str, str], dict[int, list[Value]]] = defaultdict(dict)
    for planned in plan(read_study(built_in()["limits_roar"]), root):
        run = planned.run
        if planned.state != "done" or not isinstance(run, TrainedRun) or run.removal is None:
            continue
        first = replace(run, removal=None, challenges=(), time=0.0)
        folder = train(first, root)
        model, vocabulary = first.load(folder.path, torch.device("cpu"))
        ranks = ranks_of(folder, model, vocabulary, run.corpus, run.removal.explainer)
        split = without_top(run.corpus, ranks, run.removal)["test"]
        ids = split.table["id"].to_pylist()
        right = [
            (str(ids[row]), str(ids[row]), float(hit))
            for batches in bucketed(Encoded.of(split, vocabulary))
            for batch in batches
            for row, hit in zip(
                batch.rows.tolist(), (model.read(batch).predicted == batch.labels).tolist(), strict=True
            )
        ]
        found[run.corpus.name, run.removal.explainer][run.seed] = right
    return found


def of_runs(root: Path) -> Iterator[Row]:
    """Every row."""
    runs = runs_of(root)
    yield from of_limits(runs[LIMITS])
    yield from of_edits(runs[EDITS])
    yield from of_fragility(runs[FRAGILITY])
    yield from of_roar(runs[ROAR], given_gaps(root))
    for (measure, corpus), seeds in sorted(of_models(root).items()):
        yield Figures("interactions", corpus, "pairwise_occlusion", "", measure, sample(seeds)).row()


def kept(path: Path) -> list[Row]:
    """The rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def completed(before: list[Row], found: list[Row]) -> list[Row]:
    """What was found, in the places of what a part and a corpus had before; what has no run here stays as it is."""
    order = {key: place for place, key in enumerate(dict.fromkeys(map(_of, [*before, *found])))}
    new = {_of(row) for row in found}
    return sorted([*(row for row in before if _of(row) not in new), *found], key=lambda row: order[_of(row)])


def _of(row: Row) -> tuple[str, str]:
    return str(row["part"]), str(row["corpus"])


def text_of(rows: Iterable[Row]) -> str:
    """As CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def main() -> None:
    """Write the table, the figure and the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="?")
    parser.add_argument("--to", type=Path, default=Path("docs/limits"))
    parser.add_argument("--page", action="store_true", help="from the table as it is")
    given = parser.parse_args()
    table = given.to / "limits.csv"
    if not given.page:
        if given.runs is None:
            parser.error("name the folder of runs, or --page")
        given.to.mkdir(parents=True, exist_ok=True)
        write_text(table, text_of(completed(kept(table) if table.is_file() else [], list(of_runs(given.runs)))))
    rows = kept(table)
    write_text(given.to / "limits.svg", svg(figure(rows)))
    page = given.to.parent / "explanation" / "limits-of-saliency.md"
    if page.is_file():
        write_text(page, put_tables(page.read_text("utf-8"), rows))


if __name__ == "__main__":
    main()
