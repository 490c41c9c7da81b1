"""The explorer with very many texts and very many readers.

python -m benchmarks.explorer --run RUN [--texts 100000] [--readers 200] [--pages 5]

The findings of a finished run are repeated, under other ids, until there are so many texts. A server of its own answers
first one reader, page by page, then so many at once, each with a connection of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from attentest.store.findings import FindingsWriter
from attentest.store.folder import RunFolder, find_run
from benchmarks import ended

PLOT = "adversary"


def repeated(source: RunFolder, target: Path, texts: int) -> RunFolder:
    """A run of so many texts: those of another, again and again."""
    record = source.record
    made = RunFolder.create(target, record["fields"], record["made_with"])
    (target / "findings").mkdir(exist_ok=True)
    times = -(-texts // len(source.findings("instances").table))
    for name in source.challenges:
        found, file = source.findings(name), f"findings/{name}.parquet"
        with FindingsWriter(target / file, found.challenge, found.measures, found.parameters) as writer:
            for number in range(times):
                ids = pc.binary_join_element_wise(found.table["id"], pa.scalar(str(number)), "#")
                writer.write(found.table.set_column(found.table.column_names.index("id"), "id", ids))
        made.finish(file)
    for file in ("model.safetensors", "vocabulary.json"):
        if (source.path / file).is_file():
            shutil.copyfile(source.path / file, target / file)
            made.finish(file)
    return made


@contextmanager
def served(*words: str) -> Iterator[tuple[str, int]]:
    """What ``attentest WORDS`` serves in a process of its own: its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attentest", *words, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                httpx.get(f"{address}/static/nothing", timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


def memory(process: int) -> tuple[int, int]:
    """What a process holds now, and the most it held, in mebibytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    about = {line.partition(":")[0]: line.partition(":")[2].split() for line in lines}
    return int(about["VmRSS"][0]) // 1024, int(about["VmHWM"][0]) // 1024


def worked(process: int) -> float:
    """The seconds that a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def reader(
    address: str, run: str, texts: int, pages: int, seed: int, taken: list[float], failed: list[str]
) -> None:
    """One reader, who opens the home page, a page of texts, and some texts."""
    random_ = random.Random(seed)
    paths = ["/", "/home.json", f"/runs/{run}/texts.json?page={random_.randrange(1, texts // 50)}"]
    paths += [f"/runs/{run}/texts/{random_.randrange(texts)}.json" for _ in range(pages)]
    paths.append(f"/runs/{run}/plots/{PLOT}.json")
    async with httpx.AsyncClient(base_url=address, timeout=120, verify=False) as client:
        for path in paths:
            now = time.perf_counter()
            try:
                answer = await client.get(path)
                if answer.status_code != 200:
                    failed.append(f"{path}: {answer.status_code}")
            except httpx.HTTPError as error:
                failed.append(f"{path}: {type(error).__name__}")
            taken.append(time.perf_counter() - now)


async def crowd(address: str, run: str, texts: int, readers: int, pages: int) -> tuple[list[float], list[str], float]:
    """So many readers at once."""
    taken: list[float] = []
    failed: list[str] = []
    now = time.perf_counter()
    await asyncio.gather(*(reader(address, run, texts, pages, seed, taken, failed) for seed in range(readers)))
    return taken, failed, time.perf_counter() - now


def main() -> None:
    """Read the choices from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--pages", type=int, default=5)
    chosen = parser.parse_args()
    source, console = find_run(chosen.run, Path("runs")), Console()
    with tempfile.TemporaryDirectory() as folder:
        made = repeated(source, Path(folder) / "many", chosen.texts)
        size = sum(file.stat().st_size for file in (made.path / "findings").iterdir())
        console.print(f"{chosen.texts:,} texts, {len(made.challenges)} findings files, {size / 2**20:.0f} MiB")
        command = ("explore", folder, "--no-browser")
        with served(*command) as (address, process), httpx.Client(base_url=address, timeout=600) as client:
            table = Table("page", "first, s", "again, s", "held, MiB", "most held, MiB")
            at = f"/runs/{made.path.name}"
            last = chosen.texts - 1
            for path in (
                "/home.json",
                f"{at}/texts.json",
                f"{at}/texts.json?page=900",
                f"{at}/texts.json?sort=-{PLOT}",
                f"{at}/texts/0.json",
                f"{at}/texts/{last}.json",
                f"{at}/plots/{PLOT}.json",
                f"{at}/plots/importance.json",
                f"{at}.json",
            ):
                taken = []
                for _ in range(2):
                    now = time.perf_counter()
                    client.get(path).raise_for_status()
                    taken.append(f"{time.perf_counter() - now:.3f}")
                table.add_row(path.replace(at, "/runs/…"), *taken, *map(str, memory(process)))
            console.print(table)
            now = time.perf_counter()
            while client.get(f"{at}.json").json()["judging"]:
                time.sleep(1)
            console.print(f"The verdict was there {time.perf_counter() - now:.0f} s later, by a process of its own.")
            before = worked(process)
            many, failed, wall = asyncio.run(crowd(address, made.path.name, chosen.texts, chosen.readers, chosen.pages))
            each = 1000 * (worked(process) - before) / len(many)
            middle, late, latest = np.percentile(many, [50, 95, 100])
            console.print(
                f"{chosen.readers} readers at once: {len(many):,} answers in {wall:.1f} s, median {middle:.2f} s, "
                f"p95 {late:.2f} s, latest {latest:.2f} s; {len(failed)} failed; {each:.0f} ms of the server's CPU an "
                f"answer; most held {memory(process)[1]} MiB"
            )
            for line in failed[:5]:
                console.print(line)


if __name__ == "__main__":
    ended(main)
