"""Compute a packed study on a machine with a GPU, several cells side by side on the one card.

python scripts/gpu_study.py .carry OUT STUDY[,STUDY …] [options of 'attentest study run' …]
A study may name its corpora, as in mohankumar_2020:sst+20news. What a paper's claims need of its runs comes out
first, as OUT/kept-PAPER.zip (attentest claims PAPER --from); then findings, the smallest first, as OUT/runs-1.tar,
runs-2.tar, … of at most 15 MiB, without the models; OUT/about.json says how long it took and how much of the card's
memory was used. When the time is up (GPU_SECONDS), what is done comes out; a later call on the same machine with the
same pack goes on from there, and brings only what is new, or did not fit before: about.json says how many files are
left ("left").
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

LARGEST = 15 * 2**20
#: Bundles of one call: 60 MiB come back.
BUNDLES = 4
#: Seconds kept at the end for packing, and for keeping what claims need.
RESERVE = 75
CHECKPOINT = "checkpoint"
LEFT_BEHIND = (".safetensors", ".u64", ".lock", ".part", "vocabulary.json")


def main(pack: Path, out: Path, studies: list[str], options: list[str], limit: float) -> int:
    """Unpack, compute, pack."""
    scratch = unpacked(pack / "data.tar.xz", Path(os.environ.get("TMPDIR", "/tmp")) / "attentest-gpu")
    runs = scratch / "runs"
    path = os.pathsep.join(str(Path(part).resolve()) for part in ("src", pack / "site"))
    environment = {**os.environ, "PYTHONPATH": path, "ATTENTEST_DATA": str(scratch / "data"), "OMP_NUM_THREADS": "1"}
    environment |= shared_card(scratch)
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    memory, codes = Memory(), {}
    for study in studies:
        name, _, corpora = study.partition(":")
        command = [sys.executable, "-m", "attentest", "study", "run", name, "--device", "cuda", "--runs", str(runs)]
        command += [part for corpus in corpora.split("+") if corpus for part in ("--corpus", corpus)]
        child = subprocess.Popen([*command, *options], env=environment)
        left = limit - RESERVE - (time.monotonic() - started)
        try:
            codes[study] = child.wait(max(1.0, left))
        except subprocess.TimeoutExpired:
            codes[study] = stopped(child)
            break
    seconds = time.monotonic() - started
    give_up_card(environment)
    kept(runs, out, environment)
    bundles, left_files = packed(runs, out, scratch / "brought.json")
    about = {
        "options": options,
        "seconds": round(seconds, 1),
        "exit_codes": codes,
        "side_by_side": "CUDA_MPS_PIPE_DIRECTORY" in environment,
        "largest_memory_MiB": memory.largest,
        "cells": len(list(runs.glob("*/findings/instances*.parquet"))),
        "bundles": bundles,
        "left": left_files,
    }
    (out / "about.json").write_text(json.dumps(about, indent=1) + "\n")
    print(json.dumps(about))
    return max((abs(code) for code in codes.values()), default=0)


def unpacked(archive: Path, scratch: Path) -> Path:
    """The pack's own folder, with its corpora and vectors; if it is there already, its runs are kept."""
    folder = scratch / hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    if folder.is_dir():
        return folder
    begun = scratch / "begun"
    shutil.rmtree(begun, ignore_errors=True)
    with tarfile.open(archive) as packed_data:
        packed_data.extractall(begun, filter="data")
    for weights in begun.glob("data/models/*/model.safetensors"):
        in_full(weights)
    return begun.rename(folder)


def in_full(path: Path) -> None:
    """Weights that travelled in 16 bits, in 32 again."""
    from safetensors.torch import load_file, save_file

    halves = load_file(path)
    whole = {name: weight.float() if weight.is_floating_point() else weight for name, weight in halves.items()}
    save_file(whole, path, metadata={"format": "pt"})


