"""Long contexts and both precisions on a machine with a GPU that has neither SmolLM2 nor our dependencies.

    python -m scripts.sources.smollm2 FOLDER --packed PACKED
    python -m scripts.sources.gpu pack PACKED SCREENED .carry      # here: parts small enough to travel
    python scripts/sources/gpu.py keep .carry/smol1                # there, for each part in turn
    python scripts/sources/gpu.py run OUT                          # there, when all are kept

``run`` joins the parts, checks them, and makes the checkpoint; OUT gets ``long.csv`` (benchmarks/sources.py), a folder
each for both precisions (scripts/sources/precision.py), as ``precision-DTYPE.tar``, and what each step printed.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

#: Where parts are kept there until all have come.
KEPT = Path(tempfile.gettempdir()) / "attentest-smollm2"
WHOLE, ANSWERS, PARTS = "whole.tar.xz", "screened.jsonl", 3
CODE = ("src", "scripts", "benchmarks")
#: Most seconds of each step.
LIMITS = {"long": 100, "spread": 60, "precision": 140}


def pack(packed: Path, screened: Path, target: Path) -> None:
    """Parts of one archive, with its digest: weights, answers and the last commit's code; the last has the packages."""
    from scripts.gpu_pack import packages

    with tempfile.TemporaryDirectory() as scratch:
        whole, code = Path(scratch) / WHOLE, Path(scratch) / "code"
        taken = ["git", "archive", "--format=tar", "HEAD", *CODE, ":!*.zip"]
        with tarfile.open(fileobj=io.BytesIO(subprocess.run(taken, check=True, capture_output=True).stdout)) as archive:
            archive.extractall(code, filter="data")
        tried = [sys.executable, "-B", "-c", "import benchmarks.sources, scripts.sources.precision"]
        subprocess.run(tried, check=True, cwd=code, env={**os.environ, "PYTHONPATH": f"{code / 'src'}:{code}"})
        with tarfile.open(whole, "w:xz", preset=1) as archive:
            archive.add(code, arcname="code")
            archive.add(packed, arcname="packed")
            archive.add(screened, arcname=ANSWERS)
        data = whole.read_bytes()
    size = -(-len(data) // PARTS)
    about = {"parts": PARTS, "sha256": hashlib.sha256(data).hexdigest()}
    for number in range(PARTS):
        folder = target / f"smol{number + 1}"
        shutil.rmtree(folder, ignore_errors=True)
        if number + 1 == PARTS:
            packages(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"part-{number + 1}").write_bytes(data[number * size : (number + 1) * size])
        (folder / "about.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
        print(f"{folder}: {sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 2**20:.1f} MiB")


def keep(part: Path) -> None:
    """Put a part by."""
    shutil.copytree(part, KEPT, dirs_exist_ok=True)
    print(sorted(file.name for file in KEPT.iterdir()))


def made() -> Path:
    """The checkpoint's folder, made of the parts."""
    about = json.loads((KEPT / "about.json").read_text(encoding="utf-8"))
    data = b"".join((KEPT / f"part-{number + 1}").read_bytes() for number in range(about["parts"]))
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise SystemExit("The parts do not make the whole: pack and keep them again.")
    (KEPT / WHOLE).write_bytes(data)
    with tarfile.open(KEPT / WHOLE) as archive:
        archive.extractall(KEPT, filter="data")
    folder = KEPT / "smollm2"
    command = [sys.executable, "-m", "scripts.sources.smollm2", str(folder), "--from", str(KEPT / "packed")]
    subprocess.run(command, check=True, env=environment(), cwd=KEPT)
    return folder


def environment() -> dict[str, str]:
    """Our code as it was packed, and its packages; one thread, nothing fetched."""
    path = os.pathsep.join(map(str, (KEPT / "code" / "src", KEPT / "code", KEPT / "site")))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def run(out: Path, device: str, tokens: list[str], patience: float) -> None:
    """Every step, whatever becomes of the others."""
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    model = str(made())
    seconds: dict[str, float | str] = {"making the checkpoint": time.monotonic() - began}
    long = ["-m", "benchmarks.sources", "--model", model, "--tokens", *tokens, "--csv", str(out / "long.csv")]
    asking = ["-m", "scripts.sources.precision", "ask", model, "--answers", str(KEPT / ANSWERS), "--device", device]
    works = {dtype: KEPT / f"precision-{dtype}" for dtype in ("float32", "bfloat16")}
    steps: dict[str, list[list[str]]] = {
        "long": [[*long, "--device", device, "--dtype", "bfloat16", "float32", "--rounds", "2"]],
        "spread": [[*long, "--device-map", "auto", "--method", "leave_one_out"]],
        "precision": [[*asking, "--dtype", dtype, "--to", str(work)] for dtype, work in works.items()],
    }
    for name, commands in steps.items():
        started = time.monotonic()
        ended = [_started(command, out / f"{name}-{number}.log") for number, command in enumerate(commands)]
        codes = []
        for child in ended:
            try:
                codes.append(child.wait(max(1.0, patience * LIMITS[name] - (time.monotonic() - started))))
            except subprocess.TimeoutExpired:
                child.kill()
                codes.append(child.wait())
        seconds[name] = f"{time.monotonic() - started:.1f} s, exit codes {codes}"
        print(name, seconds[name], flush=True)
    for dtype, work in works.items():
        if work.exists():
            with tarfile.open(out / f"precision-{dtype}.tar", "w") as archive:
                archive.add(work, arcname=work.name)
    (out / "seconds.json").write_text(json.dumps(seconds, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(seconds))


def _started(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, *command], stdout=file, stderr=subprocess.STDOUT, env=environment(), cwd=KEPT
        )


def main() -> None:
    """Pack, keep or run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    packing, keeping, running = (parts.add_parser(name) for name in ("pack", "keep", "run"))
    for name in ("packed", "screened", "target"):
        packing.add_argument(name, type=Path)
    packing.set_defaults(work=pack)
    keeping.add_argument("part", type=Path)
    keeping.set_defaults(work=keep)
    running.add_argument("out", type=Path)
    running.add_argument("--device", default="cuda")
    running.add_argument("--tokens", nargs="+", default=["250", "1000", "4000", "8000"])
    running.add_argument("--patience", type=float, default=1.0, help="times the seconds that a step has")
    running.set_defaults(work=run)
    given = vars(parser.parse_args())
    given.pop("work")(**given)


if __name__ == "__main__":
    main()
