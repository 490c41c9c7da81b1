"""How often what an audit of sources says is right, where the truth is known: behind docs/explanation/sources.md.

    python -m scripts.sources.calibration ask MODEL --to docs/sources      # statuses of answers whose origin is known
    python -m scripts.sources.calibration draw --to docs/sources           # verdicts on readings of known worth

``ask`` writes ``origins.csv``: for every answer whose origin an intervention tells, what the audit says of it. ``draw``
writes ``lines.csv``: for readings of known worth, how often audits of so many questions come to each verdict.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from scripts.sources.files import heading, printed, read, write
from scripts.sources.known import FACTS
from scripts.sources.study import BATCH, PROMPT, answers
from scripts.sources.tables import VALUE, Tables, falls, shares, verdict

from attentest.sources.auditing import load_language_model
from attentest.sources.case import open_case
from attentest.sources.judging.record import examine
from attentest.sources.judging.verdict import HIGH, LOW
from attentest.sources.language import LanguageModel
from attentest.sources.planting.confirming import confirm
from attentest.sources.planting.facts import RELATIONS
from attentest.sources.planting.planted import planted_questions
from attentest.sources.prompt import Prompter
from attentest.sources.question import Planted, Question
from attentest.statistics.intervals import Interval, wilson

SEED, FACTS_ASKED, CONTEXTS = 25, 160, 2
#: What is true of an answer: it came from a passage, the model knew it anyway, or neither.
ORIGINS = ("sources", "known", "none")
SAID = {"sources": "hangs on its sources", "known": "knew it anyway", "none": "no source mattered"}
#: Questions of an audit, audits of each reading, and how often a planted reading puts the right source first.
SIZES, AUDITS, QUALITIES = (20, 50, 100), 200, tuple(round(q / 10, 1) for q in range(11))
TONES = ("supports", "mixed", "against")
ORIGIN_ROWS = ("origin", "id", "answer", "value", "status", "whole", "empty", "explained")
LINE_ROWS = ("reading", "questions", "truth", "worth", "audits", *TONES)


def known_questions() -> list[Question]:
    """Facts that models may know, told by one of five passages; each in some other company."""
    company = planted_questions(len(FACTS) * CONTEXTS, seed=SEED, kinds=("fact",))
    made = []
    for number, other in enumerate(company):
        question, value, twin, told = FACTS[number % len(FACTS)]
        assert other.planted is not None
        (place,) = other.planted.deciding
        passages = tuple(told.format(value=value) if n == place else text for n, text in enumerate(other.sources))
        planted = Planted("known", (place,), value, twin, (told.format(value=twin),))
        made.append(Question(question, passages, id=f"known-{number}", planted=planted))
    return made


def unknown_value(question: Question) -> str:
    """A value that answers the question, and that neither a passage nor its twin tells."""
    planted = question.planted
    assert planted is not None
    relation = next(each for each in RELATIONS if planted.value in each.values)
    told = " ".join((*question.sources, *planted.twins))
    return Random(question.id).choice([value for value in relation.values if value not in told])


def closed_book(model: LanguageModel, prompter: Prompter, question: Question) -> str:
    """What the model answers without any passage."""
    nothing = np.zeros(len(question.sources), dtype=bool)
    ids = model.generate(prompter.build(question, kept=nothing).ids, 14)
    return str(prompter.tokenizer.decode(ids))


def told(model: LanguageModel, prompter: Prompter) -> Iterator[tuple[str, Question]]:
    """Answers whose origin is known, by exchange, without passages, or because nobody tells them."""
    facts = list(planted_questions(FACTS_ASKED, seed=SEED, kinds=("fact", "redundant", "contradiction", "fact")))
    for question, answer in answered_in_batches(model, prompter, [*facts, *known_questions()]):
        planted = question.planted
        assert planted is not None
        place = answer.lower().find(planted.value.lower())
        if place < 0:
            continue
        own = replace(question, answer=answer, span=answer[place : place + len(planted.value)])
        found = confirm(open_case(model, prompter, replace(own, span="")), planted)
        assert found is not None
        if planted.kind != "known":
            if found.decides:
                yield "sources", own
                value = unknown_value(question)
                yield "none", replace(own, answer=answer[:place] + value + answer[place + len(own.span) :], span=value)
        elif not found.decides and planted.value.lower() in closed_book(model, prompter, question).lower():
            yield "known", own


def answered_in_batches(
    model: LanguageModel, prompter: Prompter, questions: list[Question]
) -> Iterator[tuple[Question, str]]:
    """Every question with the model's own answer."""
    for start in range(0, len(questions), BATCH):
        part = questions[start : start + BATCH]
        yield from zip(part, answers(model, prompter, part), strict=True)


