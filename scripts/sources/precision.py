"""The same answers explained in single and in half precision, on a CPU and on a GPU: does any conclusion change?

    python -m scripts.sources.precision ask MODEL --answers screened.jsonl --device cuda --dtype bfloat16 --to WORK
    python -m scripts.sources.precision collect WORK … --to docs/sources

``screened.jsonl`` is what ``scripts/sources/study.py`` wrote: every question that was asked, with its answer. ``ask``
lets the model answer all of them again in this precision (``answers.jsonl``), and explains the answers of the confirmed
ones as they stand there (``audits/``). ``collect`` makes ``precision.csv``, with a row for every machine, precision,
question and method, and ``precision_questions.csv``, with a row for every machine, precision and question.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scripts.sources.files import write
from scripts.sources.study import BASELINES, BATCH, LOOKING, PROMPT, Screened, answers

from attentest.sources.auditing import CASES, audit_sources, load_language_model
from attentest.sources.judging.measures import datamodelling, with_learnt
from attentest.sources.judging.record import Record
from attentest.sources.planting.planted import TURNS, planted_questions
from attentest.sources.prompt import Prompter
from attentest.sources.question import Question

METHODS = (*(name for name in LOOKING if name not in BASELINES), "context_cite(ablations=16)", "shared_words")
ANSWERS, ABOUT = "answers.jsonl", "about.json"
ROWS = ("arm", "id", "method", "first", "lds", "seconds")
QUESTIONS = (
    "arm",
    "id",
    "answer",
    "same_answer",
    "names_value",
    "status",
    "confirmed",
    "deciding",
    "whole",
    "drops",
    "layers",
)


def asked(path: Path, seed: int) -> list[tuple[Question, Screened]]:
    """The questions that were asked, with what was answered."""
    known = [Screened(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    return list(zip(planted_questions(len(known), seed=seed, kinds=TURNS), known, strict=True))


def ask(given: argparse.Namespace) -> None:
    """All of it, in one precision on one device."""
    if given.device == "cpu":
        torch.set_num_threads(1)
    given.to.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    model = load_language_model(given.model, device=given.device, dtype=given.dtype)
    loaded = time.perf_counter()
    prompter, pairs = Prompter(model.tokenizer, PROMPT), asked(given.answers, given.seed)
    with (given.to / ANSWERS).open("w", encoding="utf-8") as file:
        for start in range(0, len(pairs), BATCH):
            part = [question for question, _ in pairs[start : start + BATCH]]
            for question, text in zip(part, answers(model, prompter, part), strict=True):
                file.write(f"{json.dumps({'id': question.id, 'answer': text}, ensure_ascii=False)}\n")
    told = time.perf_counter()
    certain = [replace(question, answer=found.answer) for question, found in pairs if found.confirmed]
    options: dict[str, Any] = {"prompt": PROMPT, "methods": METHODS, "held_out": 16, "alternatives": False}
    audit_sources(model, certain, to=given.to / "audits", **options)
    ended = time.perf_counter()
    about = {
        "arm": f"{torch.device(given.device).type} {given.dtype}",
        "device": torch.cuda.get_device_name() if model.device.type == "cuda" else "CPU, one thread",
        **{"loading": loaded - began, "answering": told - loaded, "explaining": ended - told},
        **{"questions": len(pairs), "explained": len(certain), "torch": torch.__version__},
        "card_GiB": torch.cuda.max_memory_allocated() / 2**30 if model.device.type == "cuda" else None,
    }
    (given.to / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(about))


def collected(work: Path, answered: list[tuple[Question, Screened]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of one precision on one device, each with the file that it belongs to."""
    arm = json.loads((work / ABOUT).read_text("utf-8"))["arm"]
    (path,) = (work / "audits").glob(f"*/{CASES}")
    records = with_learnt([Record.from_json(line) for line in path.read_text("utf-8").split("\n") if line])
    known = {record.id: record for record in records}
    lines = [json.loads(line) for line in (work / ANSWERS).read_text("utf-8").splitlines()]
    for own, (question, found) in zip(lines, answered, strict=False):  # a part of them may have been asked
        assert own["id"] == question.id
        planted = question.planted
        assert planted is not None
        row: dict[str, Any] = {"arm": arm, "id": question.id, "answer": own["answer"]}
        row["same_answer"] = int(own["answer"] == found.answer)
        if planted.deciding:
            row["names_value"] = int(planted.value.lower() in own["answer"].lower())
        if question.id in known:
            record = known[question.id]
            firsts = [int(np.argmax(np.array(layer).mean(0))) for layer in record.heads]
            row |= {"status": record.status, "confirmed": int(record.confirmed), "whole": f"{record.whole:.4f}"}
            row["deciding"] = " ".join(map(str, record.deciding))
            row |= {"drops": " ".join(f"{drop:.4f}" for drop in record.drops), "layers": "".join(map(str, firsts))}
        yield "precision_questions.csv", row
    for record in records:
        for method, given in record.given.items():
            scores = np.array(given.scores)
            lds = datamodelling(scores, np.array(record.kept), np.array(record.values))
            about = {"first": int(np.argmax(scores)), "lds": f"{lds:.4f}", "seconds": f"{given.seconds:.4f}"}
            yield "precision.csv", {"arm": arm, "id": record.id, "method": method, **about}


def collect(given: argparse.Namespace) -> None:
    """The two files."""
    answered = asked(given.answers, given.seed)
    every = [row for work in given.works for row in collected(work, answered)]
    for name, fields in (("precision.csv", ROWS), ("precision_questions.csv", QUESTIONS)):
        write(given.to / name, fields, [row for file, row in every if file == name])


def main() -> None:
    """Ask or collect."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    asking, collecting = parts.add_parser("ask"), parts.add_parser("collect")
    asking.add_argument("model")
    asking.add_argument("--device", default="cpu")
    asking.add_argument("--dtype", default="bfloat16")
    asking.set_defaults(work=ask)
    collecting.add_argument("works", type=Path, nargs="+")
    collecting.set_defaults(work=collect)
    for part in (asking, collecting):
        part.add_argument("--answers", type=Path, required=True)
        part.add_argument("--seed", type=int, default=24)
        part.add_argument("--to", type=Path, required=True)
    given = parser.parse_args()
    given.work(given)


if __name__ == "__main__":
    main()
