"""Run campaigns and print a table: cases, failures, wall time and time on a core, seed.

python -m tests.campaigns [NAME …] [--cases N] [--seed S] [--only NUMBER] [--quick] [--workers N] [--json FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tests.campaigns.campaign import Unavailable, campaigns, conduct

HEADER = f"{'campaign':<16}{'cases':>8}{'failures':>10}{'wall':>10}{'on a core':>12}{'seed':>6}"


def main() -> int:
    known = campaigns()
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(known)}; all if none is named")
    parser.add_argument("--cases", type=int, help="how many; else what the campaign says")
    parser.add_argument("--quick", action="store_true", help="as few as continuous integration runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of the one case to repeat")
    parser.add_argument("--workers", type=int, default=1, help="how many campaigns run at once, each in its process")
    parser.add_argument("--json", type=Path, help="a file for the table")
    given = parser.parse_args()
    if unknown := set(given.names) - set(known):
        parser.error(f"no campaign is called {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    names = given.names or sorted(known, key=lambda name: -known[name].minutes)
    since, done = time.monotonic(), []
    print(HEADER, flush=True)
    if given.workers > 1 and len(names) > 1:
        done = at_once(names, given)
    else:
        for name in names:
            campaign = known[name]()
            numbers = range(given.cases or (campaign.quick if given.quick else campaign.full))
            try:
                found = conduct(campaign, numbers if given.only is None else [given.only], given.seed, print)
            except Unavailable as error:
                print(f"{name:<16} not run: {error}", flush=True)
                continue
            done.append(dataclasses.asdict(found))
            print(row(name, found.cases, len(found.faults), found.seconds, found.cpu, str(found.seed)))
            print("  " + ", ".join(f"{kind} {count}" for kind, count in sorted(found.kinds.items())))
            for note in found.notes:
                print(f"  {note}")
            sys.stdout.flush()
    if len(done) > 1:
        counts = [sum(sum(one["kinds"].values()) for one in done), sum(len(one["faults"]) for one in done)]
        print(row("all", *counts, time.monotonic() - since, sum(one["cpu"] for one in done), ""))
    if given.json:
        given.json.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    return 1 if any(one["faults"] for one in done) else 0


def row(name: str, cases: int, faults: int, wall: float, cpu: float, seed: str) -> str:
    return f"{name:<16}{cases:>8}{faults:>10}{wall:>8.0f} s{cpu:>10.0f} s{seed:>6}"


def at_once(names: list[str], given: argparse.Namespace) -> list[dict[str, Any]]:
    """Each campaign in a process of its own, so many at a time; the table comes in the order of their ends."""
    done: list[dict[str, Any]] = []
    common = ["--seed", str(given.seed), *(["--quick"] if given.quick else [])]
    common += ["--cases", str(given.cases)] if given.cases else []
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(given.workers) as pool:

        def alone(name: str) -> tuple[str, Path]:
            kept = Path(made) / f"{name}.json"
            command = [sys.executable, "-m", "tests.campaigns", name, *common, "--json", str(kept)]
            ended = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if not kept.exists():
                raise SystemExit(f"The campaign {name} did not end:\n{ended.stdout[-4000:]}")
            return ended.stdout.partition("\n")[2], kept

        for ended in as_completed([pool.submit(alone, name) for name in names]):
            said, kept = ended.result()
            print(said, end="", flush=True)
            done += json.loads(kept.read_text(encoding="utf-8"))
    return done


if __name__ == "__main__":
    sys.exit(main())
