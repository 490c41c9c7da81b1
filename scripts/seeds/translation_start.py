"""What remains of a translation under uniform attention, from runs of the study translation_start.

    python scripts/seeds/translation_start.py RUNS

``translation_start.csv`` in the folder of Vashishth et al. has a row for every decoder, start state, number of the
encoder's layers and seed: BLEU with its own and with uniform weights, of all captions, without the brevity penalty, and
of the half of the captions with the fewest and with the most words. Those are the words of the German caption, between
spaces: a run keeps no other; captions of as many words go by their order. What has no run in RUNS stays as it is.

Printed are means over seeds with Student's 95 % interval, and what the rule of the study says of either decoder. Where
no translator from the summary is at hand (the study does not run Luong's again), that of ``headline.csv`` stands in.
The rule's second clause, less than from the summary, names no interval: it is asked with the whole one, too.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow.compute  # noqa: F401 - findings filter with it
from seeds_table import Row, below, completed, estimated, figures, once, told

from attentest.measures.bleu import COUNTS, corpus_bleu
from attentest.papers import PAPERS
from attentest.store.findings import Findings
from attentest.store.folder import runs_in

FOLDER = PAPERS["vashishth_2019"].folder
TABLE, KNOWN = FOLDER / "translation_start.csv", FOLDER / "headline.csv"
KEY = ("decoder", "start", "layers", "seed")
WEIGHTS = ("own", "uniform")
OF = ("", "_unpenalised", "_fewest", "_most")
FIELDS = (*KEY, *(weights + of for of in OF for weights in WEIGHTS), "texts")
#: Models of the study as a record names them, with their decoder and start, and layers of the encoder.
DECODERS = {
    ("bahdanau(hidden=512)", "additive"): ("bahdanau", "summary"),
    ("bahdanau(hidden=512, start='zeros')", "additive"): ("bahdanau", "zeros"),
    ("luong(hidden=512)", "dot(scaled=False, mapped=False)"): ("luong", "summary"),
    ("luong(hidden=512, start='zeros')", "dot(scaled=False, mapped=False)"): ("luong", "zeros"),
}
ENCODERS = {"bigru(hidden=256)": "1", "bigru(hidden=256, layers=2)": "2"}
#: The paper's 1.9 BLEU and the 3 points of its tolerance.
MARK = 4.9
#: A text that is not longer than what was written has no penalty.
UNPENALISED = np.arange(COUNTS) != 1


def rows_of(root: Path) -> Iterator[Row]:
    """A row for every run that is one of the study's models."""
    for folder in runs_in(root):
        fields, named = folder.record["fields"], folder.named("bleu")
        model = fields.get("model", {})
        decoder = DECODERS.get((model.get("decoder"), model.get("attention")))
        layers = ENCODERS.get(model.get("encoder"))
        if fields["corpus"]["name"] == "multi30k" and named and decoder and layers:
            bleu = folder.findings(named)
            found = {name: f"{figure:.4f}" for name, figure in figures_of(bleu).items()}
            chosen = (*decoder, layers, str(fields["seed"]))
            texts = str(len(bleu.rows({"weights": "own"})))
            yield {**dict(zip(KEY, chosen, strict=True)), **found, "texts": texts}


def figures_of(bleu: Findings) -> dict[str, float]:
    """BLEU under each kind of weights: of all captions, without the penalty, of the shorter and of the longer half."""
    found = {}
    for weights in WEIGHTS:
        table = bleu.rows({"weights": weights})
        counts = np.array(table["counts"].to_pylist())
        order = np.argsort([len(text.split()) for text in table["reference"].to_pylist()], kind="stable")
        fewest, most = np.split(order, [len(order) // 2])
        sums = (counts.sum(0), counts.sum(0) * UNPENALISED, counts[fewest].sum(0), counts[most].sum(0))
        found |= {weights + of: float(corpus_bleu(one)) for of, one in zip(OF, sums, strict=True)}
    return found


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The page's table, and what its lines are less than others."""
    heads = (f"{weights}{of}".replace("_", ", ") for of in OF for weights in WEIGHTS)
    yield f"| decoder, start, layers | {' | '.join(heads)} |"
    yield f"| --- |{' ---: |' * len(OF) * len(WEIGHTS)}"
    for decoder, start in DECODERS.values():
        for layers in ENCODERS.values():
            of = {"decoder": decoder, "start": start, "layers": layers}
            if figures(rows, "own", **of):
                cells = (told(*estimated((1.0, figures(rows, name, **of)))) for name in FIELDS[len(KEY) : -1])
                yield f"| {decoder}, {start}, {layers} | {' | '.join(cells)} |"


def compared(rows: Sequence[Row]) -> Iterator[str]:
    """What the study predicts of Bahdanau's translator, as differences."""
    summary, zeros, two = (
        {"decoder": "bahdanau", "start": start, "layers": layers}
        for start, layers in (("summary", "1"), ("zeros", "1"), ("summary", "2"))
    )
    for words, name, one, other in (
        ("own weights, zeros − summary", "own", zeros, summary),
        ("uniform weights, two layers − one", "uniform", two, summary),
    ):
        yield f"{words}: {told(*estimated((1.0, figures(rows, name, **one)), (-1.0, figures(rows, name, **other))))}"
    for words, name, beside in (
        ("uniform weights, without the penalty − with it", "uniform_unpenalised", "uniform"),
        ("uniform weights, fewest words − most", "uniform_fewest", "uniform_most"),
    ):
        pairs = zip(figures(rows, name, **summary), figures(rows, beside, **summary), strict=True)
        yield f"{words}: {told(*estimated((1.0, [more - less for more, less in pairs])))}"


def ruled(rows: Sequence[Row], decoder: str) -> str:
    """Whether the start state is the cause, or part of it."""
    zeros, summary = (
        figures(rows, "uniform", decoder=decoder, start=start, layers="1") for start in ("zeros", "summary")
    )
    left = estimated((1.0, zeros))
    less = estimated((1.0, zeros), (-1.0, summary or known(decoder)))
    return (
        f"{decoder}: the start state is the cause: {below(*left, MARK)} ({told(*left)} from zeros, below {MARK}); "
        f"it is part of it: {below(*less, 0)} ({told(*less)} to the summary)"
    )


def known(decoder: str) -> list[float]:
    """BLEU under uniform weights from the summary, of the page's translators of one layer."""
    with KNOWN.open(encoding="utf-8", newline="") as file:
        found = {
            row["group"]: [float(figure) for figure in row["per_seed"].split()]
            for row in csv.DictReader(file)
            if (row["corpus"], row["model"].partition("_")[0]) == ("Multi30k", decoder)
        }
    return [own + change for own, change in zip(found[""], found["uniform, infer"], strict=True)]


def main() -> None:
    """Read the runs, complete the table, print the page's and what the rule says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    made = once(rows_of(parser.parse_args().runs), KEY)
    rows = completed(TABLE, FIELDS, made, itemgetter(*KEY), KEY)
    print(*lines(rows), "", *compared(rows), "", *(ruled(rows, one) for one in ("bahdanau", "luong")), sep="\n")


if __name__ == "__main__":
    main()
