"""What half precision and a GPU change, and what long contexts take: tables of docs/explanation/sources.md.

Made of ``precision.csv`` and ``precision_questions.csv`` (scripts/sources/precision.py) and of ``long.csv``
(benchmarks/sources.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from scripts.sources.files import heading, printed, read
from scripts.sources.tables import column, falls, hits, shares, verdict

from attentest.registry import name_in_words
from attentest.statistics.bootstrap import bootstrap_mean, bootstrap_paired_difference
from attentest.statistics.intervals import wilson

Row = Mapping[str, str]
SINGLE, HALF = "float32", "bfloat16"
WORDS, CITED = "shared_words", "context_cite(ablations=16)"
ATTENTION = "attention"


class Arm:
    """One precision on one kind of device."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.questions = {row["id"]: row for row in read(folder, "precision_questions.csv") if row["arm"] == name}
        self.rows = [row for row in read(folder, "precision.csv") if row["arm"] == name]
        self.methods = list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def explained(self) -> dict[str, Row]:
        """The questions whose answers were explained."""
        return {name: row for name, row in self.questions.items() if row["status"]}

    def of(self, method: str) -> list[tuple[Row, Row]]:
        """Question and row of one method."""
        return [(self.questions[row["id"]], row) for row in self.rows if row["method"] == method]

    def confirmed(self, method: str) -> list[tuple[Row, Row]]:
        """Those whose deciding source is confirmed here."""
        return [(question, row) for question, row in self.of(method) if question["confirmed"] == "1"]

    def ruling(self, method: str) -> str:
        """The verdict on one method."""
        return verdict(shares(self.of(method)), shares(self.of(WORDS)))

    def layer(self, number: int) -> str:
        """The verdict on one layer, from 1."""
        pairs = [(row, {"first": row["layers"][number - 1]}) for row in self.explained.values()]
        return verdict(shares(pairs), shares(self.of(WORDS)))

    @property
    def layers(self) -> int:
        """How many layers the model has."""
        return max(len(row["layers"]) for row in self.explained.values())


def arms(folder: Path) -> dict[str, Arm]:
    """Every precision and device there is."""
    return {name: Arm(folder, name) for name in dict.fromkeys(row["arm"] for row in read(folder, "precision.csv"))}


def same_first(one: Arm, other: Arm, method: str) -> list[bool]:
    """Whether a method puts the same source first, question by question."""
    theirs = {row["id"]: row["first"] for _, row in other.of(method)}
    return [row["first"] == theirs[row["id"]] for _, row in one.of(method) if row["id"] in theirs]


def moved(one: Arm, other: Arm) -> np.ndarray:
    """By how much the falls without each source differ, in nats."""
    both = [name for name in one.explained if name in other.explained]
    return np.concatenate([np.abs(falls(one.questions[name]) - falls(other.questions[name])) for name in both])


def ordered(arm: Arm) -> dict[tuple[str, str], int]:
    """Which of two methods has the larger share of the largest fall: 1, −1, or 0 where the interval has zero."""
    found = {}
    for first, second in combinations(sorted(arm.methods), 2):
        one, two = shares(arm.of(first)), shares(arm.of(second))
        both = [name for name in one if name in two]
        gap = bootstrap_paired_difference([one[name] for name in both], [two[name] for name in both])
        found[first, second] = int(gap.low > 0) - int(gap.high < 0)
    return found


def methods_table(folder: Path, device: str = "cuda") -> Iterator[str]:
    """Both precisions, method by method."""
    every = arms(folder)
    single, half = every[f"{device} {SINGLE}"], every[f"{device} {HALF}"]
    yield from heading(
        *("method", "same source first, %", "hits, %: float32", "bfloat16", "of the largest fall: float32"),
        *("bfloat16", "difference", "LDS: float32", "bfloat16", "verdict: float32", "bfloat16"),
    )
    for method in sorted(single.methods, key=lambda name: -column(single.of(name), "lds").value):
        same = same_first(half, single, method)
        own, theirs = shares(half.of(method)), shares(single.of(method))
        both = [name for name in own if name in theirs]
        gap = bootstrap_paired_difference([own[name] for name in both], [theirs[name] for name in both])
        cells = (
            printed(wilson(sum(same), len(same)), percent=True),
            *(printed(hits(arm.confirmed(method)), percent=True) for arm in (single, half)),
            *(printed(bootstrap_mean(list(shares(arm.of(method)).values()))) for arm in (single, half)),
            printed(gap),
            *(printed(column(arm.of(method), "lds")) for arm in (single, half)),
            *("—" if method == WORDS else arm.ruling(method) for arm in (single, half)),
        )
        yield f"| {name_in_words(method)} | " + " | ".join(cells) + " |"


