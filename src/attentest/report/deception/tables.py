"""Deceptive models and their honest twins in the terminal: the answer first, then a row for each weight."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from attentest.report.deception.twins import LITTLE, Kind, Twin, Twins
from attentest.statistics.intervals import wilson

__all__ = ["confusion", "deception_table", "sentence"]

#: The answers from the worst for attention to the best, and the use that the table is about: which words mattered.
ANSWERS, USE = ("no", "with care", "yes", "cannot say"), "reason"


def confusion(twins: Twins, use: str = USE) -> dict[Kind, Counter[str]]:
    """How often each kind of model got each answer."""
    found: dict[Kind, Counter[str]] = {"honest": Counter(), "deceptive": Counter(), "neither": Counter()}
    for one in twins.models:
        found[twins.kind(one)][one.answers.get(use, "cannot say")] += 1
    return found


def sentence(twins: Twins) -> str:
    """How often the verdict, which sees neither λ nor the marks, says no."""
    counts = confusion(twins)
    deceptive, honest = (sum(counts[kind].values()) for kind in ("deceptive", "honest"))
    if not deceptive:
        return _none_deceptive(twins)
    caught, spared = counts["deceptive"]["no"], honest - counts["honest"]["no"]
    share, low, high = (100 * value for value in wilson(caught, deceptive))
    said = f"The verdict says no of {caught} of {deceptive} deceptive models ({share:.0f} % [{low:.0f}, {high:.0f}])"
    return f"{said}, and does not of {spared} of {honest} honest ones."


def _none_deceptive(twins: Twins) -> str:
    """That none was, or that it cannot be told because no exchange could be judged."""
    hidden = [one for one in twins.models if one.weight and one.mass <= LITTLE]
    unknown = sum(math.isnan(one.followed) for one in hidden)
    if unknown:
        return (
            f"Whether models deceive cannot be told: for {unknown} of the {len(hidden)} that hide the marked words, no "
            "text could be given those of one that is decided otherwise. Examine more texts, or mark more words."
        )
    return "No model was deceptive: none both hides the marked words and uses them as its twin does."


def deception_table(twins: Twins) -> RenderableType:
    """The sentence, a table for each corpus and model with a row for each weight, and what the columns mean."""
    tables: list[RenderableType] = []
    for group, every in groupby(twins.models, key=lambda one: one.group):
        table = Table(box=None, pad_edge=False)
        for name in ("λ", "seeds", "accuracy", "mass", "follows", "others", "deceptive", "verdict"):
            table.add_column(name, justify="left" if name == "verdict" else "right")
        for _, models in groupby(every, key=lambda one: (one.weight, one.heads)):
            table.add_row(*_row(twins, list(models)))
        corpus, *parts = group
        tables += [Text(), Text.assemble((corpus, "bold"), f" · {', '.join(parts)}"), table]
    about = (
        "mass: of the attention on marked words; follows, others: how often the decision follows exchanged words, "
        f"marked and others; deceptive: at most {LITTLE:.0%} of the mass, and follows as its twin does, more often "
        "than not. Verdict: may attention say which words mattered?"
    )
    return Group(Text(sentence(twins)), *tables, Text(), Text(about, style="dim"))


def _row(twins: Twins, models: Sequence[Twin]) -> list[Text]:
    weight, heads = models[0].weight, models[0].heads
    kinds = Counter(twins.kind(one) for one in models)
    answers = Counter(one.answers.get(USE, "cannot say") for one in models)
    cells = [
        f"{weight:g}{' (max)' if heads == 'max' else ''}",
        str(len(models)),
        *(_mean([getattr(one, name) for one in models]) for name in ("accuracy", "mass", "followed", "rest_followed")),
        "–" if weight == 0 else f"{kinds['deceptive']} of {len(models)}",
        ", ".join(f"{answer} {answers[answer]}" for answer in ANSWERS if answers[answer]),
    ]
    return list(map(Text, cells))


def _mean(values: Sequence[float]) -> str:
    known = [value for value in values if not math.isnan(value)]
    return f"{sum(known) / len(known):.3f}" if known else "–"
