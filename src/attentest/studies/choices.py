"""What may stand in a study file: the choices of ``describe_run``, each checked when the file is read."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

from attentest.challenges import CHALLENGES
from attentest.data.corpora import CORPORA
from attentest.data.files.encodings import encoding_named
from attentest.data.tokenizers import TOKENIZERS
from attentest.errors import AttentestError, InputError, UnknownName, suggestion
from attentest.explainers import EXPLAINERS
from attentest.models.architecture import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.decoders import DECODERS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS
from attentest.registry import Registry
from attentest.runs.describe import describe_run
from attentest.runs.presets import preset
from attentest.runs.removal import Removal
from attentest.tasks import TASKS
from attentest.training.loop import Training

__all__ = ["CHOICES", "check_choice", "check_together"]

#: A trained model belongs to one machine; a study says how to train it.
CHOICES = tuple(name for name in inspect.signature(describe_run).parameters if name != "model")
REGISTRIES: dict[str, Registry[Any]] = {
    "corpus": CORPORA,
    "encoder": ENCODERS,
    "attention": ATTENTIONS,
    "head": HEADS,
    "decoder": DECODERS,
}
#: The smallest value of a number.
LEAST = {
    **{"max_tokens": 1, "truncate": 1, "min_frequency": 1, "embedding": 1, "epochs": 1, "batch_size": 1},
    **{"patience": 0, "clip": 0, "smoothing": 0, "warmup": 0, "seed": 0, "limit": 0},
}


def check_choice(key: str, value: Any, at: str) -> None:
    """Whether the key is known, and the value is one it can take."""
    if key not in CHOICES:
        raise InputError(f"{at}: unknown key. {suggestion(key, CHOICES)}")
    wanted = _types(key)
    listed = key == "challenges"
    if listed:
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            raise InputError(f"{at}: {value!r} must be a list of challenges, as ['agreement', 'permutation'].")
    elif isinstance(value, bool) or not isinstance(value, wanted):
        words = " or ".join(dict.fromkeys({str: "text", int: "a whole number", float: "a number"}[t] for t in wanted))
        raise InputError(f"{at}: {value!r} must be {words}.")
    if key in LEAST and value < LEAST[key]:
        raise InputError(f"{at}: {value!r} must be at least {LEAST[key]}.")
    try:
        _check_name(key, value)
    except AttentestError as error:
        raise InputError(f"{at}: {error}") from error


def _check_name(key: str, value: Any) -> None:
    if key in REGISTRIES:
        REGISTRIES[key].parse(value)
    elif key == "preset":
        preset(value)
    elif key == "tokenizer" and value not in TOKENIZERS:
        raise UnknownName("tokenizer", value, TOKENIZERS)
    elif key == "encoding":
        encoding_named(value)
    elif key == "learning_rate":
        Training(learning_rate=value)
    elif key == "query":
        Architecture(query=value)
    elif key == "removal":
        EXPLAINERS.parse(value)
    elif key == "removal_share":
        Removal("random", value)
    elif key == "removal_by":
        Removal("random", 0.5, value)
    elif key == "challenges":
        for text in value:
            for explainer in CHALLENGES.parse(text).explained_by:
                EXPLAINERS.parse(explainer)


def check_together(choices: Mapping[str, Any], label: str) -> None:
    """What is wrong only in combination, found without reading a corpus."""
    if "corpus" in choices and "data" in choices:
        raise InputError(f"cell {label}: it has both 'corpus' and 'data'; a run reads one of them.")
    if "test" in choices and "data" not in choices:
        raise InputError(f"cell {label}: 'test' needs 'data', the file to train on.")
    for key in ("text_column", "label_column", "second_column", "id_column", "tokenizer", "truncate", "encoding"):
        if key in choices and "data" not in choices:
            raise InputError(f"cell {label}: {key!r} is for files; a corpus by name has its own. Leave it out.")
    if ("removal" in choices) != ("removal_share" in choices):
        raise InputError(f"cell {label}: 'removal' names an explainer, 'removal_share' how much goes: give both.")
    if "corpus" in choices:
        task = TASKS[getattr(CORPORA.parse(choices["corpus"]), "task", "single")]
        if not task.pairs and choices.get("query"):
            raise InputError(f"cell {label}: 'query' is for pairs of texts; {choices['corpus']!r} has one text.")
        if not task.writes and choices.get("decoder"):
            raise InputError(f"cell {label}: 'decoder' writes texts; {choices['corpus']!r} has none to write.")
        if task.writes and "removal" in choices:
            raise InputError(f"cell {label}: 'removal' is for classifiers; {choices['corpus']!r} has texts to write.")
    if choices.get("head") == "sigmoid" and (classes := _classes(choices)) not in (None, 2):
        raise InputError(f"cell {label}: one sigmoid tells two classes apart, {choices['corpus']!r} has {classes}.")


def _classes(choices: Mapping[str, Any]) -> int | None:
    """The number of classes, where the corpus declares them."""
    if "corpus" not in choices:
        return None
    classes = getattr(CORPORA.parse(choices["corpus"]), "classes", None)
    return len(classes) if isinstance(classes, tuple) else None


@cache
def _types(key: str) -> tuple[type, ...]:
    """The plain types a choice can have in a file."""
    hint = _hints()[key]
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    found = [part for part in parts if part in (str, int, float)]
    return (int, float) if float in found else tuple(found) or (str,)


@cache
def _hints() -> dict[str, Any]:
    return typing.get_type_hints(describe_run)
