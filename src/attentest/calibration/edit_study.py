"""What people's edits say of attention, beside what importance says of the same texts: a row for each model.

python -m attentest.calibration.edit_study docs/calibration/edits.csv
trains small models on `cad_imdb`, reviews and their revisions, which must be on this machine. Those that are trained on
`cad_snli` alone learn too little for an edit to change what they say.
"""

from __future__ import annotations

import csv
import io
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from attentest.calibration.edits import edit_truth, twins_of
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.runs.loaded import Loaded
from attentest.store.atomic import make_folder, write_text

__all__ = ["EditRow", "edit_rows", "edit_table"]

CORPORA = ("cad_imdb",)
ENCODERS = ("bilstm(hidden=32)", "average(hidden=64)", "convolution(filters=32)")
TRAINING = {"embedding": 64, "learning_rate": 0.003, "epochs": 8, "patience": 2}


@dataclass(frozen=True)
class EditRow:
    """A model: what attention's top words hold of what edits did, and what importance says that they hold."""

    corpus: str
    encoder: str
    accuracy: float
    #: Texts with a twin, those whose prediction the edit changes, and those that could be judged.
    texts: int
    flips: int
    judged: int
    #: The mean over judged texts, with its standard error; 0 is a blind choice, 1 the best.
    truth: float
    error: float
    #: What importance says of the same texts.
    delete: float
    mask: float


def edit_rows(
    corpora: Iterable[str] = CORPORA, encoders: Iterable[str] = ENCODERS, *, texts: int = 120, seed: int = 0
) -> Iterator[EditRow]:
    """A row for every corpus and encoder; each model is trained, and examined on so many texts."""
    encoders = tuple(encoders)
    for corpus in corpora:
        for encoder in encoders:
            with tempfile.TemporaryDirectory() as scratch:
                yield _row(corpus, encoder, texts, seed, Path(scratch))


def _row(corpus: str, encoder: str, texts: int, seed: int, scratch: Path) -> EditRow:
    challenges = ["importance(texts=0, erasures=('delete', 'mask'))"]
    run = describe_run(corpus=corpus, encoder=encoder, challenges=challenges, limit=texts, seed=seed, **TRAINING)
    folder = execute(run, scratch)
    loaded, names = Loaded.of(folder), run.examined().ids
    twins = twins_of(run.corpus["test"])
    chosen = [place for place, name in enumerate(names) if name in twins]
    found = edit_truth(loaded.model, loaded.vocabulary, [twins[names[place]] for place in chosen], seed=seed)
    table = folder.findings(folder.named("importance") or "").rows({"explainer": "attention"})
    judged = ~np.isnan(found.held)

    def held(erasure: str) -> float:
        values = table.filter(pc.equal(table["erasure"], erasure))["held"].to_numpy(zero_copy_only=False)
        return _rounded(np.nanmean(values[np.array(chosen)[judged]].astype(float)))

    correct = folder.findings("instances").table["correct"].to_numpy(zero_copy_only=False)
    count = int(judged.sum())
    truth = found.held[judged]
    return EditRow(
        corpus,
        encoder.partition("(")[0],
        _rounded(correct.mean()),
        len(chosen),
        int(found.flips.sum()),
        count,
        _rounded(truth.mean()),
        _rounded(truth.std(ddof=1) / np.sqrt(count)),
        held("delete"),
        held("mask"),
    )


def _rounded(value: float) -> float:
    return round(float(value), 3)


def edit_table(rows: Iterable[EditRow]) -> str:
    """The rows as CSV, with a line of names."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [field.name for field in fields(EditRow)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return out.getvalue()


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/calibration/edits.csv")
    table = edit_table(edit_rows())
    make_folder(target.parent)
    write_text(target, table)
    print(table, end="")
