"""Tables and figure of docs/explanation/sources.md, from what scripts/sources/study.py and peers.py wrote.

    python -m scripts.sources.tables collect WORK NAME --to docs/sources    # runs to CSV
    python -m scripts.sources.tables page --to docs/sources                 # CSV to the page's tables and figure

``questions.csv`` has a row for every question that was asked: what was planted, whether an exchange confirms it, the
fall of the log-probability without each source, and the source that every layer puts first. ``methods.csv`` has a row
for every question and method, ``peers.csv`` the same for other packages. The page is made of these files alone.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scripts.sources.figure import figure
from scripts.sources.files import heading, printed, read, write
from scripts.sources.weights import PLACES, collected_places, places_table

from attentest.presentation.charts import svg
from attentest.registry import name_in_words
from attentest.sources.auditing import CASES
from attentest.sources.judging.measures import LEARNT, datamodelling, followed, share_of_largest, with_learnt
from attentest.sources.judging.record import Record
from attentest.sources.judging.verdict import HIGH, LOW
from attentest.statistics.bootstrap import bootstrap_mean, bootstrap_paired_difference
from attentest.statistics.intervals import Interval, wilson
from attentest.store.atomic import write_text

PAGE = Path("docs/explanation/sources.md")
KINDS = ("fact", "redundant", "contradiction", "injected", "known", "untold")
CITED = "context-cite (16)"
PACKAGES = ("context-cite", "at2", "inseq")
#: What is explained is the planted value in the answer, not all of the answer.
VALUE = ", value"
QUESTIONS = (
    *("model", "id", "kind", "right", "confirmed", "follows", "status", "deciding", "injected", "drops"),
    *("moved", "layers"),
)
METHODS = ("model", "id", "method", "first", "drop_two", "lds", "passes")
PEERS = ("id", "method", "first", "drop_two", "lds", "passes", "seconds", "scores")

Row = Mapping[str, str]


def collect(work: Path, name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of the three files, from the records of one model; answers and values stand under names of their own."""
    answers = collected(work, name, "audits")
    values = collected(work, f"{name}{VALUE}", "values") if (work / "values").exists() else ([], [], [])
    rows = [row for row in values[0] if row.get("status")]
    return answers[0] + rows, answers[1] + values[1], answers[2]


