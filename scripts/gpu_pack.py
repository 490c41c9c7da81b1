"""Pack a study for a machine with a GPU and nothing else: corpora, vectors, checkpoints, pure-Python dependencies.

python scripts/gpu_pack.py jain_wallace_2019 .carry
python scripts/gpu_pack.py pruthi_transformers,pruthi_translation .carry   several studies, in one pack
A checkpoint travels with its weights rounded to 16 bits, and without the embeddings of pieces that no packed text has;
there it is made whole, in 32 bits, with zeros for those.
There, ``python scripts/gpu_study.py`` computes it; here, ``python scripts/gpu_unpack.py`` brings the findings back.
"""

from __future__ import annotations

import importlib.util
import json
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


def lighter(data: Path) -> None:
    """Round every checkpoint's weights to 16 bits, and leave out embeddings of pieces that no text has."""
    import pyarrow as pa
    import torch
    from safetensors.torch import load_file, save_file
    from tokenizers import Tokenizer

    words: set[str] = set()
    for file in sorted(data.glob("prepared/*/*.arrow")):
        table = pa.ipc.open_file(file).read_all()
        for column in ("tokens", "second"):
            words.update(table[column].combine_chunks().flatten().unique().to_pylist())
    for folder in sorted(file.parent for file in data.glob("models/*/model.safetensors")):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        used = set(tokenizer.get_added_tokens_decoder())
        for coded in tokenizer.encode_batch(sorted(words)):
            used.update(coded.ids)
        weights = load_file(folder / "model.safetensors")
        for name, weight in weights.items():
            if name.endswith("word_embeddings.weight"):
                weight[torch.tensor([piece for piece in range(len(weight)) if piece not in used])] = 0.0
            if weight.is_floating_point():
                weights[name] = weight.half()
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        print(f"{folder.name}: {len(used):,} of {tokenizer.get_vocab_size():,} pieces are in the texts")


def main(studies: str, target: Path, *corpora: str) -> None:
    """Write the folder that travels."""
    packages(target)
    with tempfile.TemporaryDirectory() as scratch:
        options = [part for corpus in corpora for part in ("--corpus", corpus)]
        index = Path(scratch, "prepared", "index.json")
        names: dict[str, str] = {}
        for study in studies.split(","):
            command = [sys.executable, "-m", "attentest", "study", "pack", study, "--to", scratch, *options]
            subprocess.run(command, check=True)
            names |= json.loads(index.read_text("utf-8"))
        index.write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")
        lighter(Path(scratch))
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