def ask(path: str, dtype: str, to: Path) -> None:
    """Examine every answer whose origin is known."""
    model = load_language_model(path, device="cpu", dtype=dtype)
    prompter = Prompter(model.tokenizer, PROMPT)
    rows: list[dict[str, Any]] = []
    for origin, question in told(model, prompter):
        record = examine(open_case(model, prompter, question), [], held_out=0, alternatives=False)
        rows.append(
            {
                **{"origin": origin, "id": question.id, "answer": question.answer, "value": question.span},
                **{"status": record.status, "whole": f"{record.whole:.3f}", "empty": f"{record.empty:.3f}"},
                "explained": record.explained,
            }
        )
        write(to / "origins.csv", ORIGIN_ROWS, rows)
        print(*rows[-1].values(), flush=True)


def draw(to: Path) -> None:
    """Audits of readings of known worth: what their verdicts are."""
    found = Tables(to, f"smollm2{VALUE}")
    words = shares(found.of("shared_words"))
    asked = [q for q, _ in found.of("shared_words") if q["id"] in words]
    each = {q["id"]: np.clip(falls(q) / falls(q).max(), -1, 1) for q in asked}
    ids = np.array(list(each))
    random = np.random.default_rng(SEED)
    rows = []
    readings: dict[str, Any] = {f"right in {100 * quality:.0f} %": quality for quality in QUALITIES}
    readings |= {method: shares(found.of(method)) for method in found.methods if method != "shared_words"}
    for name, reading in readings.items():
        worth = (
            float(np.mean(list(reading.values())))
            if isinstance(reading, dict)
            else float(np.mean([reading + (1 - reading) * _others(each[i]).mean() for i in ids]))
        )
        ahead = worth > np.mean(list(words.values()))
        truth = "supports" if worth > HIGH and ahead else "against" if worth < LOW else "mixed"
        for size in SIZES:
            tones = []
            for _ in range(AUDITS):
                chosen = random.choice(ids, size)
                own = [reading[i] if isinstance(reading, dict) else _drawn(each[i], reading, random) for i in chosen]
                tones.append(
                    verdict(dict(enumerate(own)), {n: words[i] for n, i in enumerate(chosen)})  # type: ignore[arg-type]
                )
            counts = {tone: tones.count(tone) for tone in TONES}
            rows.append(
                {
                    "reading": name,
                    "questions": size,
                    "truth": truth,
                    "worth": f"{worth:.3f}",
                    "audits": AUDITS,
                    **counts,
                }
            )
            print(*rows[-1].values(), flush=True)
    write(to / "lines.csv", LINE_ROWS, rows)


def _others(shares_of: np.ndarray) -> np.ndarray:
    return np.delete(shares_of, int(shares_of.argmax()))


def _drawn(shares_of: np.ndarray, quality: float, random: np.random.Generator) -> float:
    """The share of the first source of a reading that is right so often."""
    return float(shares_of.max() if random.random() < quality else random.choice(_others(shares_of)))


def origins_table(folder: Path) -> Iterator[str]:
    """What is said of answers, by where they came from."""
    rows = read(folder, "origins.csv")
    yield from heading("where the answer came from", "answers", *SAID.values(), "right, %")
    names = {
        "sources": "a passage: its twin turns it",
        "known": "the model: it says so without passages, and the twin does not turn it",
        "none": "neither: a value that nobody tells",
    }
    for origin in ORIGINS:
        own = [row["status"] for row in rows if row["origin"] == origin]
        right = printed(wilson(own.count(origin), len(own)), percent=True)
        yield f"| {names[origin]} | {len(own)} | " + " | ".join(str(own.count(said)) for said in SAID) + f" | {right} |"


def lines_table(folder: Path) -> Iterator[str]:
    """How often verdicts are wrong, and how often they speak where the truth is clear, by size of the audit."""
    rows = read(folder, "lines.csv")
    yield from heading(
        *("questions", "*supports* where it is not true, %", "*against* where it is not true, %"),
        *("*supports* where true, %", "*against* where true, %"),
    )
    for size in SIZES:
        own = [row for row in rows if row["questions"] == str(size)]
        cells = []
        for true in (False, True):
            for tone in ("supports", "against"):
                some = [row for row in own if (row["truth"] == tone) is true]
                cells.append(_per_cent(wilson(sum(int(r[tone]) for r in some), sum(int(r["audits"]) for r in some))))
        yield f"| {size} | " + " | ".join(cells) + " |"


def _per_cent(found: Interval) -> str:
    """One digit behind the point: errors are few."""
    return printed(Interval(*(100 * each for each in found)), digits=1)


def main() -> None:
    """Ask, or draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ask", "draw"))
    parser.add_argument("model", nargs="?")
    parser.add_argument("--to", type=Path, default=Path("docs/sources"))
    parser.add_argument("--dtype", default="bfloat16")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.what == "ask":
        ask(given.model, given.dtype, given.to)
    else:
        draw(given.to)


if __name__ == "__main__":
    main()
