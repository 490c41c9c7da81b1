"""Compute the calibration on a machine with many cores and little installed, in several calls if need be.

python scripts/gpu_calibration.py pack .carry [CORPUS …]   here: pure-Python packages, and real corpora, that travel
python scripts/gpu_calibration.py run .carry OUT [OPTION …]   there: 'attentest calibrate --full' with these options
python scripts/gpu_calibration.py unpack OUT FOLDER   here: the records into the folder of a study
It stops after GPU_SECONDS (600). Records stay on that machine between calls, so the same call goes on; all of them come
out as OUT/records-1.tar, … of at most 15 MiB, with OUT/about.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from gpu_pack import packages
from gpu_study import bundled, stopped

#: Seconds kept at the end for packing.
RESERVE = 20


def pack(target: Path, *corpora: str) -> None:
    """The folder that travels; with the prepared files of these corpora."""
    packages(target)
    if corpora:
        from attentest.data.catalog.prepared import pack as prepare
        from attentest.data.corpora import CORPORA

        with tempfile.TemporaryDirectory() as scratch:
            prepare([CORPORA.parse(name) for name in corpora], Path(scratch))  # type: ignore[misc]
            with tarfile.open(target / "data.tar.xz", "w:xz", preset=6) as archive:
                archive.add(scratch, arcname="data")
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{target}: {size / 2**20:.1f} MiB")


def run(carried: Path, out: Path, options: list[str], limit: float) -> int:
    """Calibrate until it is done or the time is up; what is measured by then comes out."""
    scratch = Path(os.environ.get("TMPDIR", "/tmp")) / "attentest-calibration"
    folder = scratch / "full"
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(str(Path(part).resolve()) for part in ("src", carried / "site"))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    if (carried / "data.tar.xz").is_file():
        with tarfile.open(carried / "data.tar.xz") as archive:
            archive.extractall(scratch, filter="data")
        environment["ATTENTEST_DATA"] = str(scratch / "data")
    started = time.monotonic()
    command = [sys.executable, "-m", "attentest", "calibrate", "--full", "--to", str(folder), *options]
    child = subprocess.Popen(command, env=environment)
    try:
        code = child.wait(max(1.0, limit - RESERVE))
    except subprocess.TimeoutExpired:
        code = stopped(child)
    out.mkdir(parents=True, exist_ok=True)
    files = sorted(file for name in ("members", "failed") for file in (folder / name).glob("*.json"))
    about = {
        "command": command[1:],
        "seconds": round(time.monotonic() - started, 1),
        "exit_code": code,
        "records": len(list((folder / "members").glob("*.json"))),
        "failed": len(list((folder / "failed").glob("*.json"))),
        "bundles": bundled(files, folder, out, "records")[0],
    }
    (out / "about.json").write_text(json.dumps(about, indent=1) + "\n")
    print(json.dumps(about))
    return 0 if about["records"] else code


def unpack(source: Path, folder: Path) -> None:
    """Every record that is whole, into a study's folder."""
    bundles = sorted(source.glob("records-*.tar"))
    if not bundles:
        raise SystemExit(f"No records-*.tar in {source}.")
    folder.mkdir(parents=True, exist_ok=True)
    for bundle in bundles:
        with tarfile.open(bundle) as archive:
            archive.extractall(folder, filter="data")
    for file in (folder / "members").glob("*.json"):
        json.loads(file.read_text("utf-8"))
    print(f"{len(bundles)} bundles, {len(list((folder / 'members').glob('*.json')))} records in {folder}.")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pack", target, *corpora]:
            pack(Path(target), *corpora)
        case ["run", carried, out, *options]:
            sys.exit(run(Path(carried), Path(out), options, float(os.environ.get("GPU_SECONDS", "600"))))
        case ["unpack", source, folder]:
            unpack(Path(source), Path(folder))
        case _:
            raise SystemExit(__doc__)
