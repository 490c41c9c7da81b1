"""A checkpoint is data: it runs no code, chooses no kernel, and all its files lie in its own folder."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from attentest.errors import CheckpointError, InputError, shown

__all__ = [
    "DECIDING",
    "NO_CODE",
    "SAFETENSORS",
    "brings_code",
    "library",
    "plain",
    "refuse_endless_classes",
    "refuse_foreign_files",
    "refuse_foreign_settings",
    "refuse_foreign_weights",
    "refuse_swelling_words",
    "tokenizing",
]

#: For everything that the library loads: modules that a checkpoint names (``auto_map``) are not run, nor asked about.
NO_CODE: dict[str, Any] = {"trust_remote_code": False}
#: For models: weights as safetensors alone, because others are unpickled.
SAFETENSORS: dict[str, Any] = {**NO_CODE, "use_safetensors": True}
#: The files of a checkpoint that decide what it computes: weights, configuration, words.
DECIDING = (".safetensors", ".json", ".txt", ".model", ".spm", ".tiktoken")
INDEX, WHOLE, WORDS = "model.safetensors.index.json", "model.safetensors", "tokenizer_config.json"
TOKENIZER = "tokenizer.json"
#: Classes that a configuration may have.
MOST_CLASSES = 1_000_000
#: A text may become so many times as long by replacements; usual ones put one character in the place of another.
MOST_GROWN = 1_000
#: Settings that make the library load weights by other packages, or by kernels that it fetches.
QUANTISED = ("quantization_config", "compression_config")


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
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def plain(config: Any) -> Any:
    """The configuration with the library's plain code: config.json may name a kernel, to be fetched and run."""
    own = copy.deepcopy(config)
    own._attn_implementation = own._experts_implementation = "eager"
    own.fusion_config = None
    return own


def refuse_foreign_files(folder: Path) -> None:
    """Refuse a folder whose files lie elsewhere, or are an adapter, which brings another model along."""
    if (folder / "adapter_config.json").exists():
        raise CheckpointError(
            f"{folder} holds an adapter (adapter_config.json), whose model lies elsewhere. Merge the two "
            "(model.merge_and_unload()) and save the model that you get with save_pretrained."
        )
    for path in sorted(folder.iterdir()):
        if path.name.endswith((*DECIDING, ".jinja")) or path.is_dir():
            _refuse_elsewhere(folder, path)


def _refuse_elsewhere(folder: Path, path: Path) -> None:
    """Refuse a link that leads out of the checkpoint; in the hub's own store files are links to blobs beside them."""
    home = folder.resolve()
    blobs = home.parents[1] / "blobs" if home.parent.name == "snapshots" else home
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):  # links in a circle, or to nothing
        target = Path()
    if path.is_symlink() and not any(target.is_relative_to(place) for place in (home, blobs)):
        raise CheckpointError(
            f"{path} is a link to no file inside of the checkpoint; others are not read. Copy the file itself there."
        )


def refuse_endless_classes(name: str, *, kept: bool) -> None:
    """Refuse a number of classes that the library would name, one after the other, until memory is full."""
    try:
        path = _file(name, "config.json", kept)
        parts = [] if path is None else list(_parts(_json(name, "config.json", path)))
    except (CheckpointError, RecursionError):
        return  # the library, which reads it next, says what is wrong
    for part in parts:
        count = part.get("num_labels")
        if isinstance(count, int) and count > MOST_CLASSES:
            raise CheckpointError(
                f"{name}: num_labels={shown(count)} in its config.json is more than {MOST_CLASSES:,}. Save the model "
                "again with save_pretrained."
            )


def refuse_foreign_settings(name: str, config: Any, *, kept: bool) -> None:
    """Refuse what would load weights by foreign packages, and words from files outside of the checkpoint."""
    about = config.to_dict()
    if found := next((key for part in _parts(about) for key in QUANTISED if part.get(key)), None):
        raise CheckpointError(
            f"{name}: its weights are quantised ({found} in config.json), and single precision is read here. "
            "Save the model in single precision (model.dequantize(), then save_pretrained) and audit that."
        )
    path = _file(name, WORDS, kept)
    words = {} if path is None else _json(name, WORDS, path)
    for key, value in words.items():
        values = value if isinstance(value, list) else [value]
        for file in (one for one in values if key.endswith(("_file", "_files")) and isinstance(one, str)):
            # Old checkpoints name places on their author's machine: what is not there is not read.
            if _outside(file) and path is not None and (path.parent / file).exists():
                raise CheckpointError(
                    f"{name}: {WORDS} names {file!r} as {key}, and only files inside the checkpoint are read. "
                    "Save the tokenizer again with save_pretrained."
                )