def stopped(child: subprocess.Popen[bytes]) -> int:
    """Interrupt as a person would, so that nothing half written stays; if that does not help, kill."""
    child.send_signal(signal.SIGINT)
    try:
        return child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def shared_card(scratch: Path) -> dict[str, str]:
    """Let the processes' kernels run at the same time (NVIDIA's MPS), not in turns, where its daemon can be had."""
    places = {"CUDA_MPS_PIPE_DIRECTORY": str(scratch / "mps"), "CUDA_MPS_LOG_DIRECTORY": str(scratch / "mps-log")}
    for place in places.values():
        Path(place).mkdir(parents=True, exist_ok=True)
    tried = "import torch; torch.ones(1, device='cuda').sum().item()"
    try:
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env=os.environ | places, check=True, timeout=20)
        subprocess.run([sys.executable, "-c", tried], env=os.environ | places, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as reason:
        print(f"MPS cannot be had ({reason}); processes take turns on the card", file=sys.stderr)
        return {}
    return places


def give_up_card(environment: dict[str, str]) -> None:
    """End the daemon, so that the next call can start its own."""
    if "CUDA_MPS_PIPE_DIRECTORY" in environment:
        subprocess.run(["nvidia-cuda-mps-control"], input=b"quit\n", env=environment, check=False, timeout=20)


class Memory(threading.Thread):
    """The most of the card's memory that was in use, looked at every second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest = 0
        self.start()

    def run(self) -> None:
        """Look, and look again."""
        while True:
            try:
                asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
                used = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
                self.largest = max(self.largest, *(int(line) for line in used.split()))
            except (OSError, subprocess.CalledProcessError, ValueError):
                return
            time.sleep(1)


def kept(runs: Path, out: Path, environment: dict[str, str]) -> None:
    """What the claims of every paper need of its runs: a hundredth of all findings, in case these do not all fit."""
    for paper in sorted({json.loads(file.read_text())["paper"] for file in runs.glob("studies/*.json")} - {None, ""}):
        archive = out / f"kept-{paper}.zip"
        command = [sys.executable, "-m", "attentest", "claims", paper, "--runs", str(runs), "--keep", str(archive)]
        try:
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=RESERVE / 2)
        except subprocess.SubprocessError as reason:
            print(f"nothing kept of {paper}: {reason}", file=sys.stderr)
        if archive.is_file() and archive.stat().st_size > LARGEST:
            archive.unlink()


def packed(runs: Path, out: Path, brought: Path) -> tuple[int, int]:
    """Every file of a run but its model that was not brought yet: the study's record first, then the smallest."""
    before = json.loads(brought.read_text()) if brought.is_file() else {}
    found = [file for file in runs.rglob("*") if file.is_file() and file.parent.name != CHECKPOINT]
    whole = {str(file.relative_to(runs)): file for file in found if not file.name.endswith(LEFT_BEHIND)}
    times = {name: file.stat().st_mtime_ns for name, file in whole.items()}
    new = [file for name, file in whole.items() if before.get(name) != times[name]]
    files = sorted(new, key=lambda file: (file.parent.name != "studies", file.stat().st_size, str(file)))
    bundles, count = bundled(files, runs, out, "runs", most=BUNDLES - len(list(out.glob("kept-*.zip"))))
    names = [str(file.relative_to(runs)) for file in files[:count]]
    brought.write_text(json.dumps(before | {name: times[name] for name in names}))
    return bundles, len(files) - count


def bundled(files: list[Path], folder: Path, out: Path, name: str, most: int = 8) -> tuple[int, int]:
    """Files of a folder, in at most so many tar files of a size that travels: how many there are, and hold."""
    number, size, count, archive = 0, LARGEST, 0, None
    for file in files:
        # A tar entry has a header of 512 bytes, and paddings to 512.
        needs = file.stat().st_size + 1536
        if size + needs > LARGEST:
            if number == most:
                break
            if archive is not None:
                archive.close()
            number, size = number + 1, 10240
            archive = tarfile.open(out / f"{name}-{number}.tar", "w")  # noqa: SIM115
        assert archive is not None
        archive.add(file, arcname=str(file.relative_to(folder)))
        size, count = size + needs, count + 1
    if archive is not None:
        archive.close()
    return number, count


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit("usage: python scripts/gpu_study.py PACK OUT STUDY[,STUDY …] [options …]")
    seconds = float(os.environ.get("GPU_SECONDS", "600"))
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(","), sys.argv[4:], seconds))
