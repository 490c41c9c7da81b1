"""Captum's attributions: tensors in a .safetensors or .npz file, as captum saves none (Kokhlikyan et al. 2020)."""

from __future__ import annotations

import json
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from attentest.errors import InputError, shown
from attentest.store.atomic import replacing
from attentest.store.score_formats.format import Format, present
from attentest.store.scores import Scores, Texts

__all__ = ["CAPTUM"]

WHOLE = "attributions"
#: What reading a file that is none of these, or was altered, raises.
DAMAGED = (
    *(OSError, ValueError, TypeError, AttributeError, EOFError, LookupError, SyntaxError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
)


def _read(path: Path, texts: Texts) -> Mapping[str, np.ndarray]:
    """One padded tensor for all texts, or one tensor for each, named by its id; embedding axes are summed."""
    present(path)
    tensors, ids = _tensors(path)
    if WHOLE not in tensors:
        return {name: _of_one(array) for name, array in tensors.items()}
    names = texts.ids if ids is None else tuple(ids)
    padded = _summed(tensors[WHOLE], 2)
    if padded.ndim != 2 or len(padded) != len(names):
        shape = "×".join(map(str, tensors[WHOLE].shape))
        raise InputError(
            f"{path.name}: {WHOLE!r} has the shape {shape}; it must be texts × positions (× embedding), with "
            f"{len(names):,} texts in the run's order."
        )
    counts = dict(zip(texts.ids, map(len, texts.tokens), strict=True))
    lengths = tensors.get("lengths", np.array([counts.get(name, padded.shape[1]) for name in names]))
    if lengths.shape != (len(names),) or lengths.dtype.kind not in "iu" or (lengths < 0).any():
        raise InputError(f"{path.name}: 'lengths' must hold one whole number for each of the {len(names):,} texts.")
    for name, row, length in zip(names, padded, lengths.tolist(), strict=True):
        if np.any(row[int(length) :] != 0):
            raise InputError(
                f"{path.name}: text {name!r} has scores beyond its {int(length)} tokens. Leave out start, end and "
                "padding symbols: the first position is the first word."
            )
    return {name: row[: int(length)] for name, row, length in zip(names, padded, lengths.tolist(), strict=True)}


def _tensors(path: Path) -> tuple[dict[str, np.ndarray], Sequence[str] | None]:
    """The file's arrays, and the texts' ids where it has them."""
    if path.suffix.lower() == ".npz":
        try:
            with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except DAMAGED as error:
            raise InputError(
                f"{path.name} is no .npz file of plain arrays ({_first(error)}). Write it again."
            ) from error
        ids = arrays.pop("ids", None)
        return _numbers(path, arrays), None if ids is None else [str(name) for name in np.ravel(ids)]
    if path.suffix.lower() != ".safetensors":
        raise InputError(f"{path.name} must end in .safetensors or .npz to be read as captum's tensors.")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            ids = json.loads((file.metadata() or {}).get("ids", "null"))
    except (SafetensorError, OSError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path.name} is no .safetensors file of plain numbers ({_first(error)}). Write it again."
        ) from error
    if not isinstance(ids, list | None):
        raise InputError(f"{path.name}: the ids among its metadata must be a JSON list, one for each text.")
    return _numbers(path, arrays), None if ids is None else [str(name) for name in ids]


def _numbers(path: Path, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
            held = getattr(array, "dtype", type(array).__name__)
            raise InputError(f"{path.name}: {shown(name)} holds {held}, not numbers. Write plain arrays alone.")
    return arrays


def _of_one(array: np.ndarray) -> np.ndarray:
    """A text's tensor as captum returns it, [1, T, E], [T, E] or [T]."""
    if array.ndim == 3 and len(array) == 1:
        array = array[0]
    return _summed(array, 1)


def _summed(array: np.ndarray, axes: int) -> np.ndarray:
    """Captum gives a number for each of an embedding's: a token's score is their sum."""
    return np.asarray(array.sum(-1, dtype=np.float64) if array.ndim == axes + 1 else array)


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _write(path: Path, scores: Scores) -> None:
    """``attributions``, padded with zeros, ``lengths``, and the ids (in .safetensors: among the metadata)."""
    lengths = np.array([len(values) for values in scores.values], dtype=np.int64)
    padded = np.zeros((len(lengths), int(lengths.max(initial=0))))
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.concatenate([np.zeros(0), *scores.values])
    ids = scores.texts.ids
    if path.suffix.lower() == ".npz":
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, attributions=padded, lengths=lengths, ids=np.array(ids, dtype=np.str_))
        return
    if path.suffix.lower() != ".safetensors":
        raise InputError(f"{path.name} must end in .safetensors or .npz to hold captum's tensors.")
    from safetensors.numpy import save_file

    about = {"ids": json.dumps(ids, ensure_ascii=False), "explainer": scores.explainer}
    with replacing(path) as temporary:
        save_file({WHOLE: padded, "lengths": lengths}, temporary, metadata=about)


CAPTUM = Format("captum", "tensors as captum returns them", (".safetensors", ".npz"), _read, _write)
