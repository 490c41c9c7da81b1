"""Bring findings that were computed elsewhere into the store, each file checked against its run's record.

python scripts/gpu_unpack.py FOLDER runs
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

from attentest.errors import StorageError
from attentest.store.folder import RunFolder

#: What stays where it was computed: a run without its model has all its findings.
CHECKPOINT = "checkpoint/"
LEFT_BEHIND = (".safetensors", ".u64", "vocabulary.json")


def main(source: Path, runs: Path) -> None:
    """Extract every bundle, then check every run."""
    bundles = sorted(source.glob("runs-*.tar"))
    if not bundles:
        raise SystemExit(f"No runs-*.tar in {source}.")
    runs.mkdir(parents=True, exist_ok=True)
    names: set[str] = set()
    for bundle in bundles:
        with tarfile.open(bundle) as archive:
            names |= {name.partition("/")[0] for name in archive.getnames() if name.endswith("/run.json")}
            archive.extractall(runs, filter="data")
    whole, broken = 0, []
    for folder in (RunFolder(runs / name) for name in sorted(names)):
        try:
            for name in folder.record["finished"]:
                if not name.startswith(CHECKPOINT) and not name.endswith(LEFT_BEHIND):
                    folder.verify(name)
            whole += 1
        except StorageError as error:
            broken.append(str(error))
    print(f"{len(bundles)} bundles, {whole} whole runs in {runs}.")
    if broken:
        raise SystemExit("\n".join(broken))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python scripts/gpu_unpack.py FOLDER RUNS")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
