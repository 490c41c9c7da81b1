"""Sources of long contexts: seconds and the most memory held, by the number of tokens.

python -m benchmarks.sources --model FOLDER [--tokens 1000 4000 8000] [--dtype bfloat16] [--sources 4]

Every length has a process of its own. A question stands behind made-up passages of that many tokens; attention is read
at all layers and heads, then every passage is left out. Beside it stands what a map of all tokens by all tokens of
every layer and head would take, which is never made.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import ended

METHODS = ("attention", "leave_one_out")


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


def measured(model: str, tokens: int, count: int, dtype: str, methods: list[str]) -> dict[str, float]:
    """One length, in this process."""
    import torch

    from attentest.sources.auditing import load_language_model
    from attentest.sources.case import open_case
    from attentest.sources.methods import METHODS as REGISTRY
    from attentest.sources.prompt import Prompter
    from attentest.sources.question import Question

    torch.set_num_threads(1)
    language = load_language_model(model, device="cpu", dtype=dtype)
    texts = passages(language.tokenizer, tokens - 60, count)
    question = Question("In which city was Anna born?", tuple(texts), "Anna was born in Lisbon.", id="long")
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    case = open_case(language, Prompter(language.tokenizer), question)
    config = language.model.config
    maps = config.num_hidden_layers * config.num_attention_heads * len(case.prompt.ids) ** 2 * 2
    found: dict[str, float] = {"tokens": len(case.prompt.ids), "loaded": loaded, "maps": maps / 2**30}
    for name in methods:
        cpu, wall = time.process_time(), time.perf_counter()
        REGISTRY.parse(name).score(case)
        found[f"{name}, processor s"] = time.process_time() - cpu
        found[f"{name}, s"] = time.perf_counter() - wall
        found[f"{name}, GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found


def main() -> None:
    """Every length in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1000, 4000, 8000])
    parser.add_argument("--sources", type=int, default=4)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--method", nargs="+", default=list(METHODS))
    parser.add_argument("--one", action="store_true", help="This process, as JSON.")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.model, given.tokens[0], given.sources, given.dtype, given.method)))
        return
    rows = []
    for tokens in given.tokens:
        command = [sys.executable, "-m", "benchmarks.sources", "--model", given.model, "--tokens", str(tokens)]
        command += ["--sources", str(given.sources), "--dtype", given.dtype, "--one", "--method", *given.method]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(ran.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:,.1f}" for value in row.values()))
    Console(width=200).print(table)


if __name__ == "__main__":
    ended(main)