def compared_table(folder: Path) -> Iterator[str]:
    """What differs between two precisions, or two devices."""
    every = arms(folder)
    yield from heading(
        *("one beside the other", "answers explained", "same source first, %", "median change of a fall, nats"),
        *("largest", "origin changed", "confirmed in both", "verdicts changed: methods", "layers"),
        "order of two methods changed",
    )
    for one, other in combinations(every.values(), 2):
        if one.name.split()[0] != other.name.split()[0] and one.name.split()[1] != other.name.split()[1]:
            continue
        both = [name for name in one.explained if name in other.explained]
        same = [each for method in one.methods for each in same_first(one, other, method)]
        origin = sum(one.questions[name]["status"] != other.questions[name]["status"] for name in both)
        certain = sum(one.questions[name]["confirmed"] == other.questions[name]["confirmed"] == "1" for name in both)
        falls_moved = moved(one, other)
        whole = len(one.explained) == len(other.explained)
        changed, layers, orders = ("—",) * 3
        if whole:
            rulings = [one.ruling(name) != other.ruling(name) for name in one.methods if name != WORDS]
            changed = f"{sum(rulings)} of {len(rulings)}"
            layered = [one.layer(number) != other.layer(number) for number in range(1, one.layers + 1)]
            layers = f"{sum(layered)} of {len(layered)}"
            pairs, theirs = ordered(one), ordered(other)
            orders = f"{sum(pairs[key] != theirs[key] for key in pairs)} of {len(pairs)}"
        cells = (
            *(str(len(both)), printed(wilson(sum(same), len(same)), percent=True)),
            *(f"{np.median(falls_moved):.4f}", f"{falls_moved.max():.2f}", f"{origin}", f"{certain}"),
            *(changed, layers, orders),
        )
        yield f"| {one.name} beside {other.name} | " + " | ".join(cells) + " |"


def answers_table(folder: Path) -> Iterator[str]:
    """What the model answers by itself."""
    every = arms(folder)
    yield from heading(
        *("where", "asked", "the same text as where they were first answered, %", "as in float32 there, %"),
        "names the planted value, %",
    )
    for arm in every.values():
        beside = every.get(f"{arm.name.split()[0]} {SINGLE}")
        single = {} if beside is None or beside is arm else beside.questions
        same = [row["same_answer"] == "1" for row in arm.questions.values()]
        there = [row["answer"] == single[name]["answer"] for name, row in arm.questions.items() if name in single]
        told = [row["names_value"] == "1" for row in arm.questions.values() if row["names_value"]]
        cells = (printed(wilson(sum(some), len(some)), percent=True) for some in (same, there, told))
        yield f"| {arm.name} | {len(same)} | " + " | ".join(cells) + " |"


def long_table(folder: Path) -> Iterator[str]:
    """Seconds and memory, by the number of tokens."""
    rows = read(folder, "long.csv")
    yield from heading(
        *("where", "tokens", "passages", "attention, s", "leave-one-out, s", "knockout, s", "ContextCite, s"),
        *("leave-one-out beside ContextCite, of 1", "knockout", "most memory held: process, GiB", "card, GiB"),
        "maps would take, GiB",
    )
    places = dict.fromkeys((row["where"], row["dtype"], row["tokens"]) for row in rows)
    for where, dtype, tokens in places:
        own = {
            row["method"]: row for row in rows if (row["where"], row["dtype"], row["tokens"]) == (where, dtype, tokens)
        }
        clock = "processor_seconds" if where.startswith("CPU") else "seconds"
        spent = {method: float(row[clock]) for method, row in own.items()}
        first, cited = spent[ATTENTION], spent.get(CITED)
        beside = (
            "—" if cited is None or name not in spent else f"{(first + spent[name]) / (first + cited):.2f}"
            for name in ("leave_one_out", "knockout")
        )
        card = max(float(row["card_GiB"]) for row in own.values())
        cells = (
            *(f"{int(tokens):,}", own[ATTENTION]["sources"]),
            *(_seconds(spent.get(name)) for name in (ATTENTION, "leave_one_out", "knockout", CITED)),
            *beside,
            f"{max(float(row['memory_GiB']) for row in own.values()):.1f}",
            f"{card:.1f}" if card else "—",
            f"{float(own[ATTENTION]['maps_GiB']):.1f}",
        )
        yield f"| {where}, {dtype} | " + " | ".join(cells) + " |"


def _seconds(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"
