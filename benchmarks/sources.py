"""Sources of long contexts: seconds and the most memory held, by the number of tokens and by method.

python -m benchmarks.sources --model FOLDER [--tokens 1000 4000 8000] [--dtype bfloat16] [--sources 5] [--csv FILE]
python -m benchmarks.sources --model FOLDER --device cuda --dtype float32 bfloat16 --rounds 3 --csv FILE
python -m benchmarks.sources --model FOLDER --device-map auto --dtype bfloat16

A question stands behind made-up passages of that many tokens; attention is read at all layers and heads, and every
other method is asked beyond that pass. On a CPU every length has a process of its own, whose memory is counted, on one
thread; on a GPU one process goes through all, and the card's memory is counted as well. Beside it stands what maps of
all tokens by all tokens, of every layer and head, would take, which are never made.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import ended
from benchmarks.measuring import forget_peak, peak

#: What is asked after attention was read, which comes first and is what all begin with.
METHODS = ("leave_one_out", "knockout", "context_cite(ablations=16)")
FIELDS = (
    *("where", "dtype", "tokens", "sources", "method", "passes", "seconds", "processor_seconds"),
    *("memory_GiB", "card_GiB", "loaded_GiB", "maps_GiB", "scores"),
)


def passages(tokenizer: Any, tokens: int, count: int) -> list[str]:
    """So many passages of made-up facts with so many tokens together."""
    from attentest.sources.planting.planted import planted_questions

    facts = iter(text for question in planted_questions(10_000, sources=12) for text in question.sources)
    made = []
    for _ in range(count):
        told: list[str] = []
        length = 0
        while length < tokens // count:
            told.append(next(facts))
            length += len(tokenizer(f" {told[-1]}", add_special_tokens=False)["input_ids"])
        made.append(" ".join(told))
    return made


def question_of(language: Any, tokens: int, count: int) -> Any:
    """A question whose prompt has about so many tokens."""
    from attentest.sources.question import Question

    texts = passages(language.tokenizer, tokens - 60, count)
    return Question("In which city was Anna born?", tuple(texts), "Anna was born in Lisbon.", id="long")


class Spent:
    """Seconds and memory from here on."""

    def __init__(self) -> None:
        import torch

        self.card = torch.cuda.is_available() and torch.cuda.is_initialized()
        if self.card:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        forget_peak()
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def told(self) -> dict[str, float]:
        """What was spent."""
        import torch

        if self.card:
            torch.cuda.synchronize()
        found = {"seconds": time.perf_counter() - self.wall, "processor_seconds": time.process_time() - self.cpu}
        cards = range(torch.cuda.device_count()) if self.card else ()
        card = sum(torch.cuda.max_memory_allocated(each) for each in cards) / 2**30
        return found | {"memory_GiB": peak() / 1024, "card_GiB": card}


def measured(language: Any, tokens: int, count: int, methods: list[str], rounds: int) -> list[dict[str, Any]]:
    """One length: attention, then every method beyond it; medians of the rounds, the largest memory."""
    from attentest.sources.case import open_case
    from attentest.sources.methods import METHODS as REGISTRY
    from attentest.sources.prompt import Prompter

    prompter, question = Prompter(language.tokenizer), question_of(language, tokens, count)
    found: dict[str, list[dict[str, float]]] = {}
    said: dict[str, Any] = {}
    config = language.model.config
    for _ in range(rounds):
        first = open_case(language, prompter, question)
        spent = Spent()
        said["attention"] = REGISTRY.parse("attention").score(first)
        found.setdefault("attention", []).append(spent.told())
        for name in methods:
            # A case of its own: what another method left out is not known to it.
            case = open_case(language, prompter, question)
            vars(case)["attended"] = first.attended
            spent = Spent()
            said[name] = REGISTRY.parse(name).score(case)
            found.setdefault(name, []).append(spent.told())
    length = len(first.prompt.ids)
    maps = config.num_hidden_layers * config.num_attention_heads * length**2 * language.model.dtype.itemsize / 2**30
    about = {"tokens": length, "sources": count, "maps_GiB": maps}
    return [
        about
        | {"method": name, "passes": said[name].cost.passes}
        | {"scores": " ".join(f"{score:.4g}" for score in said[name].scores)}
        | {key: statistics.median(row[key] for row in rows) for key in ("seconds", "processor_seconds")}
        | {key: max(row[key] for row in rows) for key in ("memory_GiB", "card_GiB")}
        for name, rows in found.items()
    ]


def here(given: argparse.Namespace, dtype: str, lengths: list[int]) -> Iterator[dict[str, Any]]:
    """Some lengths in this process."""
    import torch

    from attentest.sources.auditing import load_language_model

    torch.set_num_threads(given.threads)
    forget_peak()
    if given.device != "cpu" and torch.cuda.is_available():
        torch.cuda.init()
    language = load_language_model(given.model, device=given.device, dtype=dtype, device_map=given.device_map)
    loaded, name = peak() / 1024, _machine(language.device, given)
    if language.device.type == "cuda":
        measured(language, 200, given.sources, given.method, 1)  # kernels are loaded when they are first asked for
    for tokens in lengths:
        for row in measured(language, tokens, given.sources, given.method, given.rounds):
            yield {"where": name, "dtype": dtype, **row, "loaded_GiB": loaded}


def _machine(device: Any, given: argparse.Namespace) -> str:
    import torch

    threads = f"{given.threads} thread{'s' if given.threads > 1 else ''}"
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU ({platform.machine()}), {threads}"
    return f"{name}, device_map={given.device_map}" if given.device_map else name


def main() -> None:
    """Every length in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1000, 4000, 8000])
    parser.add_argument("--sources", type=int, default=5)
    parser.add_argument("--dtype", nargs="+", default=["bfloat16"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--device-map")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--method", nargs="+", default=list(METHODS))
    parser.add_argument("--csv", type=Path, help="Rows are added to this file.")
    parser.add_argument("--one", action="store_true", help="All lengths in this process, as JSON.")
    given = parser.parse_args()
    rows = []
    for row in rows_of(given):
        rows.append(row)
        if given.one:
            print(json.dumps(row), flush=True)
        elif given.csv is not None:
            added(given.csv, row)
    if not given.one:
        shown = Table(*FIELDS[:-1])
        for row in rows:
            shown.add_row(
                *(f"{row[key]:,.2f}" if isinstance(row[key], float) else str(row[key]) for key in FIELDS[:-1])
            )
        Console(width=200).print(shown)


def rows_of(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every precision and length in turn, here or in processes of their own."""
    for dtype in given.dtype:
        if given.one or given.device != "cpu" or given.device_map:
            yield from here(given, dtype, given.tokens)
            continue
        for tokens in given.tokens:
            command = [sys.executable, "-m", "benchmarks.sources", "--model", given.model, "--tokens", str(tokens)]
            command += ["--sources", str(given.sources), "--dtype", dtype, "--threads", str(given.threads), "--one"]
            command += ["--rounds", str(given.rounds), "--method", *given.method]
            ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            yield from (json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{"))


def added(path: Path, row: Mapping[str, Any]) -> None:
    """The row is in the file as soon as it is known."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow({key: _rounded(row[key]) for key in FIELDS})


def _rounded(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


if __name__ == "__main__":
    ended(main)
