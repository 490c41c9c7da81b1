"""What every token of one text predicts, for several runs in one figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from attentest.challenges.token_predictions.curves import Curve, Text, curves_chart
from attentest.errors import InputError, UnknownName
from attentest.store.folder import RunFolder

__all__ = ["overlay"]

#: Ids that an error names.
NAMED = 8


def overlay(runs: Mapping[str, RunFolder], text: str = "", choice: str = "") -> Any:
    """A chart of one text: a line for each run, by the names that they are given here.

    ``text`` is an id; "" is the first text that all runs keep. ``choice`` is the class whose probability is drawn; ""
    is the one that the first run predicts.
    """
    if not runs:
        raise InputError("No run is named: give at least one to draw.")
    kept = {name: _kept(name, folder) for name, folder in runs.items()}
    common = [key for key in next(iter(kept.values())) if all(key in texts for texts in kept.values())]
    if not common:
        raise InputError(
            f"No text is kept by all of {', '.join(runs)}: they must be of one corpus and be asked token_predictions."
        )
    if text and text not in common:
        ids = ", ".join(common[:NAMED])
        raise InputError(f"Text {text!r} is not kept by all of {', '.join(runs)}. Give one of {ids} …")
    key = text or common[0]
    words = {tuple(texts[key][0]) for texts in kept.values()}
    if len(words) > 1:
        raise InputError(f"Text {key!r} is not cut into the same words in all runs: they cannot be drawn over it.")
    own = {name: _own(folder, key) for name, folder in runs.items()}
    number, called = _class(next(iter(runs.values())), next(iter(own.values())), choice)
    curves = [
        Curve(name, np.asarray(texts[key][1])[:, number].tolist(), own[name][number]) for name, texts in kept.items()
    ]
    return curves_chart([Text(next(iter(words)), f"{key}: {called}", curves)])


def _kept(name: str, folder: RunFolder) -> dict[str, tuple[list[str], list[list[float]]]]:
    """The words and the tokens' distributions of every text that a run keeps them of."""
    found = folder.named("token_predictions")
    if found is None:
        raise InputError(f"Run {name!r} was not asked token_predictions: run it again with that challenge.")
    table = folder.findings(found).table.select(["id", "words", "alone"])
    rows = table.filter(pc.is_valid(table["alone"])).to_pylist()
    return {row["id"]: (row["words"], row["alone"]) for row in rows}


def _own(folder: RunFolder, key: str) -> list[float]:
    """The distribution that the run predicts for the whole text."""
    table = folder.findings("instances").table
    (row,) = table.filter(pc.equal(table["id"], key)).select(["probabilities"]).to_pylist()
    return [float(chance) for chance in row["probabilities"]]


def _class(folder: RunFolder, own: list[float], choice: str) -> tuple[int, str]:
    """The class by its number and name."""
    names = [str(name) for name in folder.record["fields"].get("corpus", {}).get("classes", [])]
    if choice and choice not in names:
        raise UnknownName("class", choice, names)
    number = names.index(choice) if choice else int(np.argmax(own))
    return number, names[number] if number < len(names) else f"class {number}"
