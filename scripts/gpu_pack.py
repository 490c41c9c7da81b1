"""Pack a study for a machine with a GPU and nothing else: corpora, vectors, checkpoints, pure-Python dependencies.

python scripts/gpu_pack.py jain_wallace_2019 .carry
There, ``python scripts/gpu_study.py`` computes it; here, ``python scripts/gpu_unpack.py`` brings the findings back.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

#: What attentest needs that a bare machine with torch, pyarrow, safetensors, rich and typer does not have.
PURE = ("entmax", "jaxtyping", "wadler_lindig", "platformdirs")
#: What may travel, the repository itself included.
LARGEST = 60 * 2**20


def packages(target: Path) -> None:
    """Write the pure-Python packages into a new folder."""
    shutil.rmtree(target, ignore_errors=True)
    (target / "site").mkdir(parents=True)
    for name in PURE:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit(f"{name} is not installed here: run 'make audit' first.")
        source = Path(next(iter(spec.submodule_search_locations)))
        shutil.copytree(source, target / "site" / name, ignore=shutil.ignore_patterns("__pycache__"))


def main(study: str, target: Path, *corpora: str) -> None:
    """Write the folder that travels."""
    packages(target)
    with tempfile.TemporaryDirectory() as scratch:
        options = [part for corpus in corpora for part in ("--corpus", corpus)]
        command = [sys.executable, "-m", "attentest", "study", "pack", study, "--to", scratch, *options]
        subprocess.run(command, check=True)
        with tarfile.open(target / "data.tar.xz", "w:xz", preset=6) as archive:
            archive.add(scratch, arcname="data")
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{target}: {size / 2**20:.1f} MiB")
    if size > LARGEST:
        raise SystemExit(f"{size / 2**20:.0f} MiB is more than travels ({LARGEST / 2**20:.0f}): pack fewer corpora.")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit("usage: python scripts/gpu_pack.py STUDY FOLDER [CORPUS …]")
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