def refuse_swelling_words(name: str, *, kept: bool) -> None:
    """Refuse a tokenizer whose replacements make texts longer without end: native code, which nobody can interrupt."""
    path = _file(name, TOKENIZER, kept)
    grown = 1
    for part in _parts({} if path is None else _json(name, TOKENIZER, path)):
        text = part.get("content") if part.get("type") == "Replace" else part.get("prepend")
        grown *= max(1, len(text)) if isinstance(text, str) else 1
    if grown > MOST_GROWN:
        raise CheckpointError(
            f"{name}: the replacements of its {TOKENIZER} make a text up to {grown:,} times as long, and at most "
            f"{MOST_GROWN:,} is read. Save the tokenizer again with save_pretrained."
        )


class _Unheard:
    """While anybody is in it, nothing is written to standard error: what native code prints is no line of ours."""

    def __init__(self) -> None:
        self._lock, self._inside, self._kept = threading.Lock(), 0, -1

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                with contextlib.suppress(OSError):  # there may be none
                    self._kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
                    os.dup2(nowhere, 2)
                    os.close(nowhere)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._kept >= 0:
                os.dup2(self._kept, 2)
                os.close(self._kept)
                self._kept = -1


_UNHEARD = _Unheard()


@contextlib.contextmanager
def tokenizing() -> Iterator[None]:
    """What a tokenizer's native code gives up on is refused: its own error is none that anybody catches."""
    try:
        with _UNHEARD:
            yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise CheckpointError(
            f"The checkpoint's tokenizer gives up on a text ({shown(str(error), 120)[1:-1]}): its tokenizer.json is "
            "damaged, or made to. Save the tokenizer again with save_pretrained."
        ) from error


def _parts(about: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    """A configuration and those inside it."""
    yield about
    for value in about.values():
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, dict):
                yield from _parts(inner)


def refuse_foreign_weights(name: str, config: Any, *, kept: bool) -> None:
    """Refuse weights that are not safetensors files inside the checkpoint, before any of them is opened."""
    explicit = getattr(config, "transformers_weights", None)
    if explicit is not None:
        _check(name, explicit, "config.json", (".safetensors", ".safetensors.index.json"))
        if not explicit.endswith(".json"):
            return
    index = explicit or INDEX
    path = _file(name, index, kept)
    if path is None:
        # Without this the library asks a service on the hub to convert pickled weights, and takes what that answers.
        if explicit is None and _file(name, WHOLE, kept) is None:
            raise CheckpointError(
                f"{name}: it has no weights as safetensors ({WHOLE} or {INDEX}), and no others are read: pickled ones "
                "may run code. Load the model where you trust it, and save it again with save_pretrained."
            )
        return
    files = _json(name, index, path).get("weight_map")
    if not isinstance(files, dict):
        raise CheckpointError(f"{name}: its {index} cannot be read. Save the model again, or copy it again.")
    for file in dict.fromkeys(map(str, files.values())):
        _check(name, file, index, (".safetensors",))
        if Path(name).is_dir():
            _refuse_elsewhere(Path(name), Path(name) / file)


def _file(name: str, file: str, kept: bool) -> Path | None:
    """A file of a checkpoint in a folder or on the hub; None where it has none."""
    from transformers.utils.hub import cached_file

    try:
        found = cached_file(name, file, local_files_only=kept, _raise_exceptions_for_missing_entries=False)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{name}: its {file} cannot be read. Save the model again, or copy it again.") from error
    return None if found is None else Path(found)


def _json(name: str, file: str, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{name}: its {file} cannot be read. Save the model again, or copy it again.") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{name}: its {file} is not a JSON object. Save the model again, or copy it again.")
    return found


def _check(name: str, file: object, where: str, endings: tuple[str, ...]) -> None:
    if not isinstance(file, str) or _outside(file) or not file.endswith(endings):
        raise CheckpointError(
            f"{name}: {where} names {str(file)!r} for its weights, and only safetensors files inside the checkpoint "
            "are read. Save the model again with save_pretrained."
        )


def _outside(file: str) -> bool:
    """Whether a name leads out of the folder it stands in, on any system."""
    return any(path.is_absolute() or ".." in path.parts for path in (PurePosixPath(file), PureWindowsPath(file)))
