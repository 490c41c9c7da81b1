"""Inseq's attributions: the JSON that its ``FeatureAttributionOutput`` saves and loads (Sarti et al. 2023)."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attentest.data.files.formats import text_of_file
from attentest.errors import InputError, shown
from attentest.store.atomic import write_text
from attentest.store.score_formats.format import Format, present
from attentest.store.scores import Scores, Texts

__all__ = ["INSEQ"]

#: Bytes that all packed arrays of a file may hold: 16 million scores.
MOST_UNPACKED = 128 << 20
#: What tokenizers put around a text, which is no word of it.
SYMBOLS = ("<s>", "</s>", "<pad>", "<bos>", "<eos>", "<unk>", "[CLS]", "[SEP]", "<|endoftext|>")


def _read(path: Path, texts: Texts) -> Mapping[str, np.ndarray]:
    """Texts by ``info.ids`` where a file has it (ours do), else in the run's order."""
    present(path)
    try:
        output = _plain(json.loads(text_of_file(path)), [MOST_UNPACKED])
        sequences = output["sequence_attributions"]
        ids = (output.get("info") or {}).get("ids") or list(texts.ids)
        if len(ids) != len(sequences):
            raise InputError(
                f"{path.name} has {len(sequences):,} sequences, the run {len(texts.ids):,} texts: without ids in its "
                "info, a file must hold every text, in the run's order ('attentest scores export' shows it)."
            )
        return {str(name): _scores(path, str(name), one) for name, one in zip(ids, sequences, strict=True)}
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path.name} is no output of inseq's save ({shown(error, 200)}): it needs "
            "sequence_attributions with source, target and source_attributions."
        ) from error


def _scores(path: Path, name: str, sequence: Mapping[str, Any]) -> np.ndarray:
    """One step's scores of the words of the input: the source or, in a decoder, the prompt."""
    attributed, tokens = sequence["source_attributions"], sequence["source"]
    if attributed is None:
        start = int(sequence["attr_pos_start"])
        attributed, tokens = np.asarray(sequence["target_attributions"])[:start], sequence["target"][:start]
    scores = np.asarray(attributed, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] != 1:
        shape = "×".join(map(str, scores.shape))
        raise InputError(
            f"{path.name}: text {name!r} has {shape} attributions; one score for each word needs one generated token "
            "and no further axis. Aggregate them in inseq before saving: out.aggregate()."
        )
    words = [token["token"] if isinstance(token, Mapping) else str(token) for token in tokens]
    first, last = 0, len(words)
    while first < last and words[first] in SYMBOLS:
        first += 1
    while last > first and words[last - 1] in SYMBOLS:
        last -= 1
    return scores[first:last, 0]


def _plain(value: Any, room: list[int]) -> Any:
    """Inseq's wrappings taken off: objects become their attributes, and arrays arrays, for which there is ``room``."""
    if isinstance(value, list):
        return [_plain(one, room) for one in value]
    if not isinstance(value, dict):
        return value
    if "__ndarray__" in value:
        return _array(value["__ndarray__"], value["dtype"], tuple(value["shape"]), room)
    if "__instance_type__" in value:
        return {key: _plain(one, room) for key, one in value.get("attributes", {}).items()}
    return {key: _plain(one, room) for key, one in value.items()}


def _array(data: Any, dtype: str, shape: tuple[int, ...], room: list[int]) -> np.ndarray:
    """Numbers in lists, in base64, or in base64 of gzip."""
    kind = np.dtype(dtype)
    if kind.kind not in "fiub":
        raise ValueError(f"an array of type {dtype}")
    if not isinstance(data, str):
        return np.asarray(data, dtype=kind).reshape(shape)
    header, _, body = data.partition(":")
    try:
        content = base64.b64decode(body, validate=True)
        if header == "b64.gz":
            with gzip.open(io.BytesIO(content)) as packed:
                content = packed.read(room[0] + 1)
    except (binascii.Error, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"an array that cannot be decoded ({error})") from error
    room[0] -= len(content)
    if room[0] < 0:
        raise ValueError(f"its arrays unpack to more than {MOST_UNPACKED >> 20} MiB")
    return np.frombuffer(content, dtype=kind).reshape(shape)


def _write(path: Path, scores: Scores) -> None:
    """A sequence for every text: its tokens, the predicted class as the one token that follows, and the scores."""
    texts = scores.texts
    sequences = [
        _instance(
            "inseq.data.attribution",
            "FeatureAttributionSequenceOutput",
            source=_tokens(tokens),
            target=_tokens([texts.classes[predicted]]),
            source_attributions=_ndarray(values[:, None]),
            target_attributions=None,
            step_scores={"probability": _ndarray(np.array([chances[predicted]]))},
            sequence_scores=None,
            attr_pos_start=0,
            attr_pos_end=1,
        )
        for tokens, predicted, chances, values in zip(
            texts.tokens, texts.predicted, texts.probabilities, scores.values, strict=True
        )
    ]
    info = {
        "attribution_method": scores.explainer,
        "ids": list(texts.ids),
        "input_texts": [" ".join(tokens) for tokens in texts.tokens],
        "generated_texts": [texts.classes[predicted] for predicted in texts.predicted],
    }
    output = _instance(
        "inseq.data.attribution",
        "FeatureAttributionOutput",
        sequence_attributions=sequences,
        step_attributions=None,
        info=info,
    )
    write_text(path, json.dumps(output, ensure_ascii=False) + "\n")


def _instance(module: str, kind: str, **attributes: Any) -> dict[str, Any]:
    return {"__instance_type__": [module, kind], "attributes": attributes}


def _tokens(words: Sequence[str]) -> list[dict[str, Any]]:
    return [_instance("inseq.utils.typing", "TokenWithId", token=word, id=-1) for word in words]


def _ndarray(values: np.ndarray) -> dict[str, Any]:
    array = {"__ndarray__": values.tolist(), "dtype": "float64", "shape": list(values.shape)}
    return {**array, "Corder": True} if values.ndim > 1 else array


INSEQ = Format("inseq", "inseq's attributions, as JSON", (".json",), _read, _write)