def collected(work: Path, name: str, part: str) -> tuple[list[dict[str, Any]], ...]:
    """The rows of one audit."""
    (path,) = (work / part).glob(f"*/{CASES}")
    found = {record.id: record for record in map(Record.from_json, path.read_text("utf-8").splitlines())}
    asked = [json.loads(line) for line in (work / "screened.jsonl").read_text("utf-8").splitlines()]
    records = with_learnt([found[each["id"]] for each in asked if each["id"] in found])
    known = {record.id: record for record in records}
    questions = [{"model": name, **_question(each, known.get(each["id"]))} for each in asked]
    methods = [
        {"model": name, "id": record.id, "method": method, **_scored(record, np.array(given.scores), given.passes)}
        for record in records
        for method, given in record.given.items()
        if given.scores
    ]
    peers = []
    if part == "audits" and (work / "peers.jsonl").exists():
        for line in (work / "peers.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            about = _scored(known[row["id"]], np.array(row["scores"]), row["passes"])
            scores = " ".join(f"{score:.4g}" for score in row["scores"])
            peers.append(
                {
                    "id": row["id"],
                    "method": row["method"],
                    **about,
                    "seconds": f"{row['seconds']:.3f}",
                    "scores": scores,
                }
            )
    return questions, methods, peers


def _question(asked: dict[str, Any], record: Record | None) -> dict[str, Any]:
    row = {
        **{name: asked[name] for name in ("id", "kind")},
        **{name: _mark(asked[name]) for name in ("right", "confirmed")},
        "follows": _mark(asked["followed"]),
    }
    if record is None:
        return row
    firsts = [int(np.argmax(np.array(layer).mean(0))) for layer in record.heads]
    return row | {
        "status": record.status,
        "deciding": " ".join(map(str, record.deciding)),
        "injected": record.injected if record.injected >= 0 else "",
        "drops": " ".join(f"{drop:.3f}" for drop in record.drops),
        "moved": _mark(followed(record) if record.injected >= 0 else None),
        "layers": "".join(map(str, firsts)),
    }


def _mark(value: bool | None) -> str:
    return "" if value is None else str(int(value))


def _scored(record: Record, scores: np.ndarray, passes: int) -> dict[str, Any]:
    first = np.argsort(-scores, kind="stable")
    two = record.fall_without(first[:2].tolist())
    lds = datamodelling(scores, np.array(record.kept), np.array(record.values)) if len(record.values) > 2 else None
    return {
        "first": int(first[0]),
        "drop_two": "" if two is None else f"{two:.3f}",
        "lds": "" if lds is None else f"{lds:.4f}",
        "passes": passes,
    }


class Tables:
    """Every figure of the page, from the files."""

    def __init__(self, folder: Path, model: str = "smollm2") -> None:
        self.questions = {row["id"]: row for row in read(folder, "questions.csv") if row["model"] == model}
        self.rows = [row for row in read(folder, "methods.csv") if row["model"] == model]
        self.peers = read(folder, "peers.csv") if model == "smollm2" and (folder / "peers.csv").exists() else []
        self.methods = list(dict.fromkeys(row["method"] for row in self.rows))

    def of(self, method: str, rows: Sequence[Row] | None = None) -> list[tuple[Row, Row]]:
        """Question and row of one method, of confirmed questions."""
        chosen = [row for row in (self.rows if rows is None else rows) if row["method"] == method]
        pairs = [(self.questions[row["id"]], row) for row in chosen]
        return [(question, row) for question, row in pairs if question["confirmed"] == "1"]

    def layer(self, number: int) -> list[tuple[Row, Row]]:
        """The same of one layer, from 1."""
        chosen = [question for question in self.questions.values() if question["layers"]]
        return [(q, {"first": q["layers"][number - 1]}) for q in chosen if q["confirmed"] == "1"]

    @property
    def layers(self) -> int:
        """How many layers the model has."""
        return max(len(question["layers"]) for question in self.questions.values())


def falls(question: Row) -> np.ndarray:
    """The fall without each source."""
    return np.array([float(drop) for drop in question["drops"].split()])


def hits(pairs: Sequence[tuple[Row, Row]]) -> Interval:
    """How often the first source is one that decides."""
    found = [row["first"] in question["deciding"].split() for question, row in pairs]
    return wilson(sum(found), len(found))


def shares(pairs: Sequence[tuple[Row, Row]]) -> dict[str, float]:
    """Of the largest fall, the share of the first source's, by question; where the answer hangs on its sources."""
    found = {
        question["id"]: share_of_largest(np.eye(len(falls(question)))[int(row["first"])], falls(question))
        for question, row in pairs
        if question["status"] == "sources"
    }
    return {name: share for name, share in found.items() if not np.isnan(share)}


def drops(pairs: Sequence[tuple[Row, Row]]) -> Interval:
    """The fall without the first source."""
    return bootstrap_mean([falls(question)[int(row["first"])] for question, row in pairs])


def column(pairs: Sequence[tuple[Row, Row]], name: str) -> Interval:
    """The mean of a column, where it is there."""
    return bootstrap_mean([float(row[name]) for _, row in pairs if row.get(name)])


def verdict(own: Mapping[str, float], words: Mapping[str, float]) -> str:
    """The audit's rule (judging/verdict.py)."""
    share = bootstrap_mean(list(own.values()))
    both = [name for name in own if name in words]
    ahead = bootstrap_paired_difference([own[name] for name in both], [words[name] for name in both])
    if share.high < LOW:
        return "against"
    return "supports" if share.low > HIGH and ahead.low > 0 else "mixed"


def tables(folder: Path) -> dict[str, list[str]]:
    """The page's tables by name, line by line."""
    made = {"asked": list(_asked(Tables(folder)))}
    models = dict.fromkeys(row["model"] for row in read(folder, "questions.csv"))
    for model in models:
        found = Tables(folder, model)
        made[f"methods {model}"] = list(_methods(found))
        made[f"layers {model}"] = list(_layers(found))
    found = Tables(folder)
    if f"smollm2{VALUE}" in models:
        made["kinds"] = list(_kinds(Tables(folder, f"smollm2{VALUE}")))
        made["injected"] = list(_injected(Tables(folder, f"smollm2{VALUE}")))
    if found.peers:
        made["peers"] = list(_peers(found))
    if (folder / "weights.csv").exists():
        made["places"] = list(places_table(folder))
    from scripts.sources.calibration import lines_table, origins_table
    from scripts.sources.halves import answers_table, compared_table, long_table, methods_table
    from scripts.sources.sst import sst_table

    for name, file, made_of in (
        ("sst", "sst.csv", sst_table),
        ("origins", "origins.csv", origins_table),
        ("lines", "lines.csv", lines_table),
        ("long", "long.csv", long_table),
        ("halves", "precision.csv", methods_table),
        ("arms", "precision.csv", compared_table),
        ("answers", "precision.csv", answers_table),
    ):
        if (folder / file).exists():
            made[name] = list(made_of(folder))
    return made


def _asked(found: Tables) -> Iterator[str]:
    yield from heading(
        *("kind", "asked", "answer names the value", "confirmed by exchange", "examined", "hangs on its sources"),
        *("knew it anyway", "no source mattered"),
    )
    for kind in (*KINDS, "all"):
        own = [row for row in found.questions.values() if kind in (row["kind"], "all")]
        told = [row for row in own if row["right"]]
        named = (
            printed(wilson(sum(row["right"] == "1" for row in told), len(told)), percent=True) + " %" if told else "—"
        )
        status = [row["status"] for row in own if row["status"]]
        counts = (status.count(name) for name in ("sources", "known", "none"))
        confirmed = sum(row["confirmed"] == "1" for row in own) if told else "—"
        yield f"| {kind} | {len(own)} | {named} | {confirmed} | {len(status)} | " + " | ".join(map(str, counts)) + " |"


def _methods(found: Tables) -> Iterator[str]:
    yield from heading(
        *("method", "questions", "hits, %", "of the largest fall", "fall, nats", "without its first two"),
        *("LDS (questions)", "passes", "verdict"),
    )
    words = shares(found.of("shared_words"))
    for method in sorted(found.methods, key=lambda name: -hits(found.of(name)).value):
        pairs = found.of(method)
        own = shares(pairs)
        held = sum(bool(row["lds"]) for _, row in pairs)
        lds = f"{printed(column(pairs, 'lds'))} ({held})" if held else "—"
        cells = (
            *(f"{len(pairs)}", printed(hits(pairs), percent=True), printed(bootstrap_mean(list(own.values())))),
            *(printed(drops(pairs), digits=1), printed(column(pairs, "drop_two"), digits=1), lds),
            f"{np.mean([float(row['passes']) for _, row in pairs]):.0f}",
            "—" if method in ("shared_words", "last", "random") else verdict(own, words),
        )
        yield f"| {name_in_words(method)} | " + " | ".join(cells) + " |"


def _layers(found: Tables) -> Iterator[str]:
    yield from heading("layer", "hits, %", "of the largest fall", "verdict")
    words = shares(found.of("shared_words"))
    for number in range(1, found.layers + 1):
        pairs = found.layer(number)
        own = shares(pairs)
        cells = (printed(hits(pairs), percent=True), printed(bootstrap_mean(list(own.values()))), verdict(own, words))
        yield f"| {number} | " + " | ".join(cells) + " |"


def _kinds(found: Tables) -> Iterator[str]:
    kinds = KINDS[:-1]
    counted = {kind: sum(q["kind"] == kind for q, _ in found.of("attention")) for kind in kinds}
    yield from heading("hits, %", *(f"{kind} ({counted[kind]})" for kind in kinds))
    for method in ("attention", "attention(pool='top')", LEARNT, "leave_one_out", "shared_words"):
        own = (hits([(q, row) for q, row in found.of(method) if q["kind"] == kind]) for kind in kinds)
        yield f"| {name_in_words(method)} | " + " | ".join(printed(each, percent=True) for each in own) + " |"


def _injected(found: Tables) -> Iterator[str]:
    rows = [(found.questions[row["id"]], row) for row in found.rows]
    rows = [(q, row) for q, row in rows if q["injected"]]
    obeyed = len({q["id"] for q, _ in rows if q["follows"] == "1"})
    other = len({q["id"] for q, _ in rows if q["follows"] == "0" and q["confirmed"] == "1"})
    yield from heading(
        "puts the instruction's passage first, %",
        f"where it is followed ({obeyed})",
        f"where the fact decides ({other})",
    )
    for method in found.methods:
        cells = []
        for want in (("1", None), ("0", "1")):
            own = [
                row["first"] == q["injected"]
                for q, row in rows
                if row["method"] == method and q["follows"] == want[0] and want[1] in (None, q["confirmed"])
            ]
            if len(own) in (obeyed, other):
                cells.append(printed(wilson(sum(own), len(own)), percent=True))
        if len(cells) == 2:
            yield f"| {name_in_words(method)} | " + " | ".join(cells) + " |"


def _peers(found: Tables) -> Iterator[str]:
    yield from heading(
        *("method", "questions", "hits, %", "of the largest fall", "LDS", "fall, nats", "without its first two"),
        *("passes", "processor, s", "as good as ContextCite"),
    )
    cited = shares(found.of(CITED, found.peers))
    cited_rows = {question["id"] for question, _ in found.of(CITED, found.peers)}
    names = dict.fromkeys(row["method"] for row in found.peers)
    for method in sorted(names, key=lambda name: -column(found.of(name, found.peers), "lds").value):
        timed = found.of(method, found.peers)
        every = timed if len(timed) == len(cited_rows) else found.of(method)
        pairs = [(question, row) for question, row in every if question["id"] in cited_rows] or timed
        own = shares(pairs)
        both = [name for name in own if name in cited]
        behind = np.mean([cited[name] - own[name] for name in both])
        seconds = np.array([float(row["seconds"]) for _, row in timed])
        cells = (
            *(f"{len(pairs)}", printed(hits(pairs), percent=True), printed(bootstrap_mean(list(own.values())))),
            *(printed(column(pairs, "lds")), printed(drops(pairs), digits=1)),
            printed(column(pairs, "drop_two"), digits=1),
            *(f"{np.mean([float(row['passes']) for _, row in timed]):.0f}", printed(bootstrap_mean(seconds))),
            "yes" if behind <= 0.05 else "no",
        )
        yield (
            f"| {method if method.startswith(PACKAGES) else 'attentest: ' + name_in_words(method)} | "
            + " | ".join(cells)
            + " |"
        )


def with_tables(page: str, made: Mapping[str, Sequence[str]]) -> str:
    """The page with its tables made anew."""
    for name, lines in made.items():
        block = f"<!-- {name} -->\n\n" + "\n".join(lines) + f"\n\n<!-- /{name} -->"
        page = re.sub(f"<!-- {name} -->.*?<!-- /{name} -->", lambda _: block, page, flags=re.DOTALL)  # noqa: B023
    return page


def main() -> None:
    """Collect, or make the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("collect", "page"))
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--to", type=Path, default=Path("docs/sources"))
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    if given.what == "collect":
        questions, methods, peers = collect(given.work, given.name)
        for name, fields, rows in (("questions.csv", QUESTIONS, questions), ("methods.csv", METHODS, methods)):
            others = read(given.to, name) if (given.to / name).exists() else []
            kept = [row for row in others if row["model"].removesuffix(VALUE) != given.name]
            write(given.to / name, fields, kept + rows)
        if peers:
            write(given.to / "peers.csv", PEERS, peers)
        if (given.work / "weights.jsonl").exists():
            write(given.to / "weights.csv", PLACES, collected_places(given.work))
        return
    made = tables(given.to)
    write_text(PAGE, with_tables(PAGE.read_text("utf-8"), made))
    found = Tables(given.to, f"smollm2{VALUE}")
    every = {method: hits(found.of(method)) for method in found.methods}
    layers = [hits(found.layer(number)) for number in range(1, found.layers + 1)]
    write_text(given.to / "sources.svg", svg(figure(every, layers)))
    print("\n\n".join(f"{name}\n" + "\n".join(lines) for name, lines in made.items()))


if __name__ == "__main__":
    main()
