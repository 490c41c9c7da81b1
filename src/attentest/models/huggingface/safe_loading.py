"""A checkpoint is data: it runs no code, chooses no kernel, and its weights are safetensors in its own folder."""

from __future__ import annotations

import copy
import json
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from attentest.errors import CheckpointError, InputError

__all__ = ["NO_CODE", "SAFETENSORS", "brings_code", "library", "plain_attention", "refuse_foreign_weights"]

#: For everything that the library loads: modules that a checkpoint names (``auto_map``) are not run, nor asked about.
NO_CODE: dict[str, Any] = {"trust_remote_code": False}
#: For models: weights as safetensors alone, because others are unpickled.
SAFETENSORS: dict[str, Any] = {**NO_CODE, "use_safetensors": True}
INDEX = "model.safetensors.index.json"


def library() -> Any:
    """The Transformers library, or what to install."""
    try:
        import transformers
    except ImportError as error:
        raise InputError(
            "Checkpoints are read by the Transformers library, which is not installed here: "
            "pip install 'attentest[transformers]'."
        ) from error
    return transformers


def brings_code(folder: Path) -> bool:
    """Whether the checkpoint in a folder names modules of its own."""
    try:
        return "auto_map" in json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def plain_attention(config: Any) -> Any:
    """The configuration with the library's plain attention: config.json may name a kernel, to be fetched and run."""
    own = copy.deepcopy(config)
    own._attn_implementation = "eager"
    return own


def refuse_foreign_weights(name: str, config: Any, *, kept: bool) -> None:
    """Refuse weights that are not safetensors files inside the checkpoint, before any of them is opened."""
    from transformers.utils.hub import cached_file

    index: str = getattr(config, "transformers_weights", None) or INDEX
    _check(name, index, "config.json", (".safetensors", ".safetensors.index.json"))
    if not index.endswith(".json"):
        return
    try:
        path = cached_file(name, index, local_files_only=kept, _raise_exceptions_for_missing_entries=False)
        files = {} if path is None else json.loads(Path(path).read_text(encoding="utf-8"))["weight_map"]
        named = sorted(set(files.values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{name}: its {index} cannot be read. Save the model again, or copy it again.") from error
    for file in named:
        _check(name, file, index, (".safetensors",))


def _check(name: str, file: object, where: str, endings: tuple[str, ...]) -> None:
    text = str(file)
    outside = any(path.is_absolute() or ".." in path.parts for path in (PurePosixPath(text), PureWindowsPath(text)))
    if outside or not isinstance(file, str) or not text.endswith(endings):
        raise CheckpointError(
            f"{name}: {where} names {text!r} for its weights, and only safetensors files inside the checkpoint are "
            "read. Save the model again with save_pretrained."
        )
