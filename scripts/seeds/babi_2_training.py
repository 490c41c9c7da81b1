"""Which training learns bAbI 2 on every seed, from runs of the study babi_2_training.

    python scripts/seeds/babi_2_training.py RUNS

``babi_2_training.csv`` in the folder of Vashishth et al. has a row for every training (units, learning rate) and seed:
accuracy on dev in the epoch that was kept, as the run's record has it. What has no run in RUNS stays as it is. Test
texts are not looked at. Printed are means over seeds with Student's 95 % interval, the worst seed, and which training
the rule of the study chooses; a training that lacks seeds is passed over only where one of them is below the mark.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from seeds_table import AGREES, NOT, UNSETTLED, Row, completed, estimated, figures, once, told

from attentest.papers import PAPERS
from attentest.store.folder import runs_in

TABLE = PAPERS["vashishth_2019"].folder / "babi_2_training.csv"
KEY = ("units", "learning_rate", "seed")
FIELDS = (*KEY, "accuracy", "best_epoch", "epochs")
#: Units of an encoder as a record names it: a default is left out.
UNITS = {"bilstm(hidden=32)": "32", "bilstm(hidden=64)": "64", "bilstm": "128"}
#: What all models of the study have, and how long they waited for a better epoch.
ASKED = {"attention": "additive", "head": "softmax", "embedding": 50, "query": "separate"}
PATIENCE = 25
#: In the order in which the rule asks them; 32 units at .001 are known.
TRAININGS = (("32", "0.003"), *((units, rate) for units in ("64", "128") for rate in ("0.001", "0.003")))
REACHED, SEEDS = 0.9, 3


def rows_of(root: Path) -> Iterator[Row]:
    """A row for every trained model of the study."""
    for folder in runs_in(root):
        record = folder.record
        fields, about = record["fields"], record["finished"].get("model.safetensors")
        model, training = fields.get("model", {}), fields.get("training", {})
        if about is None or fields["corpus"]["name"] != "babi-2" or training.get("patience") != PATIENCE:
            continue
        if model.get("encoder") in UNITS and model.items() >= ASKED.items():
            best = about["epochs"][about["best_epoch"] - 1]
            chosen = (UNITS[model["encoder"]], training["learning_rate"], fields["seed"])
            figure = (f"{best['accuracy']:.4f}", best["number"], len(about["epochs"]))
            yield dict(zip(FIELDS, map(str, (*chosen, *figure)), strict=True))


def by_training(rows: Sequence[Row]) -> dict[tuple[str, str], list[float]]:
    """Accuracy on dev of every seed of every training, in the rule's order."""
    return {(u, rate): figures(rows, "accuracy", units=u, learning_rate=rate) for u, rate in TRAININGS}


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The page's table."""
    yield "| units | learning rate | accuracy on dev | worst seed |"
    yield "| ---: | ---: | ---: | ---: |"
    for (units, rate), found in by_training(rows).items():
        worst = f"{min(found):.3f}" if found else ""
        yield f"| {units} | {rate} | {told(*estimated((1.0, found)), 3)} | {worst} |".replace(" 0.", " .")


def ruled(rows: Sequence[Row]) -> str:
    """The training that the rule chooses, or whose worst seed is the best, and whether every seed reaches the mark."""
    found = by_training(rows)
    for training, seeds in found.items():
        if all(accuracy >= REACHED for accuracy in seeds):
            if len(seeds) < SEEDS:
                return f"{UNSETTLED}: {_named(training)} has {len(seeds)} of {SEEDS} seeds"
            return f"{AGREES}: every seed of {_named(training)} reaches .90 on dev: it is the training"
    if any(len(seeds) < SEEDS for seeds in found.values()):
        return f"{UNSETTLED}: none reaches .90 on every seed, and not all have {SEEDS} seeds"
    best = max(TRAININGS, key=lambda training: min(found[training]))
    return f"{NOT}: none reaches .90 on every seed; the worst seed is best with {_named(best)}, {min(found[best]):.3f}"


def _named(training: tuple[str, str]) -> str:
    return f"{training[0]} units at {training[1]}"


def main() -> None:
    """Read the runs, complete the table, print the page's and what the rule says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    made = once(rows_of(parser.parse_args().runs), KEY)
    rows = completed(TABLE, FIELDS, made, lambda row: tuple(float(row[name]) for name in KEY), KEY)
    print(*lines(rows), f"\n{ruled(rows)}", sep="\n")


if __name__ == "__main__":
    main()
